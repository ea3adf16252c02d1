internal import GRDB
package import MagicJournal

/// The assets that a merge let go of before their contents were sent (F-15). This database may be the only one that has them, and whoever edited the object meanwhile brings the name back.
///
/// They stay until a push has sent them. The tables are there once they were needed.
package struct UnsentAssets {
  package private(set) var names: Set<String> = []

  package init(_ db: Connection) throws {
    guard try db.has("magic_unsent_asset") else { return }
    names = try UnsentAssets.names(Statements.selectUnsentAssets, db)
  }

  /// The names that no row has any more, and of which files were not looked at since.
  package static func dropped(_ db: Connection) throws -> Set<String> {
    let schema = try StoredSchema(db)
    return try allDropped(db).filter { try !schema.names($0, db) }
  }

  /// Those that rows let go of at some time.
  static func allDropped(_ db: Connection) throws -> Set<String> { try names(Statements.selectDroppedAssets, db) }

  /// Within the transaction of a merge: of what it let go of, that stays which the database's own entries name and of which no contents were sent yet, or
  /// which entries name that the remote does not have: this database may have written them under an id that it has left.
  ///
  /// - Parameters:
  ///   - frontier: what the remote has.
  ///   - before: what no row had before the merge.
  package static func keep(of own: ReplicaID, beyond frontier: Frontier, before: Set<String>, _ db: Connection) throws {
    let dropped = try allDropped(db).subtracting(before)
    guard !dropped.isEmpty else { return }
    let journal = try JournalReader(db)
    var unsent: Set<String> = []
    func note(_ entries: [Entry]) {
      for entry in entries {
        for field in entry.fields {
          if case .asset(let name) = field.value, dropped.contains(name) { unsent.insert(name) }
        }
      }
    }
    var isGivenUp = false
    for replica in try journal.frontier().replicas {
      let sent = replica == own ? try sentSequence(of: own, db) : frontier[replica]
      let floor = try journal.floor(of: replica)?.sequence ?? 0
      if sent < floor { isGivenUp = true }
      try journal.forEachPart(of: replica, after: max(sent, floor)) { note($0.transaction.entries) }
    }
    // What compaction has kept has no address.
    if isGivenUp { try journal.forEachKept { note($0.entries) } }
    try keep(unsent, db)
  }

  /// Within a transaction: no row names these, and they stay.
  package static func keep(_ names: Set<String>, _ db: Connection) throws {
    guard !names.isEmpty else { return }
    try db.execute(sql: Statements.createUnsentAssets)
    for name in names.sorted() { try run([Statements.insertUnsentAsset, Statements.deleteDroppedAsset], name, db) }
  }

  /// The last of a replica's transactions of which the contents were sent.
  package static func sentSequence(of replica: ReplicaID, _ db: Connection) throws -> UInt64 {
    guard try db.has("magic_sent") else { return 0 }
    var select = try SQL(db, Statements.selectSent)
    try select.bind(replica)
    return try select.step() ? UInt64(clamping: select.integer(0)) : 0
  }

  /// Within a transaction: these were sent, and go away unless rows name them again; and so was all that the replica's transactions name.
  package static func sent(_ names: Set<String>, through sequence: UInt64, of replica: ReplicaID, _ db: Connection) throws {
    for name in names.sorted() { try run([Statements.insertDroppedAsset, Statements.deleteUnsentAsset], name, db) }
    try db.execute(sql: Statements.createSent)
    var insert = try SQL(db, Statements.insertSent)
    try insert.bind(replica)
    try insert.bind(Int64(clamping: sequence))
    try insert.run()
  }

  private static func names(_ statement: String, _ db: Connection) throws -> Set<String> {
    var names: Set<String> = []
    var select = try SQL(db, statement)
    while try select.step() { names.insert(select.text(0)) }
    return names
  }

  private static func run(_ statements: [String], _ name: String, _ db: Connection) throws {
    for statement in statements {
      var run = try SQL(db, statement)
      try run.bind(name)
      try run.run()
    }
  }
}
