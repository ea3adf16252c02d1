package import GRDB
package import MagicJournal

/// The one row of `magic_database`, as a transaction finds it. It is never remembered beyond the transaction: another
/// process may write to the same file (C-3, H-40).
package struct DatabaseState: Sendable {
  package let dataSet: DataSetID
  /// Whether the data set was confirmed by an exchange (F-11).
  package let isSettled: Bool
  package let replica: ReplicaID
  let replicaRow: Int64
  package let lastStamp: Stamp
  /// Names the file to the objects that are fetched from it.
  let store: Identifier
  /// Of the own replica; 0 if it has written nothing.
  package let lastSequence: UInt64
  /// The journal's last row, and the run that it belongs to.
  package let lastRow: Int64
  let lastRun: JournalRun?
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

  /// Gives the database a data set that an exchange has confirmed; an error if another process has given it another meanwhile.
  package static func settle(_ dataSet: DataSetID, _ db: Connection) throws {
    let state = try DatabaseState(db)
    guard !state.isSettled || state.dataSet == dataSet else {
      throw MagicDataError(.incompatible, "the database was bound to another data set (\(state.dataSet)) meanwhile")
    }
    var update = try SQL(db, Statements.settle)
    try update.bind(dataSet)
    try update.run()
  }
}
