internal import Foundation
internal import MagicData
internal import MagicJournal

/// Reads a bundle part by part (Protocol/bundle.md), and believes no length before it was checked.
struct BundleReader {
  private let name: String
  private let read: (Int) throws -> Data
  private var offset = 0
  private var ahead: [UInt8] = []

  init(name: String, read: @escaping (Int) throws -> Data) {
    self.name = name
    self.read = read
  }

  mutating func dataSet() throws -> DataSetID {
    // Told before the rest is asked for: another kind of file may be shorter.
    let start = try next(10, "the header")
    guard start.starts(with: BundleFile.magic) else {
      throw MagicDataError(.damaged, "\(name) is no bundle: it does not begin with MAGICBUN")
    }
    guard start[8...].elementsEqual([0, UInt8(BundleFile.format)]) else {
      throw MagicDataError(
        .incompatible, "\(name) is a bundle of another format than this version reads; use a newer version")
    }
    let header = start + (try next(BundleFile.headerLength - start.count, "the header"))
    guard header[28...].elementsEqual(checksum(header[..<28])), header[10] == 0, header[11] == 0,
      let dataSet = Identifier(header[12..<28])
    else { throw damaged("its header's checksum does not match") }
    return dataSet
  }

  private mutating func checkpointHeader() throws -> [UInt8] {
    let fixed = ahead + (try next(CheckpointHeader.fixedLength - ahead.count, "a checkpoint's header"))
    do {
      let length = try CheckpointHeader.length(fixed)
      return fixed + (try next(length - fixed.count, "a checkpoint's header"))
    } catch let error as JournalError {
      throw MagicDataError(error, "\(name), its checkpoint")
    }
  }

  /// `nil` at the checkpoint's end.
  private mutating func checkpointPart() throws -> [UInt8]? {
    let mark = try next(8, "a checkpoint")
    guard mark != CheckpointEnd.magic else {
      ahead = mark
      return nil
    }
    let head = mark + (try next(CheckpointPartHeader.length - 8, "a checkpoint's part"))
    do {
      return head + (try next(CheckpointPartHeader(head).storedLength, "a checkpoint's part"))
    } catch let error as JournalError {
      throw damaged(error.message)
    }
  }

  private mutating func checkpointEnd() throws -> [UInt8] { ahead + (try next(CheckpointEnd.length - 8, "a checkpoint's end")) }

  enum Part {
    /// A segment's bytes, of which the header was checked.
    case segment([UInt8])
    /// What comes next is the checkpoint.
    case checkpoint
    /// What comes next is the content.
    case content(digits: String, length: UInt64)
  }

  /// Where the last segment began.
  private var start = 0

  /// `nil` at the end mark.
  mutating func part() throws -> Part? {
    let mark = try next(8, "a segment, a content or the end")
    if mark == BundleFile.end {
      ahead = mark
      return nil
    }
    if mark == CheckpointHeader.magic {
      ahead = mark
      return .checkpoint
    }
    if mark == BundleFile.content {
      let header = try next(BundleFile.contentHeaderLength - 8, "a content's header")
      let length = header[32...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      guard length <= 1 << 62 else { throw damaged("a content's length is impossible") }
      return .content(digits: Array(header[..<32]).hexadecimal, length: length)
    }
    start = offset - 8
    let head = mark + (try next(SegmentHeader.length - 8, "a segment's header"))
    do {
      let header = try SegmentHeader(head)
      return .segment(head + (try next(header.storedLength, "a segment")))
    } catch let error as JournalError {
      throw MagicDataError(error, "\(name), the segment at byte \(start)")
    }
  }

  /// Puts a part where it belongs in a folder.
  mutating func put(_ part: Part, _ dataSet: DataSetID, into remote: FolderRemote, hasContents: Bool = true) throws {
    switch part {
    case .segment(let bytes):
      let segment: Segment
      do {
        segment = try Segment(bytes)
      } catch {
        throw MagicDataError(error, "\(name), the segment at byte \(start)")
      }
      let header = segment.header
      guard header.dataSet == dataSet else { throw damaged("a segment of another data set") }
      let file = SegmentFileName(replica: header.replica, first: header.first, last: header.last, name: segment.name)
      try DurableFile.write(bytes, to: remote.segments.appendingPathComponent(file.text))
    case .checkpoint: try putCheckpoint(dataSet, into: remote)
    case .content(let digits, let length):
      guard hasContents else { return try content(digits, length) { _ in } }
      try remote.makeContents(digits)
      try DurableFile.write(to: remote.content(digits)) { try content(digits, length, $0) }
    }
  }

  /// A whole checkpoint, a part at a time, checked once it is there.
  private mutating func putCheckpoint(_ dataSet: DataSetID, into remote: FolderRemote) throws {
    try remote.makeOwn(remote.checkpoints)
    let aside = remote.checkpoints.appendingPathComponent("aside")
    defer { unlink(aside.path) }
    let head = try checkpointHeader()
    try DurableFile.write(to: aside) { append in
      try append(Data(head))
      while let part = try checkpointPart() { try append(Data(part)) }
      try append(Data(checkpointEnd()))
    }
    let file: URL
    do {
      file = remote.checkpoints.appendingPathComponent(CheckpointFile.name(of: try CheckpointHeader(head)))
    } catch {
      throw MagicDataError(error, "\(name), its checkpoint")
    }
    guard rename(aside.path, file.path) == 0 else { throw DurableFile.failure("could not be written", file) }
    do {
      try CheckpointFile(file, dataSet).read()
    } catch let error as MagicDataError {
      unlink(file.path)
      throw MagicDataError(error.code, "\(name), its checkpoint: \(error.message)")
    }
  }

  /// Hands over a content, piece by piece, and fails behind the last one if it is another.
  private mutating func content(_ digits: String, _ length: UInt64, _ write: (Data) throws -> Void) throws {
    var (hash, rest) = (SHA256(), length)
    while rest > 0 {
      try Task.checkCancellation()
      let piece = try next(Int(min(rest, UInt64(ChunkReader.pieceLength))), "a content")
      piece.withUnsafeBytes { hash.update($0) }
      try write(Data(piece))
      rest -= UInt64(piece.count)
    }
    guard hash.finish().hexadecimal == digits else { throw damaged("a content is not what its hash says") }
  }

  mutating func finish(_ counts: BundleFile.Counts) throws {
    let end = ahead + (try next(BundleFile.endLength - 8, "the end"))
    var expected = ByteWriter()
    expected.fixed(counts.segments)
    expected.fixed(counts.contents)
    guard end[8..<16].elementsEqual(expected.bytes), end[16...].elementsEqual(checksum(end[..<16]))
    else { throw damaged("it lacks parts, or its end is damaged") }
    guard try read(1).isEmpty else { throw damaged("something follows its end") }
  }

  private func damaged(_ what: String) -> MagicDataError {
    MagicDataError(.damaged, "\(name) is damaged: \(what) (byte \(offset)). What is damaged was not taken")
  }

  private func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    withUnsafeBytes(of: Zlib.checksum(bytes).bigEndian, Array.init)
  }

  /// Lengths are checked against their limits before they are asked for (S-8).
  private mutating func next(_ count: Int, _ what: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try read(min(count - bytes.count, ChunkReader.pieceLength))
      guard !more.isEmpty else {
        // As a pipe from a command that could not write one.
        if offset == 0 { throw MagicDataError(.damaged, "\(name) is empty; did the command that was to write it fail?") }
        throw damaged("it ends within \(what)")
      }
      bytes += more
      offset += more.count
    }
    return bytes
  }
}
