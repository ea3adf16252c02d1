package import GRDB
package import MagicJournal

/// The one row of `magic_database` and the journal's end, as a transaction finds them. Beyond the transaction they are
/// remembered only with SQLite's own version of the file, as another process may write to it (C-3, H-40; `LastState`).
package struct DatabaseState: Sendable, Equatable {
  package let dataSet: DataSetID
  /// Whether the data set was confirmed by an exchange (F-11).
  package let isSettled: Bool
  package let replica: ReplicaID
  let replicaRow: Int64
  package private(set) var lastStamp: Stamp
  /// Names the file to the objects that are fetched from it.
  let store: Identifier
  /// The last sequence of the database's own replica; 0 if it has written nothing.
  package private(set) var lastSequence: UInt64
  /// The journal's last row, and the run that it belongs to.
  package private(set) var lastRow: Int64
  private(set) var lastRun: JournalRun?
  /// How many fields all types have: more than before if somebody has added one.
  let fieldCount: Int

  package init(_ db: Database) throws {
    var select = try SQL(db, Statements.selectDatabase)
    guard try select.step() else {
      throw MagicDataError(.notADatabase, "the database is damaged: it does not know its own replica")
    }
    dataSet = try select.identifier(0)
    isSettled = select.integer(1) != 0
    replicaRow = select.integer(2)
    replica = try select.identifier(3)
    store = try select.identifier(5)
    lastRow = select.integer(6)
    // What is kept below the floor goes on with nothing.
    lastRun =
      select.isNull(8) || select.integer(10) < 0
      ? nil
      : try JournalRun(
        checking: select.integer(8), replica: select.integer(9), sequence: select.integer(10), isOne: select.integer(11) != 0,
        lastRow: lastRow)
    fieldCount = select.int(12)
    let merged = select.stamp(4)
    if let lastRun, lastRun.replica == replicaRow {
      // A write of one's own moves the clock by being there.
      lastStamp = max(merged, select.stamp(7))
      lastSequence = lastRun.lastSequence(lastRow)
    } else {
      lastStamp = merged
      lastSequence = try JournalIndex.lastSequence(replicaRow, db)
    }
  }

  /// After a transaction of the own replica that ends with this row.
  func followed(by stamp: Stamp, lastRow: Int64, _ lastRun: JournalRun?) -> DatabaseState {
    var next = self
    next.lastStamp = stamp
    next.lastSequence += 1
    next.lastRow = lastRow
    next.lastRun = lastRun
    return next
  }

  /// Gives the database a data set that an exchange has confirmed; an error if another process has given it another meanwhile.
  package static func settle(_ dataSet: DataSetID, _ db: Connection) throws {
    // It is for good, and what it was for may have been undone.
    try db.checkInTransaction()
    let state = try DatabaseState(db)
    guard !state.isSettled || state.dataSet == dataSet else {
      throw MagicDataError(.incompatible, "the database was bound to another data set (\(state.dataSet)) meanwhile")
    }
    var update = try SQL(db, Statements.settle)
    try update.bind(dataSet)
    try update.run()
  }
}
