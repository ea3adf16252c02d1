package import Foundation
internal import MagicData
internal import MagicJournal

/// A folder remote in one file or stream (Protocol/bundle.md).
package enum BundleFile {
  private static let magic = Array("MAGICBUN".utf8)
  private static let content = Array("MAGICAST".utf8)
  private static let end = Array("MAGICEND".utf8)
  private static let format: UInt16 = 1
  private static let (headerLength, contentHeaderLength, endLength) = (32, 48, 20)

  /// Whether bytes begin as a bundle's do.
  package static func isBundle(_ head: [UInt8]) -> Bool { head.starts(with: magic) }

  // MARK: Writing

  /// Writes all files of a folder remote that count.
  package static func write(_ remote: FolderRemote, _ write: (Data) throws -> Void) throws {
    try write(writeParts(of: remote, write))
  }

  /// The same but for the end.
  ///
  /// - Returns: the end, without which nobody takes what was written (B-2).
  package static func writeParts(of remote: FolderRemote, _ write: (Data) throws -> Void) throws -> Data {
    let dataSet = try remote.dataSet()
    let listing = try FolderListing(remote, dataSet: dataSet)
    try write(Data(header(dataSet)))
    var counts = Counts()
    for file in listing.files {
      try Task.checkCancellation()
      try write(Data(DurableFile.read(file.url, atMost: SegmentHeader.length + Limits.segmentBytes)))
      counts.segments += 1
    }
    for checkpoint in listing.checkpoints {
      var written = 0
      let fault = try PieceReader.forEachPiece(of: checkpoint.url) { piece in
        try Task.checkCancellation()
        try write(Data(piece))
        written += piece.count
      }
      if let fault { throw fault }
      guard written == checkpoint.bytes else {
        throw MagicDataError(.damaged, "\(checkpoint.url.path) became shorter while it was read")
      }
      counts.segments += 1
    }
    for digits in try remote.contents() {
      try writeContent(remote.content(digits), digits, write)
      counts.contents += 1
    }
    var writer = ByteWriter()
    writer.append(end)
    writer.fixed(counts.segments)
    writer.fixed(counts.contents)
    writer.fixed(Zlib.checksum(writer.bytes[...]))
    return Data(writer.bytes)
  }

  private struct Counts: Equatable {
    var segments: UInt32 = 0
    var contents: UInt32 = 0

    mutating func add(_ part: Source.Part) {
      switch part {
      case .segment, .checkpoint: segments += 1
      case .content: contents += 1
      }
    }
  }

  private static func writeContent(_ file: URL, _ digits: String, _ write: (Data) throws -> Void) throws {
    guard let length = PieceReader.length(of: file) else { throw MagicDataError(.damaged, "\(file.path) is gone") }
    var writer = ByteWriter()
    writer.append(content)
    writer.append([UInt8](hexadecimal: digits) ?? [])
    writer.fixed(UInt64(length))
    try write(Data(writer.bytes))
    var (hash, written) = (SHA256(), 0)
    let fault = try PieceReader.forEachPiece(of: file) { piece in
      try Task.checkCancellation()
      hash.update(piece)
      written += piece.count
      try write(Data(piece))
    }
    if let fault { throw fault }
    guard written == length, hash.finish().hexadecimal == digits else {
      throw MagicDataError(
        .damaged, "\(file.path) does not hold what its name says; delete it: whoever has the content writes it again")
    }
  }

  /// Puts a folder's bundle in the place of a file, or makes it: as a whole, and on the disk. The caller holds its lock, if there can be one (B-4).
  ///
  /// - Parameter bind: runs when all is on the disk and nobody sees it yet; if it throws, everything is as it was.
  package static func write(_ remote: FolderRemote, to file: URL, _ bind: () async throws -> Void = {}) async throws {
    let target = file.linked
    let (folder, prefix) = (target.deletingLastPathComponent(), prefix(target.lastPathComponent))
    tidy(folder, prefix)
    let writer = try PieceWriter(
      named: folder.appendingPathComponent("\(prefix)\(UUID().uuidString.lowercased())\(suffix)"),
      permissions: permissions(of: target))
    func append(_ part: Data) throws { try part.withUnsafeBytes { try writer.append($0) } }
    try append(writeParts(of: remote, append))
    let temporary = try writer.finish()
    do {
      try await bind()
    } catch {
      unlink(temporary.path)
      throw error
    }
    guard rename(temporary.path, target.path) == 0 else {
      throw DurableFile.failure("could not be written", target, removing: temporary)
    }
    try DurableFile.sync(folder)
  }

  /// Takes away what writers of the bundle have left who were killed: each may be as long as it is. Who writes holds the lock, so nobody is at it. What cannot be looked at, or removed, is in
  /// nobody's way.
  private static func tidy(_ folder: URL, _ prefix: String) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    for name in names where name.hasPrefix(prefix) && name.hasSuffix(suffix) {
      // Of a bundle with a longer name something else is in between.
      guard UUID(uuidString: String(name.dropFirst(prefix.count).dropLast(suffix.count))) != nil else { continue }
      unlink(folder.appendingPathComponent(name).path)
    }
  }

  private static let suffix = ".tmp"

  /// Of the temporary names of a bundle. A name may have 255 bytes.
  private static func prefix(_ name: String) -> String {
    var start = ""
    for character in name where start.utf8.count < 160 { start.append(character) }
    return ".\(start)."
  }

  /// Those of a file that is there, for what takes its place.
  package static func permissions(of file: URL) -> mode_t? {
    var status = stat()
    guard stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return status.st_mode & 0o777
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

  /// Makes a folder remote of a bundle that is read from a stream, in a folder that is not there yet.
  ///
  /// - Parameter name: what errors call the bundle.
  package static func unpack(_ name: String, _ handle: FileHandle, into remote: FolderRemote) throws {
    try unpack(name, reading(handle.fileDescriptor, name), into: remote)
  }

  /// The same of any bytes.
  ///
  /// - Parameter read: at most so many of the next bytes; none at the end.
  package static func unpack(_ name: String, _ read: @escaping (Int) throws -> Data, into remote: FolderRemote) throws {
    var source = Source(name: name, read: read)
    let dataSet = try source.dataSet()
    try prepare(remote, dataSet)
    var counts = Counts()
    while let part = try source.part() {
      try Task.checkCancellation()
      counts.add(part)
      try source.put(part, dataSet, into: remote)
    }
    try source.finish(counts)
  }

  /// The same of a bundle that may be damaged, for who only looks: what is whole in it. Hears of each part that is not.
  ///
  /// - Parameter hasContents: whether contents of assets come along.
  private static func salvage(
    _ name: String, _ read: @escaping (Int) throws -> Data, into remote: FolderRemote, hasContents: Bool,
    _ damaged: (MagicDataError) -> Void
  ) throws {
    var source = Source(name: name, read: read)
    let dataSet = try source.dataSet()
    try prepare(remote, dataSet)
    var counts = Counts()
    do {
      while let part = try source.part() {
        counts.add(part)
        do {
          try source.put(part, dataSet, into: remote, hasContents: hasContents)
        } catch let error as MagicDataError where error.code == .damaged {
          damaged(error)
        }
      }
      try source.finish(counts)
    } catch let error as MagicDataError where error.code == .damaged {
      // Where the next part would begin is not known any more.
      damaged(error)
    }
  }

  /// A file's bundle as a folder that is to be removed after use; what is damaged in it is left out and told.
  static func folder(
    of file: URL, at folder: URL, hasContents: Bool, _ checkCancelled: @escaping () throws -> Void,
    _ damaged: (MagicDataError) -> Void
  ) throws -> FolderRemote {
    let remote = FolderRemote(folder)
    try reading(file) { read in
      func readUnlessCancelled(_ count: Int) throws -> Data {
        try checkCancelled()
        return try read(count)
      }
      try salvage(file.path, readUnlessCancelled, into: remote, hasContents: hasContents, damaged)
    }
    return remote
  }

  /// Makes a folder remote of a bundle's file, in a folder that is not there yet.
  package static func unpack(_ file: URL, into remote: FolderRemote) throws {
    try reading(file) { try unpack(file.path, $0, into: remote) }
  }

  private static func reading(_ file: URL, _ body: (@escaping (Int) throws -> Data) throws -> Void) throws {
    var status = stat()
    guard stat(file.path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
      throw MagicDataError(.failed, "\(file.path) is no file; a bundle that comes through a pipe is named -")
    }
    let handle: FileHandle
    do {
      handle = try FileHandle(forReadingFrom: file)
    } catch {
      throw MagicDataError(.notAllowed, "\(file.path) could not be opened", cause: error)
    }
    defer { try? handle.close() }
    try body(reading(handle.fileDescriptor, file.path))
  }

  /// Reads at most so many of the next bytes at a time, or none at the end, and not beyond a cancellation of the task.
  ///
  /// - Parameter name: what errors call it.
  package static func reading(_ descriptor: Int32, _ name: String) -> (Int) throws -> Data {
    { count in
      // Who reads cannot be cancelled, so it waits until there is something to read.
      var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      while poll(&input, 1, 100) <= 0 { try Task.checkCancellation() }
      var bytes = Data(count: count)
      let read = bytes.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, count) }
      guard read >= 0 else {
        throw MagicDataError(.failed, "\(name) could not be read: \(String(cString: strerror(errno)))")
      }
      return bytes.prefix(read)
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

    mutating func checkpointHeader() throws -> [UInt8] {
      let fixed = ahead + (try next(CheckpointHeader.fixedLength - ahead.count, "a checkpoint's header"))
      do {
        let length = try CheckpointHeader.length(fixed)
        return fixed + (try next(length - fixed.count, "a checkpoint's header"))
      } catch let error as JournalError {
        throw MagicDataError(error, "\(name), its checkpoint")
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
    mutating func content(_ digits: String, _ length: UInt64, _ write: (Data) throws -> Void) throws {
      var (hash, rest) = (SHA256(), length)
      while rest > 0 {
        try Task.checkCancellation()
        let piece = try next(Int(min(rest, Source.pieceLength)), "a content")
        piece.withUnsafeBytes { hash.update($0) }
        try write(Data(piece))
        rest -= UInt64(piece.count)
      }
      guard hash.finish().hexadecimal == digits else { throw damaged("a content is not what its hash says") }
    }

    private static let pieceLength: UInt64 = 1 << 20

    mutating func finish(_ counts: Counts) throws {
      let end = ahead + (try next(BundleFile.endLength - 8, "the end"))
      var expected = ByteWriter()
      expected.fixed(counts.segments)
      expected.fixed(counts.contents)
      guard end[8..<16].elementsEqual(expected.bytes), end[16...].elementsEqual(checksum(end[..<16]))
      else { throw damaged("it lacks parts, or its end is damaged") }
      guard try read(1).isEmpty else { throw damaged("something follows its end") }
    }

    func damaged(_ what: String) -> MagicDataError {
      MagicDataError(.damaged, "\(name) is damaged: \(what) (byte \(offset)). What is damaged was not taken")
    }

    private func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
      withUnsafeBytes(of: Zlib.checksum(bytes).bigEndian, Array.init)
    }

    /// Lengths are checked against their limits before they are asked for (S-8).
    private mutating func next(_ count: Int, _ what: String) throws -> [UInt8] {
      var bytes: [UInt8] = []
      while bytes.count < count {
        let more = try read(min(count - bytes.count, Int(Source.pieceLength)))
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
}
