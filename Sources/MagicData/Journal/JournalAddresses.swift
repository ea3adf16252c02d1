package import GRDB
package import MagicJournal

/// Which transactions the journal has, by their addresses. It takes no schema to know, and a schema takes as long to read as a
/// model is large.
package protocol JournalAddresses {
  var db: Database { get }
}

package struct JournalIndex: JournalAddresses {
  package let db: Database

  package init(_ db: Database) {
    self.db = db
  }

  static func lastSequence(_ replica: Int64, _ db: Database) throws -> UInt64 {
    var select = try SQL(db, Statements.selectLastRun)
    try select.bind(replica)
    if try select.step() { return try RunOfRows(select, replica).last }
    var floor = try SQL(db, Statements.selectFloorSequence)
    try floor.bind(replica)
    guard try floor.step() else { return 0 }
    guard let sequence = UInt64(exactly: floor.integer(0)) else {
      throw MagicDataError(.notADatabase, "the database is damaged: a floor is below the first transaction")
    }
    return sequence
  }
}

extension JournalAddresses {
  package func frontier() throws -> Frontier {
    var frontier = Frontier()
    for (replica, row) in try replicas() { frontier[replica] = try JournalIndex.lastSequence(row, db) }
    return frontier
  }

  package func name(at sequence: UInt64, of replica: ReplicaID) throws -> TransactionName? {
    guard let first = try firstRow(at: sequence, of: replica) else {
      return try floor(of: replica).flatMap { $0.sequence == sequence ? $0.name : nil }
    }
    var select = try SQL(db, Statements.selectRowName)
    try select.bind(first)
    guard try select.step() else { return nil }
    return TransactionName(stamp: select.stamp(0), tag: UInt32(truncatingIfNeeded: select.integer(1)))
  }

  /// The row with which a transaction begins.
  package func firstRow(at sequence: UInt64, of replica: ReplicaID) throws -> Int64? {
    guard let row = try row(of: replica), sequence > 0 else { return nil }
    // Of replicas that wrote in turn there are as many runs as transactions.
    return try runs(of: row, from: sequence, atMost: 1).first?.row(of: sequence)
  }

  package func floor() throws -> NamedFrontier {
    var floor = NamedFrontier()
    var select = try SQL(db, Statements.selectFloors)
    while try select.step() { floor[try select.identifier(0)] = end(select, 1) }
    return floor
  }

  package func floor(of replica: ReplicaID) throws -> NamedFrontier.End? {
    var select = try SQL(db, Statements.selectFloor)
    try select.bind(replica)
    return try select.step() ? end(select, 0) : nil
  }

  private func end(_ row: borrowing SQL, _ column: Int32) -> NamedFrontier.End {
    NamedFrontier.End(
      sequence: UInt64(clamping: row.integer(column)),
      name: TransactionName(stamp: row.stamp(column + 1), tag: UInt32(truncatingIfNeeded: row.integer(column + 2))))
  }

  /// A frontier that is held, with its names.
  package func named(_ frontier: Frontier) throws -> NamedFrontier {
    var named = NamedFrontier()
    for replica in frontier.replicas {
      guard let name = try name(at: frontier[replica], of: replica) else { throw damaged("a transaction has no name") }
      named[replica] = NamedFrontier.End(sequence: frontier[replica], name: name)
    }
    return named
  }

  /// Whether a frontier is held with its names; of what lies below the floor that cannot be told, so it is not.
  package func holds(_ named: NamedFrontier) throws -> Bool {
    try named.replicas.allSatisfy { replica in
      try named[replica].map { try name(at: $0.sequence, of: replica) == $0.name } ?? true
    }
  }

  // MARK: Parts

  func replicas() throws -> [(ReplicaID, Int64)] {
    var select = try SQL(db, Statements.selectReplicas)
    var replicas: [(ReplicaID, Int64)] = []
    while try select.step() { replicas.append((try select.identifier(1), select.integer(0))) }
    return replicas
  }

  func row(of replica: ReplicaID) throws -> Int64? {
    var select = try SQL(db, Statements.selectReplica)
    try select.bind(replica)
    return try select.step() ? select.integer(0) : nil
  }

  func runs(of replica: Int64, from sequence: UInt64, atMost count: Int64 = -1) throws -> [RunOfRows] {
    var select = try SQL(db, Statements.selectRuns)
    try select.bind(replica)
    try select.bind(Int64(clamping: sequence))
    try select.bind(count)
    var runs: [RunOfRows] = []
    while try select.step() { runs.append(try RunOfRows(select, replica)) }
    return runs
  }

  func damaged(_ what: String, _ cause: (any Error)? = nil) -> MagicDataError {
    MagicDataError(.notADatabase, "the database is damaged: \(what)", cause: cause)
  }
}

/// A run, with its end.
struct RunOfRows {
  let run: JournalRun
  let lastRow: Int64

  init(_ row: borrowing SQL, _ replica: Int64) throws {
    lastRow = row.integer(3)
    run = try JournalRun(
      checking: row.integer(0), replica: replica, sequence: row.integer(1), isOne: row.integer(2) != 0, lastRow: lastRow)
  }

  /// The sequence of its last transaction.
  var last: UInt64 { run.lastSequence(lastRow) }

  /// The first row of a transaction in it.
  func row(of sequence: UInt64) -> Int64? {
    guard sequence >= run.sequence, sequence <= last else { return nil }
    return run.isOne ? run.first : run.first + Int64(sequence - run.sequence)
  }
}
