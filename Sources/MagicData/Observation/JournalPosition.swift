internal import GRDB
internal import MagicJournal

/// How far the journal has come, in the order in which transactions arrive: both numbers only rise.
struct JournalPosition: Sendable {
  var transaction: Int64
  var entry: Int64

  init(_ db: Connection) throws {
    var select = try SQL(db, Statements.selectPosition)
    _ = try select.step()
    (transaction, entry) = (select.integer(0), select.integer(1))
  }

  /// Whether an entry after this position is of one of these types. Goes through all of them if none is.
  func isBeforeChange(of types: [TypeSchema.Identity], _ db: Connection) throws -> Bool {
    for type in types {
      guard let id = try JournalPosition.id(of: type, db) else { continue }
      var select = try SQL(db, Statements.hasEntryAfter)
      try select.bind(entry)
      try select.bind(id)
      if try select.step() { return true }
    }
    return false
  }

  private static func id(of type: TypeSchema.Identity, _ db: Connection) throws -> Int64? {
    var select = try SQL(db, Statements.selectTypeID)
    try select.bind(type.name.text)
    try select.bind(Int64(type.primaryKind?.rawValue ?? 0))
    return try select.step() ? select.integer(0) : nil
  }
}

/// Notes where the journal was when a fetch first looked at the database: what comes later is not in the fetch.
final class PositionNote: Sendable {
  private let noted = Locked<JournalPosition?>(nil)

  var position: JournalPosition? { noted.withLock { $0 } }

  func note(_ db: Connection) throws {
    guard position == nil else { return }
    let now = try JournalPosition(db)
    noted.withLock { $0 = $0 ?? now }
  }
}
