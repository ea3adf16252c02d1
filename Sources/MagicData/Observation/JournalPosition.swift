internal import GRDB
internal import MagicJournal

/// How far the journal has come: the number of its last row. Rows are numbered in the order in which transactions arrive.
struct JournalPosition: Sendable, Equatable {
  let row: Int64

  init(_ db: Connection) throws {
    var select = try SQL(db, Statements.selectPosition)
    row = try select.step() ? select.integer(0) : 0
  }

  /// Whether an entry after this position is of one of these types. Goes through all of them if none is.
  func isBeforeChange(of types: [TypeSchema.Identity], _ db: Connection) throws -> Bool {
    let ids = Set(try types.compactMap { try JournalPosition.id(of: $0, db) })
    guard !ids.isEmpty else { return false }
    var select = try SQL(db, Statements.selectDataAfter)
    try select.bind(row)
    while try select.step() {
      if try JournalPosition.types(in: select.bytes(0)).contains(where: ids.contains) { return true }
    }
    return false
  }

  private static func types(in data: [UInt8]) throws -> [UInt64] {
    do throws(JournalError) {
      var types: [UInt64] = []
      for var part in try EntryRow.parts(of: data) where !part.isAtEnd { types.append(try part.varint()) }
      return types
    } catch {
      throw MagicDataError(.notADatabase, "the database is damaged: a transaction cannot be read", cause: error)
    }
  }

  private static func id(of type: TypeSchema.Identity, _ db: Connection) throws -> UInt64? {
    var select = try SQL(db, Statements.selectTypeID)
    try select.bind(type.name.text)
    try select.bind(Int64(type.primaryKind?.rawValue ?? 0))
    return try select.step() ? UInt64(exactly: select.integer(0)) : nil
  }
}

/// Notes where the journal was when a fetch first looked at the database: what comes later is not in the fetch.
final class PositionNote: Sendable {
  private let noted = Locked<JournalPosition?>(nil)

  var position: JournalPosition? { noted.withLock { $0 } }

  private func note(_ db: Connection) throws {
    guard position == nil else { return }
    let now = try JournalPosition(db)
    noted.withLock { $0 = $0 ?? now }
  }

  /// A read that notes the position first, and is otherwise as `body`.
  func noting<Result>(
    _ body: @Sendable @escaping (Connection) throws -> Result
  ) -> @Sendable (Connection) throws -> Result {
    { db in
      try self.note(db)
      return try body(db)
    }
  }
}
