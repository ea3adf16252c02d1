internal import GRDB

/// The remotes that a database knows by name. They are this file's own: no entry of the journal speaks of them, and they never travel.
package struct RemoteNames {
  private let db: Connection

  package init(_ db: Connection) {
    self.db = db
  }

  /// In the order of their names.
  package func all() throws -> [(name: String, address: String)] {
    guard try isThere() else { return [] }
    var select = try SQL(db, Statements.selectRemotes)
    var remotes: [(String, String)] = []
    while try select.step() { remotes.append((select.text(0), select.text(1))) }
    return remotes
  }

  /// - Returns: `false` if the name is taken, by whatever address.
  package func add(_ name: String, _ address: String) throws -> Bool {
    try db.execute(sql: Statements.createRemotes)
    var insert = try SQL(db, Statements.insertRemote)
    try insert.bind(name)
    try insert.bind(address)
    return try insert.run() > 0
  }

  /// - Returns: `false` if there is none of the name.
  package func remove(_ name: String) throws -> Bool {
    guard try isThere() else { return false }
    var delete = try SQL(db, Statements.deleteRemote)
    try delete.bind(name)
    return try delete.run() > 0
  }

  private func isThere() throws -> Bool { try db.has("magic_remote") }
}
