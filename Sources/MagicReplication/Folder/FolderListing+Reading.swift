internal import Foundation
internal import MagicData
internal import MagicJournal

extension FolderListing {
  static func header(of url: URL, _ name: SegmentFileName, _ dataSet: DataSetID) throws -> SegmentHeader {
    let (bytes, length) = try DurableFile.head(of: url, SegmentHeader.length)
    let header: SegmentHeader
    do {
      header = try SegmentHeader(bytes)
    } catch {
      throw MagicDataError(error, url.path)
    }
    guard header.dataSet == dataSet else { throw MagicDataError.otherDataSet(url) }
    guard (header.replica, header.first, header.last) == (name.replica, name.first, name.last) else {
      throw MagicDataError(.damaged, "\(url.path) holds another run than its name says")
    }
    guard length == SegmentHeader.length + header.storedLength else {
      throw MagicDataError(
        .damaged, "\(url.path) has \(length) bytes, where its header says \(SegmentHeader.length + header.storedLength)")
    }
    return header
  }

  /// Reads and checks a whole file.
  static func segment(_ file: File) throws -> Segment {
    let reader = try reader(file)
    return try reading(file) { () throws(JournalError) in try Segment(reader) }
  }

  /// A reader of a file, for who takes its transactions one by one.
  static func reader(_ file: File) throws -> SegmentReader {
    let bytes = try DurableFile.read(file.url, atMost: SegmentHeader.length + Limits.segmentBytes)
    return try reading(file) { () throws(JournalError) in
      let reader = try SegmentReader(bytes)
      guard reader.header == file.header, Segment.name(of: try reader.names()) == file.name.name else {
        throw JournalError(.damaged, "it holds other transactions than its name says")
      }
      return reader
    }
  }

  /// All that its reader gives, as it stands.
  static func encoded(_ file: File, _ reader: SegmentReader) throws -> EncodedSegment {
    try reading(file) { () throws(JournalError) in try EncodedSegment(reader) }
  }

  private static func reading<Content>(_ file: File, _ read: () throws(JournalError) -> Content) throws -> Content {
    do {
      return try read()
    } catch {
      throw MagicDataError(error, file.url.path)
    }
  }
}

extension MagicDataError {
  /// The error of a segment or a checkpoint of another data set (F-5).
  static func otherDataSet(_ file: URL) -> MagicDataError {
    MagicDataError(
      .incompatible,
      """
      \(file.path) belongs to another data set: perhaps its writer made a remote of its own here before the magicdata.json of this one had \
      come. Move the file away, and let its writer clone this remote into another database
      """)
  }
}
