internal import MagicJournal

/// The segment that is probably wanted next.
struct SegmentReadAhead {
  private enum Ahead: Sendable {
    case segment(EncodedSegment)
    /// A segment whose entries are to be taken when it is wanted.
    case reader(SegmentReader)
  }

  private var reading: (file: SegmentFileName, work: BlockingFuture<Ahead>)?

  /// What a cut mostly leaves (S-8): of more, two at once may be more than memory has room for. Small entries take several
  /// times as much there as in a body.
  private static let (maxBytes, maxEntries) = (Limits.segmentCut / 4 * 5, 1 << 17)

  mutating func read(_ file: FolderListing.File) {
    guard reading?.file != file.name, file.header.bodyLength <= SegmentReadAhead.maxBytes else { return }
    reading = (
      file.name,
      BlockingFuture {
        let reader = try FolderListing.reader(file)
        guard reader.mostEntries <= SegmentReadAhead.maxEntries else { return .reader(reader) }
        return .segment(try FolderListing.encoded(file, reader))
      }
    )
  }

  mutating func take(_ file: FolderListing.File) throws -> EncodedSegment {
    guard let reading, reading.file == file.name else {
      return try FolderListing.encoded(file, FolderListing.reader(file))
    }
    self.reading = nil
    switch try reading.work.result() {
    case .segment(let segment): return segment
    case .reader(let reader): return try FolderListing.encoded(file, reader)
    }
  }
}
