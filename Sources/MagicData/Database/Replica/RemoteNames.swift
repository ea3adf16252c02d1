internal import GRDB

/// The remotes that a database knows by name. They are this file's own: no entry of the journal speaks of them, and they never
/// travel.
package struct RemoteNames {
  private let db: Connection

  package init(_ db: Connection) {
    self.db = db
  }

  /// In the order of their names.
  package func all() throws -> [(name: String, address: String, options: [String: String])] {
    guard try db.has(.remotes) else { return [] }
    let options = try options()
    var select = try SQL(db, Statements.selectRemotes)
    var remotes: [(String, String, [String: String])] = []
    while try select.step() {
      let name = select.text(0)
      remotes.append((name, select.text(1), options[name] ?? [:]))
    }
    return remotes
  }

  /// - Parameter options: what is said of the way to it, by the names of options.
  /// - Returns: `false` if the name is taken, by whatever address.
  package func add(_ name: String, _ address: String, options: [String: String] = [:]) throws -> Bool {
    try db.make(.remotes)
    var insert = try SQL(db, Statements.insertRemote)
    try insert.bind(name)
    try insert.bind(address)
    guard try insert.run() > 0 else { return false }
    // A former version removes a name, and leaves these.
    try removeOptions(name)
    guard !options.isEmpty else { return true }
    try db.make(.remoteOptions)
    for (option, value) in options.sorted(by: { $0.key < $1.key }) {
      var insert = try SQL(db, Statements.insertRemoteOption)
      try insert.bind(name)
      try insert.bind(option)
      try insert.bind(address)
      try insert.bind(value)
      _ = try insert.run()
    }
    return true
  }

  /// - Returns: `false` if there is none of the name.
  package func remove(_ name: String) throws -> Bool {
    guard try db.has(.remotes) else { return false }
    try removeOptions(name)
    var delete = try SQL(db, Statements.deleteRemote)
    try delete.bind(name)
    return try delete.run() > 0
  }

  /// By names. Those that were given with another address do not count: a former version may have given the name to this one,
  /// and a token is for the server it was given for.
  private func options() throws -> [String: [String: String]] {
    guard try db.has(.remoteOptions) else { return [:] }
    var select = try SQL(db, Statements.selectRemoteOptions)
    var options: [String: [String: String]] = [:]
    while try select.step() {
      let (name, option) = (select.text(0), select.text(1))
      options[name, default: [:]][option] = select.text(2)
    }
    return options
  }

  private func removeOptions(_ name: String) throws {
    guard try db.has(.remoteOptions) else { return }
    var delete = try SQL(db, Statements.deleteRemoteOptions)
    try delete.bind(name)
    _ = try delete.run()
  }
}
