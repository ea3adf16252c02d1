internal import GRDB
package import MagicJournal

/// The assets of a database in whose place another one comes.
package struct ReplacedAssets: Sendable {
  package let folder: AssetFolder
  /// What it had not sent yet.
  package let unsent: Set<String>
}

/// The assets that a merge let go of before their contents were sent (F-15). This database may be the only one that has them,
/// and whoever edited the object meanwhile brings the name back.
///
/// They stay until a push has sent them. The tables are there once they were needed.
package struct UnsentAssets {
  package private(set) var names: Set<String> = []

  package init(_ db: Connection) throws {
    guard try db.has(.unsentAssets) else { return }
    names = try UnsentAssets.names(Statements.selectUnsentAssets, db)
  }

  /// The names that no row has any more, and of which files were not looked at since.
  package static func dropped(_ db: Connection) throws -> Set<String> {
    let schema = try StoredSchema(db)
    return try allDropped(db).filter { try !schema.names($0, db) }
  }

  /// Those that rows let go of at some time.
  static func allDropped(_ db: Connection) throws -> Set<String> { try names(Statements.selectDroppedAssets, db) }

  /// Within the transaction of a merge: of what it let go of, that stays which the database's own entries name and of which no
  /// contents were sent yet, or which entries name that the remote does not have: this database may have written them under an
  /// id that it has left. Of what it wrote under such an id, the remote may have the entries and lack the contents.
  ///
  /// - Parameters:
  ///   - frontier: what the remote has.
  ///   - before: what no row had before the merge.
  package static func keep(of own: ReplicaID, beyond frontier: Frontier, before: Set<String>, _ db: Connection) throws {
    let dropped = try allDropped(db).subtracting(before)
    guard !dropped.isEmpty else { return }
    var search = try Search(for: dropped, db)
    for replica in try search.journal.frontier().replicas where replica != own {
      try search.read(replica, after: frontier[replica])
    }
    try search.readUnsent(of: own)
    try keep(search.finish(), db)
  }

  /// Looks which of some assets the journal names.
  private struct Search {
    let journal: JournalReader
    private let db: Connection
    private let names: Set<String>
    private var found: Set<String> = []
    private var isGivenUp = false

    init(for names: Set<String>, _ db: Connection) throws {
      (self.names, self.db) = (names, db)
      journal = try JournalReader(db)
    }

    private mutating func read(_ entries: [Entry]) {
      for entry in entries {
        for field in entry.fields {
          if case .asset(let name) = field.value, names.contains(name) { found.insert(name) }
        }
      }
    }

    mutating func read(_ replica: ReplicaID, after sequence: UInt64, through last: UInt64 = .max) throws {
      let floor = try journal.floor(of: replica)?.sequence ?? 0
      if sequence < min(floor, last) { isGivenUp = true }
      guard max(sequence, floor) < last else { return }
      try journal.forEachPart(of: replica, after: max(sequence, floor), through: last) { read($0.transaction.entries) }
    }

    /// What the database wrote, under whatever id, since contents were sent.
    mutating func readUnsent(of own: ReplicaID) throws {
      try read(own, after: sentSequence(of: own, db))
      for (replica, last) in try left(db) {
        // What lay below a floor when it was left has no other address either.
        isGivenUp = true
        try read(replica, after: sentSequence(of: replica, db), through: last)
      }
    }

    consuming func finish() throws -> Set<String> {
      // What compaction has kept has no address.
      if isGivenUp { try journal.forEachKept { read($0.entries) } }
      return found
    }
  }

  /// Within a transaction: these stay, whether rows name them or not.
  package static func keep(_ names: Set<String>, _ db: Connection) throws {
    guard !names.isEmpty else { return }
    try db.make(.unsentAssets)
    for name in names.sorted() { try run([Statements.insertUnsentAsset, Statements.deleteDroppedAsset], name, db) }
  }

  /// The last of a replica's transactions of which the contents were sent.
  package static func sentSequence(of replica: ReplicaID, _ db: Connection) throws -> UInt64 {
    guard try db.has(.sent) else { return 0 }
    var select = try SQL(db, Statements.selectSent)
    try select.bind(replica)
    return try select.step() ? UInt64(clamping: select.integer(0)) : 0
  }

  /// Within a transaction: the database wrote this many transactions under an id that it leaves.
  static func leave(_ replica: ReplicaID, at last: UInt64, _ db: Connection) throws {
    guard try sentSequence(of: replica, db) < last else { return }
    try db.make(.left)
    try run(Statements.insertLeft, replica, last, db)
  }

  /// What the database wrote under ids that it has left, as far as no contents were sent since.
  package static func left(_ db: Connection) throws -> [ReplicaID: UInt64] {
    guard try db.has(.left) else { return [:] }
    var left: [ReplicaID: UInt64] = [:]
    var select = try SQL(db, Statements.selectLeft)
    while try select.step() { left[try select.identifier(0)] = UInt64(clamping: select.integer(1)) }
    return left
  }

  /// The ids under which the database has written, each with the last transaction of which it is known; of the own one there
  /// may be later ones.
  package static func written(_ db: Connection) throws -> [ReplicaID: UInt64] {
    var written = try left(db)
    guard try db.has(.sent) else { return written }
    var select = try SQL(db, Statements.selectAllSent)
    while try select.step() {
      let replica = try select.identifier(0)
      written[replica] = max(written[replica] ?? 0, UInt64(clamping: select.integer(1)))
    }
    return written
  }

  /// Within a transaction: these were sent, and go away unless rows name them again; and so was all that the replica's
  /// transactions name, and what had been written under other ids before.
  ///
  /// - Parameter lacking: but for these, which stay if the database wrote their names: they may only be away.
  package static func sent(
    _ names: Set<String>, without lacking: Set<String>, through sequence: UInt64, of replica: ReplicaID,
    left: [ReplicaID: UInt64], _ db: Connection
  ) throws {
    if !lacking.isEmpty {
      var search = try Search(for: lacking, db)
      try search.readUnsent(of: replica)
      try keep(search.finish(), db)
    }
    for name in names.subtracting(lacking).sorted() {
      try run([Statements.insertDroppedAsset, Statements.deleteUnsentAsset], name, db)
    }
    try db.make(.sent)
    try run(Statements.insertSent, replica, sequence, db)
    for (replica, last) in left {
      try run(Statements.insertSent, replica, last, db)
      try run(Statements.deleteLeft, replica, last, db)
    }
  }

  private static func names(_ statement: String, _ db: Connection) throws -> Set<String> {
    var names: Set<String> = []
    var select = try SQL(db, statement)
    while try select.step() { names.insert(select.text(0)) }
    return names
  }

  private static func run(_ statement: String, _ replica: ReplicaID, _ sequence: UInt64, _ db: Connection) throws {
    var run = try SQL(db, statement)
    try run.bind(replica)
    try run.bind(Int64(clamping: sequence))
    try run.run()
  }

  private static func run(_ statements: [String], _ name: String, _ db: Connection) throws {
    for statement in statements {
      var run = try SQL(db, statement)
      try run.bind(name)
      try run.run()
    }
  }
}
