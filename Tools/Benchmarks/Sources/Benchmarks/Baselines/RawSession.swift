import CSession
import Foundation
import GRDBSQLite

/// SQLite's session extension: records what changes in a database, as bytes that change another one alike.
final class RawSession {
  private let database: RawDatabase
  private var handle: OpaquePointer?

  init(_ database: RawDatabase, table: String) {
    self.database = database
    precondition(sqlite3session_create(database.handle, "main", &handle) == SQLITE_OK)
    precondition(sqlite3session_attach(handle, table) == SQLITE_OK)
  }

  deinit {
    sqlite3session_delete(handle)
  }

  /// What has changed since the session began.
  func changeset() -> [UInt8] {
    var (count, bytes) = (Int32(0), UnsafeMutableRawPointer?.none)
    precondition(sqlite3session_changeset(handle, &count, &bytes) == SQLITE_OK)
    defer { sqlite3_free(bytes) }
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
  }

  /// Reads all changes, and returns how many there are.
  static func count(_ changeset: [UInt8]) -> Int {
    var (changeset, change) = (changeset, OpaquePointer?.none)
    precondition(sqlite3changeset_start(&change, Int32(changeset.count), &changeset) == SQLITE_OK)
    var count = 0
    while sqlite3changeset_next(change) == SQLITE_ROW { count += 1 }
    precondition(sqlite3changeset_finalize(change) == SQLITE_OK)
    return count
  }

  /// Changes a database alike. A conflict ends the program: there is none in what is measured.
  static func apply(_ changeset: [UInt8], to database: RawDatabase) {
    var changeset = changeset
    let count = Int32(changeset.count)
    let status = sqlite3changeset_apply(database.handle, count, &changeset, nil, { _, _, _ in changesetAbort }, nil)
    precondition(status == SQLITE_OK, "the changeset could not be applied: \(status)")
  }
}

/// SQLITE_CHANGESET_ABORT.
private let changesetAbort: Int32 = 2

/// A file as both sides of a comparison leave it: packed by zlib, on the disk before it has its name.
enum PackedFile {
  static func write(_ bytes: [UInt8], to file: URL) throws -> Int {
    let packed = deflate(bytes)
    let temporary = file.appendingPathExtension("tmp")
    try Data(packed).write(to: temporary)
    try sync(temporary)
    guard rename(temporary.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    try sync(file.deletingLastPathComponent())
    return packed.count
  }

  static func read(_ file: URL) throws -> [UInt8] {
    let packed = try Data(contentsOf: file)
    return packed.withUnsafeBytes { source in
      let count = Int(source.loadUnaligned(as: UInt64.self))
      return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        var length = uLong(count)
        let start = source.baseAddress?.advanced(by: 8).assumingMemoryBound(to: UInt8.self)
        precondition(uncompress(buffer.baseAddress, &length, start, uLong(source.count - 8)) == Z_OK)
        filled = Int(length)
      }
    }
  }

  /// With the length of what is packed before it; at level 6, as a segment is.
  private static func deflate(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 8 + Int(compressBound(uLong(bytes.count)))) { buffer, filled in
      UnsafeMutableRawBufferPointer(buffer).storeBytes(of: UInt64(bytes.count), as: UInt64.self)
      var length = uLong(buffer.count - 8)
      precondition(compress2(buffer.baseAddress?.advanced(by: 8), &length, bytes, uLong(bytes.count), 6) == Z_OK)
      filled = 8 + Int(length)
    }
  }

  static func sync(_ file: URL) throws {
    let descriptor = open(file.path, O_RDONLY)
    defer { close(descriptor) }
    guard descriptor >= 0, fsync(descriptor) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }
}
