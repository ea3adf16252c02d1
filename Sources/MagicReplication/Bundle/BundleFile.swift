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
    try prepare(remote, dataSet)
    var count: UInt32 = 0
    while let bytes = try source.segment() {
      try Task.checkCancellation()
      try source.put(bytes, dataSet, into: remote)
      count += 1
    }
    try source.finish(count)
  }

  /// The same of a bundle that may be damaged, for who only looks: what is whole in it. Hears of each part that is not.
  static func salvage(
    _ name: String, _ read: @escaping (Int) throws -> Data, into remote: FolderRemote, _ damaged: (MagicDataError) -> Void
  ) throws {
    var source = Source(name: name, read: read)
    let dataSet = try source.dataSet()
    try prepare(remote, dataSet)
    var count: UInt32 = 0
    do {
      while let bytes = try source.segment() {
        count += 1
        do { try source.put(bytes, dataSet, into: remote) } catch let error as MagicDataError where error.code == .damaged {
          damaged(error)
        }
      }
      try source.finish(count)
    } catch let error as MagicDataError where error.code == .damaged {
      // Where the next segment would begin is not known any more.
      damaged(error)
    }
  }

  private static func prepare(_ remote: FolderRemote, _ dataSet: DataSetID) throws {
    _ = try remote.dataSet(orMake: dataSet)
    try remote.makeSegments()
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

    /// Where the last segment began.
    private var start = 0

    /// A segment's bytes, of which the header was checked. `nil` at the end mark.
    mutating func segment() throws -> [UInt8]? {
      let mark = try next(8, "a segment or the end")
      if mark == BundleFile.end {
        ahead = mark
        return nil
      }
      start = offset - 8
      let head = mark + (try next(SegmentHeader.length - 8, "a segment's header"))
      do {
        let header = try SegmentHeader(head)
        return head + (try next(header.storedLength, "a segment"))
      } catch let error as JournalError {
        throw MagicDataError(error, "\(name), the segment at byte \(start)")
      }
    }

    /// Puts the last segment's file where it belongs in a folder.
    func put(_ bytes: [UInt8], _ dataSet: DataSetID, into remote: FolderRemote) throws {
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
