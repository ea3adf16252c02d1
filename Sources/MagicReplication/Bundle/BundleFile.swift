package import Foundation
internal import MagicData
internal import MagicJournal

/// A folder remote in one file or stream (Protocol/bundle.md).
package enum BundleFile {
  private static let magic = Array("MAGICBUN".utf8)
  private static let end = Array("MAGICEND".utf8)
  private static let format: UInt16 = 1
  private static let (headerLength, endLength) = (32, 16)

  /// Whether bytes begin as a bundle's do.
  package static func isBundle(_ head: [UInt8]) -> Bool { head.starts(with: magic) }

  // MARK: Writing

  /// Writes all files of a folder remote that count.
  package static func write(_ remote: FolderRemote, _ write: (Data) throws -> Void) throws {
    let dataSet = try remote.dataSet()
    let listing = try FolderListing(remote, dataSet: dataSet)
    try write(Data(header(dataSet)))
    var count: UInt32 = 0
    for file in listing.files {
      try Task.checkCancellation()
      try write(Data(DurableFile.read(file.url, atMost: SegmentHeader.length + Limits.segmentBytes)))
      count += 1
    }
    for checkpoint in listing.checkpoints {
      var offset = 0
      while offset < checkpoint.bytes {
        try Task.checkCancellation()
        let part = try DurableFile.part(of: checkpoint.url, at: offset, min(1 << 20, checkpoint.bytes - offset))
        guard !part.isEmpty else { throw MagicDataError(.damaged, "\(checkpoint.url.path) became shorter while it was read") }
        try write(Data(part))
        offset += part.count
      }
      count += 1
    }
    var writer = ByteWriter()
    writer.append(end)
    writer.fixed(count)
    writer.fixed(Zlib.checksum(writer.bytes[...]))
    try write(Data(writer.bytes))
  }

  /// Puts a folder's bundle in the place of a file, or makes it: as a whole, and on the disk.
  package static func write(_ remote: FolderRemote, to file: URL) throws {
    try DurableFile.write(to: file) { append in try write(remote, append) }
  }

  private static func header(_ dataSet: DataSetID) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(magic)
    writer.fixed(format)
    writer.fixed(UInt16(0))
    dataSet.encode(to: &writer)
    writer.fixed(Zlib.checksum(writer.bytes[...]))
    return writer.bytes
  }

  // MARK: Reading

  /// Makes a folder remote of a bundle, in a folder that is not there yet.
  ///
  /// - Parameters:
  ///   - name: what errors call the bundle.
  ///   - read: at most so many of the next bytes; none at the end.
  package static func unpack(_ name: String, _ read: @escaping (Int) throws -> Data, into remote: FolderRemote) throws {
    var source = Source(name: name, read: read)
    let dataSet = try source.dataSet()
    _ = try remote.dataSet(orMake: dataSet)
    try remote.makeSegments()
    var count: UInt32 = 0
    while let item = try source.next() {
      try Task.checkCancellation()
      guard case .segment(let segment, let bytes) = item else {
        try unpackCheckpoint(from: &source, dataSet, into: remote)
        count += 1
        continue
      }
      guard segment.header.dataSet == dataSet else { throw source.damaged("a segment of another data set") }
      let (header, name) = (segment.header, segment.name)
      let file = SegmentFileName(replica: header.replica, first: header.first, last: header.last, name: name)
      try DurableFile.write(bytes, to: remote.segments.appendingPathComponent(file.text))
      count += 1
    }
    try source.finish(count)
  }

  /// A whole checkpoint, a part at a time, checked once it is there.
  private static func unpackCheckpoint(from source: inout Source, _ dataSet: DataSetID, into remote: FolderRemote) throws {
    try remote.makeOwn(remote.checkpoints)
    let aside = remote.checkpoints.appendingPathComponent("aside")
    defer { unlink(aside.path) }
    var head: [UInt8] = []
    try DurableFile.write(to: aside) { append in
      head = try source.checkpointHeader()
      try append(Data(head))
      while let part = try source.checkpointPart() { try append(Data(part)) }
      try append(Data(source.checkpointEnd()))
    }
    do throws(JournalError) {
      let header = try CheckpointHeader(head)
      let file = remote.checkpoints.appendingPathComponent(CheckpointFile.name(of: header))
      guard rename(aside.path, file.path) == 0 else { throw JournalError(.damaged, "a checkpoint could not be unpacked") }
      do {
        try CheckpointFile(file, dataSet).read()
      } catch {
        throw JournalError(.damaged, "\(error)")
      }
    } catch {
      throw source.damaged("its checkpoint: \(error.message)")
    }
  }

  private enum Item {
    case segment(Segment, [UInt8])
    case checkpoint
  }

  private struct Source {
    let name: String
    let read: (Int) throws -> Data
    var offset = 0
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

    mutating func checkpointHeader() throws -> [UInt8] {
      let fixed = ahead + (try next(CheckpointHeader.fixedLength - ahead.count, "a checkpoint's header"))
      do {
        let length = try CheckpointHeader.length(fixed)
        return fixed + (try next(length - fixed.count, "a checkpoint's header"))
      } catch let error as JournalError {
        throw damaged(error.message)
      }
    }

    /// `nil` at the checkpoint's end.
    mutating func checkpointPart() throws -> [UInt8]? {
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

    mutating func checkpointEnd() throws -> [UInt8] { ahead + (try next(CheckpointEnd.length - 8, "a checkpoint's end")) }

    /// `nil` at the end mark.
    mutating func next() throws -> Item? {
      let mark = try next(8, "a segment or the end")
      if mark == BundleFile.end {
        ahead = mark
        return nil
      }
      if mark == CheckpointHeader.magic {
        ahead = mark
        return .checkpoint
      }
      let start = offset - 8
      let head = mark + (try next(SegmentHeader.length - 8, "a segment's header"))
      do {
        let header = try SegmentHeader(head)
        let bytes = head + (try next(header.storedLength, "a segment"))
        return .segment(try Segment(bytes), bytes)
      } catch let error as JournalError {
        throw MagicDataError(error, "\(name), the segment at byte \(start)")
      }
    }

    mutating func finish(_ count: UInt32) throws {
      let end = ahead + (try next(BundleFile.endLength - 8, "the end"))
      guard end[8..<12].elementsEqual(withUnsafeBytes(of: count.bigEndian, Array.init)),
        end[12...].elementsEqual(checksum(end[..<12]))
      else { throw damaged("it lacks segments, or its end is damaged") }
      guard try read(1).isEmpty else { throw damaged("something follows its end") }
    }

    func damaged(_ what: String) -> MagicDataError {
      MagicDataError(.damaged, "\(name) is damaged: \(what) (byte \(offset)). Nothing was merged")
    }

    private func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
      withUnsafeBytes(of: Zlib.checksum(bytes).bigEndian, Array.init)
    }

    /// Lengths are checked against their limits before they are asked for (S-8).
    private mutating func next(_ count: Int, _ what: String) throws -> [UInt8] {
      var bytes: [UInt8] = []
      while bytes.count < count {
        let more = try read(min(count - bytes.count, 1 << 20))
        guard !more.isEmpty else { throw damaged("it ends within \(what)") }
        bytes += more
        offset += more.count
      }
      return bytes
    }
  }
}
