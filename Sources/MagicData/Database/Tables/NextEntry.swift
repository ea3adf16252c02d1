internal import GRDB
internal import GRDBSQLite

/// Where the next entry of an object goes, for the statement that writes the object's row: to ask the row for its last entry
/// beforehand took a tenth of a short transaction.
///
/// A row is told of it by `magic_last = magic_follow(magic_last, ?)`, a function of each of our connections.
struct NextEntry {
  private let place: EntryPlace
  /// From here on entries are the transaction's own.
  private let own: EntryPlace?
  /// The last entry that the row had before it was written; `nil` if none was.
  private(set) var last: EntryPlace?

  /// - Parameter own: the first entry of a transaction that keeps one entry of each object: an object that has one stays with
  ///   it.
  init(at place: EntryPlace, own: EntryPlace?) {
    self.place = place
    self.own = own
  }

  static let assignment = "magic_last = magic_follow(magic_last, ?)"

  /// SQLite tells by it that a pointer is one to this.
  static var pointerType: UnsafePointer<CChar> {
    UnsafeRawPointer(("magic_follow" as StaticString).utf8Start).assumingMemoryBound(to: CChar.self)
  }

  static func addFunction(to db: Database) {
    sqlite3_create_function_v2(
      db.sqliteConnection, "magic_follow", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, nil,
      { context, _, values in
        guard let values, let next = sqlite3_value_pointer(values[1], NextEntry.pointerType) else {
          return sqlite3_result_error(context, "nothing follows", -1)
        }
        let last = EntryPlace(bits: sqlite3_value_int64(values[0]))
        sqlite3_result_int64(context, next.assumingMemoryBound(to: NextEntry.self).pointee.follow(last).bits)
      }, nil, nil, nil)
  }

  private mutating func follow(_ last: EntryPlace) -> EntryPlace {
    self.last = last
    return own.map { last.bits >= $0.bits } ?? false ? last : place
  }
}
