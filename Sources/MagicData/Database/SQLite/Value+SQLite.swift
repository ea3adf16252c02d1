internal import GRDBSQLite
internal import MagicJournal

extension Value {
  /// What SQLite holds, as a value of some kind, which tells bytes from coded values, and the two reals that are kept as blobs.
  init(stored value: OpaquePointer?, _ kind: Kind) {
    self =
      switch sqlite3_value_type(value) {
      case SQLITE_INTEGER: .integer(sqlite3_value_int64(value))
      case SQLITE_FLOAT: .real(sqlite3_value_double(value))
      case SQLITE_TEXT: kind == .asset ? .asset(Value.text(value)) : .text(Value.text(value))
      case SQLITE_BLOB: Value(bytes: Value.bytes(value), kind)
      default: .null
      }
  }

  private init(bytes: [UInt8], _ kind: Kind) {
    self =
      switch kind {
      case .real where bytes.count == 8: .real(Double(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) }))  // V-11
      case .coded: .coded(bytes)
      default: .bytes(bytes)
      }
  }

  static func text(_ value: OpaquePointer?) -> String { String(row: utf8(value)) }

  /// The bytes of a text, for as long as SQLite has its row.
  @inline(__always) static func utf8(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8> {
    guard let start = sqlite3_value_text(value) else { return UnsafeBufferPointer(start: nil, count: 0) }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
  }

  fileprivate static func bytes(_ value: OpaquePointer?) -> [UInt8] {
    guard let start = sqlite3_value_blob(value) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
  }
}

extension String {
  /// A text as a row has it; what is no UTF-8 is repaired.
  @inline(__always) init(row utf8: UnsafeBufferPointer<UInt8>) {
    // A short one is put where it stays at once; decoded, it is gone through byte by byte.
    guard utf8.count <= 15 else {
      self.init(decoding: utf8, as: UTF8.self)
      return
    }
    self.init(unsafeUninitializedCapacity: utf8.count) { memory in memory.initialize(fromContentsOf: utf8) }
  }
}

extension Birth {
  /// - Throws: `damaged` if it is none.
  init(stored value: OpaquePointer?) throws {
    // Mostly without an array for each.
    guard sqlite3_value_bytes(value) == 16, let start = sqlite3_value_blob(value),
      let birth = Birth(
        UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    else {
      self = try Birth(bytes: Value.bytes(value))
      return
    }
    self = birth
  }
}
