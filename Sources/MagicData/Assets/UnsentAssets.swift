internal import GRDB
package import MagicJournal

/// The assets that a merge let go of before their contents were sent (F-15). This database may be the only one that has them, and whoever edited the object meanwhile brings the name back.
///
/// They stay until a push has sent them. The table is there once it was needed.
package struct UnsentAssets {
  package private(set) var names: Set<String> = []

  package init(_ db: Connection) throws {
    var isThere = try SQL(db, Statements.hasUnsentAssets)
    guard try isThere.step() else { return }
    var select = try SQL(db, Statements.selectUnsentAssets)
    while try select.step() { names.insert(select.text(0)) }
  }

  /// The names that rows have let go of, and of which files were not looked at since.
  package static func dropped(_ db: Connection) throws -> Set<String> {
    var names: Set<String> = []
    var select = try SQL(db, Statements.selectDroppedAssets)
    while try select.step() { names.insert(select.text(0)) }
    return names
  }

  /// Within the transaction of a merge: of what it let go of, what entries of a replica name that the remote lacks stays.
  ///
  /// - Parameters:
  ///   - before: what rows had let go of before the merge.
  ///   - sequence: the last one of the replica that the remote has.
  package static func keep(of replica: ReplicaID, after sequence: UInt64, before: Set<String>, _ db: Connection) throws {
    let dropped = try dropped(db).subtracting(before)
    guard !dropped.isEmpty else { return }
    let journal = try JournalReader(db)
    var unsent: Set<String> = []
    try journal.forEachPart(of: replica, after: max(sequence, journal.floor(of: replica)?.sequence ?? 0)) { part in
      for entry in part.transaction.entries {
        for field in entry.fields {
          if case .asset(let name) = field.value, dropped.contains(name) { unsent.insert(name) }
        }
      }
    }
    guard !unsent.isEmpty else { return }
    try db.execute(sql: Statements.createUnsentAssets)
    for name in unsent.sorted() { try run([Statements.insertUnsentAsset, Statements.deleteDroppedAsset], name, db) }
  }

  /// Within a transaction: these were sent, and go away unless rows name them again.
  package static func release(_ names: Set<String>, _ db: Connection) throws {
    for name in names.sorted() { try run([Statements.insertDroppedAsset, Statements.deleteUnsentAsset], name, db) }
  }

  private static func run(_ statements: [String], _ name: String, _ db: Connection) throws {
    for statement in statements {
      var run = try SQL(db, statement)
      try run.bind(name)
      try run.run()
    }
  }
}
