internal import GRDB
internal import MagicJournal

/// The folders with which a database has exchanged (J-29). They are this file's own, and no copy's: on another machine the same
/// path means another folder, or none.
package struct VisitedFolders {
  private let db: Connection

  package init(_ db: Connection) {
    self.db = db
  }

  /// Whether there was a remote of the database's data set at a path.
  package func has(_ path: String) throws -> Bool {
    guard try db.has(.metFolders) else { return false }
    var select = try SQL(db, Statements.selectMetFolder)
    try select.bind(path)
    guard try select.step() else { return false }
    let (dataSet, replica) = (try select.identifier(0), try select.identifier(1))
    let state = try DatabaseState(db)
    return dataSet == state.dataSet && replica == state.replica
  }

  /// Remembers that there is one. A database that no exchange has bound to a data set remembers nothing (F-11).
  package func add(_ path: String) throws {
    let state = try DatabaseState(db)
    guard state.isSettled else { return }
    try db.make(.metFolders)
    var insert = try SQL(db, Statements.insertMetFolder)
    try insert.bind(path)
    try insert.bind(state.dataSet)
    try insert.bind(state.replica)
    try insert.run()
  }

  package func remove(_ path: String) throws {
    guard try db.has(.metFolders) else { return }
    var delete = try SQL(db, Statements.deleteMetFolder)
    try delete.bind(path)
    try delete.run()
  }
}
