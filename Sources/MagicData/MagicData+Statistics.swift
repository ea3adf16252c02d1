internal import GRDB
internal import MagicJournal

/// What a database holds, at one moment.
public struct MagicStatistics: Sendable, Equatable {
  /// A type that the database knows, and how many objects of it are there.
  public struct ObjectType: Sendable, Equatable {
    /// The type's name, by default the Swift type's.
    public let name: String
    /// Those that have a row, also if not all of their required values have arrived.
    public let objects: Int

    package init(name: String, objects: Int) {
      self.name = name
      self.objects = objects
    }
  }

  /// A replica, and up to where its transactions are held.
  public struct Replica: Sendable, Equatable {
    /// 32 hexadecimal digits.
    public let id: String
    /// The number of its last transaction that is held here; 0 if there is none.
    public let lastSequence: Int

    package init(id: String, lastSequence: Int) {
      self.id = id
      self.lastSequence = lastSequence
    }
  }

  /// The size of the database file, with all that is still in SQLite's WAL.
  public let bytes: Int
  /// This database's own replica id.
  public let replica: String
  /// This one and all others whose transactions are held, in the order of their ids.
  public let replicas: [Replica]
  /// In the order in which the database got to know them.
  public let types: [ObjectType]
  /// Those that the journal holds, of all replicas.
  public let transactions: Int
  /// One for each object that a transaction touched.
  public let entries: Int
  /// What the journal's rows hold, without what SQLite needs to keep them.
  public let journalBytes: Int
}

extension MagicData {
  /// Counts what the database holds, in one snapshot.
  ///
  /// - Throws: ``MagicDataError`` if the database cannot be read.
  /// - Complexity: O(journal + objects): it goes through the tables' keys and the whole journal.
  public func statistics() async throws -> MagicStatistics {
    try await store.read { db in try MagicStatistics(db) }
  }
}

extension MagicStatistics {
  init(_ db: Connection) throws {
    replica = try DatabaseState(db).replica.description
    bytes = try MagicStatistics.numbers(db, Statements.selectSize)[0]
    let journal = try MagicStatistics.numbers(db, Statements.selectJournalSize, count: 3)
    (transactions, entries, journalBytes) = (journal[0], journal[1], journal[2])
    types = try StoredSchema(db).types.map { type in
      ObjectType(name: type.schema.name.text, objects: try MagicStatistics.numbers(db, type.count)[0])
    }
    var select = try SQL(db, Statements.selectReplicas)
    var replicas: [Replica] = []
    while try select.step() {
      let last = try JournalIndex.lastSequence(select.integer(0), db)
      let id = try select.identifier(1).description
      // Under an id that was left before anything was written there is nothing.
      if last > 0 || id == replica { replicas.append(Replica(id: id, lastSequence: Int(clamping: last))) }
    }
    self.replicas = replicas.sorted { $0.id < $1.id }
  }

  package static func fileBytes(_ db: Connection) throws -> Int { try numbers(db, Statements.selectSize)[0] }

  private static func numbers(_ db: Connection, _ sql: String, count: Int32 = 1) throws -> [Int] {
    var select = try SQL(db, sql)
    guard try select.step() else { throw MagicDataError(.failed, "the database could not be counted") }
    return (0..<count).map { select.int($0) }
  }
}
