package import GRDB
package import MagicJournal

/// Makes kept entries of the transactions at and below a floor (K-1 to K-3), within one SQLite transaction.
package struct JournalCompaction {
  /// What it comes to, or would.
  package struct Outcome: Sendable, Equatable {
    package var entries = 0
    package var keptEntries = 0
    /// The size of the journal's rows.
    package var bytes = 0
    package var keptBytes = 0
  }

  private let db: Database
  private let reader: JournalReader
  private let runs: [Run]
  private let floor: NamedFrontier
  /// Rows of transactions that are held twice, and go.
  private var doubles = JournalRows()
  /// At and below the new floor.
  private let rows: JournalRows
  package private(set) var outcome = Outcome()
  /// Entries of these rows, as the journal has them.
  private var written = 0

  private struct Run {
    let run: JournalRun?
    let first: Int64
    let last: Int64
    /// Those of its rows that lie at or below the floor.
    let below: ClosedRange<Int64>?
  }

  /// - Parameter floor: what it is to be raised to; where it is higher already it stays. Above what is held, the ends need
  ///   names.
  package init(_ db: Database, to floor: NamedFrontier) throws {
    self.db = db
    reader = try JournalReader(db)
    var raised = try reader.floor()
    raised.raise(to: floor)
    self.floor = raised
    runs = try JournalCompaction.runs(raised.frontier, db)
    var rows = JournalRows()
    for below in runs.compactMap(\.below) { rows.append(below) }
    self.rows = rows
  }

  /// Takes away the transactions of a replica, each of which is held under another id as well.
  static func drop(_ replica: Int64, _ db: Database) throws {
    var compaction = try JournalCompaction(db, dropping: replica)
    try compaction.run {}
  }

  private init(_ db: Database, dropping replica: Int64) throws {
    self.db = db
    reader = try JournalReader(db)
    floor = try reader.floor()
    runs = try JournalCompaction.runs(floor.frontier, db).map { run in
      guard let live = run.run, live.replica == replica else { return run }
      return Run(run: live, first: run.first, last: run.last, below: run.first...run.last)
    }
    var rows = JournalRows()
    for run in runs {
      guard let below = run.below else { continue }
      rows.append(below)
      if run.run?.replica == replica { doubles.append(below) }
    }
    self.rows = rows
  }

  private static func runs(_ floor: Frontier, _ db: Database) throws -> [Run] {
    let lastRow = try DatabaseState(db).lastRow
    var replicas: [Int64: UInt64] = [:]
    for replica in floor.replicas { replicas[try JournalWriter.row(of: replica, db)] = floor[replica] }
    var found: [(first: Int64, replica: Int64, sequence: Int64, isOne: Bool)] = []
    var select = try SQL(db, Statements.selectAllRuns)
    while try select.step() {
      found.append((select.integer(0), select.integer(1), select.integer(2), select.integer(3) != 0))
    }
    return try found.indices.map { index in
      let (first, replica, sequence, isOne) = found[index]
      let last = index + 1 < found.count ? found[index + 1].first - 1 : lastRow
      guard sequence > 0 else { return Run(run: nil, first: first, last: last, below: first <= last ? first...last : nil) }
      let run = try JournalRun(checking: first, replica: replica, sequence: sequence, isOne: isOne, lastRow: last)
      let end = replicas[replica] ?? 0
      let below: ClosedRange<Int64>? =
        end < run.sequence ? nil : end >= run.lastSequence(last) ? first...last : first...first + Int64(end - run.sequence)
      return Run(run: run, first: first, last: last, below: below)
    }
  }

  /// Rows of the transactions at and below a frontier, of which none is kept, and those of all that is kept.
  package static func rows(to frontier: Frontier, _ db: Database) throws -> (transactions: JournalRows, kept: JournalRows) {
    var (transactions, kept) = (JournalRows(), JournalRows())
    for run in try runs(frontier, db) {
      guard let below = run.below else { continue }
      if run.run == nil { kept.append(below) } else { transactions.append(below) }
    }
    return (transactions, kept)
  }

  // MARK: What would stay

  /// Counts what goes and what stays, and changes nothing.
  package mutating func plan(_ checkCancelled: () throws -> Void) throws {
    try countRows()
    try forEachObject(checkCancelled) { chain, _, _, _ in try count(chain) }
    try checkIsMet()
  }

  private mutating func countRows() throws {
    (outcome, written) = (Outcome(), 0)
    for range in rows.ranges {
      var select = try SQL(db, Statements.selectRowSizes)
      try select.bind(range.lowerBound)
      try select.bind(range.upperBound)
      guard try select.step() else { continue }
      written += select.int(0)
      outcome.bytes += select.int(1)
    }
  }

  /// What no object leads to would go for good; a repair finds it as long as it is there.
  private func checkIsMet() throws {
    guard outcome.entries != written else { return }
    throw MagicDataError(
      .notADatabase,
      """
      the database is damaged: of \(written) entries of the history that is to be given up objects lead to \(outcome.entries). Nothing was changed. \
      Run magic-replay verify, which says what to do
      """)
  }

  private mutating func count(_ chain: Chain) throws {
    outcome.entries += chain.below
    for link in chain.links {
      guard let kept = link.kept else { continue }
      outcome.keptEntries += 1
      outcome.keptBytes += link.encoded(kept).count + 2
    }
  }

  /// What stays of an object's entries, as they are chained. Of values it has those that are kept.
  private struct Chain {
    /// Where the object leads to as yet.
    let last: EntryPlace
    /// How many entries lie at or below the floor, kept or not.
    var below = 0
    var links: [Link] = []
  }

  /// An entry that stays.
  private struct Link {
    let place: EntryPlace
    let zIndex: Int64
    let previous: EntryPlace
    /// What stays of one at or below the floor.
    let kept: Entry?

    func encoded(_ entry: Entry, previous: EntryPlace? = nil) -> [UInt8] {
      var writer = ByteWriter()
      StoredEntry(entry: entry, zIndex: zIndex, previous: previous ?? self.previous).encode(to: &writer)
      return writer.bytes
    }
  }

  /// Objects of which something lies at or below the floor.
  private func forEachObject(
    _ checkCancelled: () throws -> Void, _ body: (Chain, ObjectKey, _ zIndex: Int64, ObjectTable) throws -> Void
  ) throws {
    for type in reader.schema.types {
      let table = ObjectTable(type, db)
      for (key, place) in try table.rows() + table.absent() where !place.last.isNone {
        try checkCancelled()
        if let chain = try chain(from: place.last, type) { try body(chain, key, place.zIndex, table) }
      }
    }
  }

  /// `nil` if nothing of it lies at or below the floor.
  private func chain(from last: EntryPlace, _ type: StoredType) throws -> Chain? {
    var before = ObjectState()
    var revivals: [(Entry.Operation, Version)] = []
    var (isBelow, hasDoubles) = (false, false)
    let entries = try WalkedEntries(reader, from: last) { place, version, stored in
      guard rows.contains(place.row) else { return }
      isBelow = true
      guard !doubles.contains(place.row) else {
        hasDoubles = true
        return
      }
      let operation = stored.entry.operation
      before.fold(operation, stored.entry.fields, at: version, of: type.schema)
      if case .revival = operation { revivals.append((operation, version)) }
    }
    guard isBelow else { return nil }
    if hasDoubles { try checkDoubles(entries, type) }
    var keeping = KeptEntries(before, of: revivals)
    var (found, after) = (Chain(last: last), ObjectState())
    try entries.walk { place, version, stored in
      var kept: Entry?
      if rows.contains(place.row) {
        found.below += 1
        guard !doubles.contains(place.row) else { return }
        kept = keeping.kept(stored.entry, at: version, of: type.schema)
        guard let kept else { return }
        after.fold(kept.operation, kept.fields, at: version, of: type.schema)
      }
      found.links.append(Link(place: place, zIndex: stored.zIndex, previous: stored.previous, kept: kept))
    }
    guard after.isSame(as: before) else {  // K-3
      throw MagicDataError(
        .failed, "an object of type \(type.schema.name) would not be the same without its history; nothing was compacted")
    }
    return found
  }

  /// The object is the same without what is held twice.
  private func checkDoubles(_ entries: WalkedEntries, _ type: StoredType) throws {
    var (all, left) = (ObjectState(), ObjectState())
    try entries.walk { place, version, stored in
      all.fold(stored.entry.operation, stored.entry.fields, at: version, of: type.schema)
      guard !doubles.contains(place.row) else { return }
      left.fold(stored.entry.operation, stored.entry.fields, at: version, of: type.schema)
    }
    guard left.isSame(as: all) else {
      throw MagicDataError(.failed, "what is held twice is not the same twice; nothing was changed")
    }
  }

  // MARK: Doing it

  /// - Returns: the same outcome as `plan` has.
  package mutating func run(_ checkCancelled: () throws -> Void) throws {
    try countRows()
    try db.execute(sql: Statements.createSurvivors)
    try forEachObject(checkCancelled) { chain, key, zIndex, table in
      try count(chain)
      try relink(chain, key, zIndex, table)
    }
    try checkIsMet()
    try writeRows(checkCancelled)
    try db.execute(sql: Statements.dropSurvivors)
    try DatabaseState(db).keepClock(db)
    try writeRuns()
    try writeFloor()
  }

  /// Raises the floor alone: what is kept is as it should be.
  package func raise() throws {
    try writeRuns()
    try writeFloor()
  }

  /// Each entry that stays names the one before it that stays.
  private func relink(_ chain: Chain, _ key: ObjectKey, _ zIndex: Int64, _ table: ObjectTable) throws {
    for (index, link) in chain.links.enumerated() {
      let previous = index + 1 < chain.links.count ? chain.links[index + 1].place : .none
      if let kept = link.kept {
        var insert = try SQL(db, Statements.insertSurvivor)
        try insert.bind(link.place.row)
        try insert.bind(link.place.index)
        try insert.bind(link.encoded(kept, previous: previous))
        try insert.run()
      } else if previous != link.previous {
        try reader.link(RowLinks(of: link.place.index, previous), inRow: link.place.row)
      }
    }
    guard let last = chain.links.first, last.place != chain.last else { return }
    try table.setLast(key, ObjectPlace(zIndex: zIndex, last: last.place))
  }

  private func writeRows(_ checkCancelled: () throws -> Void) throws {
    // The last row stays, or its number would be given again.
    let lastRow = try DatabaseState(db).lastRow
    for range in rows.ranges {
      try checkCancelled()
      var delete = try SQL(db, Statements.deleteRowsWithoutSurvivors)
      try delete.bind(range.lowerBound)
      try delete.bind(range.upperBound)
      try delete.bind(lastRow)
      try delete.run()
    }
    var isLastEmpty = rows.contains(lastRow)
    var open: (row: Int64, entries: [(index: Int, bytes: [UInt8])])?
    var select = try SQL(db, Statements.selectSurvivors)
    while try select.step() {
      let row = select.integer(0)
      if let done = open, done.row != row {
        try write(done.row, done.entries)
        open = nil
      }
      open = (row, (open?.entries ?? []) + [(select.int(1), select.bytes(2))])
      if row == lastRow { isLastEmpty = false }
    }
    if let open { try write(open.row, open.entries) }
    if isLastEmpty { try write(lastRow, []) }
  }

  private func write(_ row: Int64, _ entries: [(index: Int, bytes: [UInt8])]) throws {
    var update = try SQL(db, Statements.updateKeptRow)
    try update.bind(EntryRow(kept: entries).bytes.bytes)
    try update.bind(entries.count)
    try update.bind(row)
    try update.run()
  }

  private func writeRuns() throws {
    var isAfterKept = false
    for run in runs {
      guard let below = run.below else {
        // A kept run of which nothing is there has to end the one before, unless that is kept as well.
        if run.run == nil, isAfterKept { try delete(run.first) }
        isAfterKept = run.run == nil
        continue
      }
      if let live = run.run {
        var keep = try SQL(db, Statements.keepRun)
        try keep.bind(run.first)
        try keep.run()
        if below.upperBound < run.last {
          let next = live.sequence + UInt64(below.upperBound - run.first) + 1
          try JournalRun(first: below.upperBound + 1, replica: live.replica, sequence: next, isOne: false).insert(db)
        }
      }
      if isAfterKept, try !hasRows(below) { try delete(run.first) }
      isAfterKept = below.upperBound == run.last
    }
  }

  private func hasRows(_ range: ClosedRange<Int64>) throws -> Bool {
    var select = try SQL(db, Statements.hasRows)
    try select.bind(range.lowerBound)
    try select.bind(range.upperBound)
    return try select.step()
  }

  private func delete(_ run: Int64) throws {
    var delete = try SQL(db, Statements.deleteRun)
    try delete.bind(run)
    try delete.run()
  }

  private func writeFloor() throws {
    for replica in floor.replicas {
      guard let end = floor[replica] else { continue }
      var set = try SQL(db, Statements.setFloor)
      try set.bind(JournalWriter.row(of: replica, db))
      try set.bind(Int64(end.sequence))
      try set.bind(end.name.stamp)
      try set.bind(Int64(end.name.tag))
      try set.run()
    }
  }
}
