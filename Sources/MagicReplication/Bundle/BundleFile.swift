package import Foundation
internal import MagicData
internal import MagicJournal

/// A folder remote in one file or stream (Protocol/bundle.md).
package enum BundleFile {
  static let magic = Array("MAGICBUN".utf8)
  static let content = Array("MAGICAST".utf8)
  static let end = Array("MAGICEND".utf8)
  static let format: UInt16 = 1
  static let (headerLength, contentHeaderLength, endLength) = (32, 48, 20)

  /// Whether bytes begin as a bundle's do.
  package static func isBundle(_ head: [UInt8]) -> Bool { head.starts(with: magic) }

  // MARK: Writing

  /// Writes all files of a folder remote that count.
  package static func write(_ remote: FolderRemote, _ write: (Data) throws -> Void) throws {
    try write(writeParts(of: remote, write))
  }

  /// Writes a bundle but for its end.
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
      let fault = try ChunkReader.forEachPiece(of: checkpoint.url) { piece in
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

  struct Counts: Equatable {
    var segments: UInt32 = 0
    var contents: UInt32 = 0

    mutating func add(_ part: BundleReader.Part) {
      switch part {
      case .segment, .checkpoint: segments += 1
      case .content: contents += 1
      }
    }
  }

  private static func writeContent(_ file: URL, _ digits: String, _ write: (Data) throws -> Void) throws {
    guard let length = ChunkReader.length(of: file) else { throw MagicDataError(.damaged, "\(file.path) is gone") }
    var writer = ByteWriter()
    writer.append(content)
    writer.append([UInt8](hexadecimal: digits) ?? [])
    writer.fixed(UInt64(length))
    try write(Data(writer.bytes))
    var (hash, written) = (SHA256(), 0)
    let fault = try ChunkReader.forEachPiece(of: file) { piece in
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

  /// Puts a folder's bundle in the place of a file, or makes it: as a whole, and on the disk. The caller holds its lock, if
  /// there can be one (B-4).
  ///
  /// - Parameter bind: runs when all is on the disk and nobody sees it yet; if it throws, everything is as it was.
  package static func write(_ remote: FolderRemote, to file: URL, _ bind: () async throws -> Void = {}) async throws {
    let target = file.linked
    let (folder, prefix) = (target.deletingLastPathComponent(), prefix(target.lastPathComponent))
    tidy(folder, prefix)
    let writer = try ChunkWriter(
      named: folder.appendingPathComponent("\(prefix)\(UUID().uuidString.lowercased())\(suffix)"),
      permissions: DurableFile.permissions(of: target))
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

  /// Takes away what writers of the bundle have left who were killed: each may be as long as it is. Who writes holds the lock,
  /// so nobody is at it. What cannot be looked at, or removed, is in nobody's way.
  private static func tidy(_ folder: URL, _ prefix: String) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    // By bytes: names that look alike may be two files'.
    for name in names where name.utf8.starts(with: prefix.utf8) && name.hasSuffix(suffix) {
      // Of a bundle with a longer name something else is in between.
      let rest = name.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count)
      guard UUID(uuidString: String(decoding: rest, as: UTF8.self)) != nil else { continue }
      unlink(folder.appendingPathComponent(name).path)
    }
  }

  private static let suffix = ".tmp"

  /// How the temporary names of a bundle begin. A name may have 255 bytes, so a hash stands for the end of a long one, which
  /// makes it longer than any that stands as a whole.
  private static func prefix(_ name: String) -> String {
    guard name.utf8.count > 160 else { return ".\(name)." }
    var start = ""
    for scalar in name.unicodeScalars {
      guard start.utf8.count < 128 else { break }
      start.unicodeScalars.append(scalar)
    }
    return ".\(start)-\(SHA256.hash(Array(name.utf8)).prefix(16).hexadecimal)."
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
    try unpack(name, StreamReader.reading(handle.fileDescriptor, name), into: remote)
  }

  /// Unpacks a bundle that comes as bytes.
  ///
  /// - Parameter read: at most so many of the next bytes; none at the end.
  package static func unpack(_ name: String, _ read: @escaping (Int) throws -> Data, into remote: FolderRemote) throws {
    var source = BundleReader(name: name, read: read)
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

  /// Unpacks what is whole in a bundle that may be damaged, for who only looks. Hears of each part that is not.
  ///
  /// - Parameter hasContents: whether contents of assets come along.
  private static func salvage(
    _ name: String, _ read: @escaping (Int) throws -> Data, into remote: FolderRemote, hasContents: Bool,
    _ damaged: (MagicDataError) -> Void
  ) throws {
    var source = BundleReader(name: name, read: read)
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
    try body(StreamReader.reading(handle.fileDescriptor, file.path))
  }

  private static func prepare(_ remote: FolderRemote, _ dataSet: DataSetID) throws {
    _ = try remote.dataSet(orMake: dataSet)
    try remote.makeSegments()
  }
}
