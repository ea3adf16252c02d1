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

  static func text(_ value: OpaquePointer?) -> String {
    guard let start = sqlite3_value_text(value) else { return "" }
    return String(decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))), as: UTF8.self)
  }

  private static func bytes(_ value: OpaquePointer?) -> [UInt8] {
    guard let start = sqlite3_value_blob(value) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
  }
}
