internal import GRDB
internal import GRDBSQLite
internal import MagicJournal

/// Rows on their way to instances: each is in a storage already, where most become their instance as they are. So a value goes
/// from the database to its property's slot and is never copied.
///
/// The rows of a fetch come in the order of its statement; those of a graph are added level by level.
// @unchecked: whoever has read the rows hands them on as a whole and keeps nothing of them, and what they hold is no more than
// stored values.
final class FetchedRows: @unchecked Sendable {
  // Exclusive by what it is; to check it with each access costs as much as the access.
  @exclusivity(unchecked) private(set) var places: [ObjectPlace] = []
  /// What names each object, if that is its birth; empty if the type has none such.
  @exclusivity(unchecked) private var births: [Birth?] = []
  /// Each with the values by property, as they were stored.
  @exclusivity(unchecked) private var storages: [Storage] = []
  /// The rows as instances; then there is nothing in the others.
  private var instances: InstanceBuffer?

  /// None yet.
  init() {}

  var count: Int { instances?.count ?? storages.count }

  /// Takes the instances that all rows are, if they are.
  func takeInstances() -> InstanceBuffer? { instances.take() }

  subscript(row: Int) -> FetchedRow {
    FetchedRow(storage: storages[row], place: places[row], birth: births.isEmpty ? nil : births[row])
  }

  /// These rows in the order of some z indexes, among which theirs are.
  func ordered(as order: [Int64]) -> FetchedRows {
    guard count > 1 else { return self }
    let rows = Dictionary(uniqueKeysWithValues: places.enumerated().map { ($1.zIndex, $0) })
    let ordered = FetchedRows()
    for row in order.compactMap({ rows[$0] }) { ordered.add(self[row], isNamed: !births.isEmpty) }
    return ordered
  }

  // MARK: Reading

  /// All objects of a type, of those that can be shown.
  ///
  /// - Parameter database: for whoever wants nothing but instances: they are made here, if they can be.
  convenience init(all type: MappedType, _ db: Database, asInstancesIn database: Store? = nil) throws {
    self.init()
    if try take(type.takeAll, type, db, asInstancesIn: database, { _ in }) { return }
    try select(SQL(db, type.selectAll), type, asInstancesIn: database)
  }

  /// The object with a key, if it can be shown.
  convenience init(_ type: MappedType, _ db: Database, key: ObjectKey) throws {
    self.init()
    if let row = try FetchedRow.find(key, type, db) { add(row, isNamed: type.birth != nil) }
  }

  /// The objects that a query asks for, in its order.
  convenience init(_ plan: QueryPlan, _ types: QueryTypes, _ db: Database, asInstancesIn database: Store? = nil) throws {
    self.init()
    if let numbers = types.numbers(plan), try takeParallel(numbers, types.type, db, asInstancesIn: database) { return }
    if let order = types.rowOrder(plan) {
      let query = try QueryText.taken(plan, types, in: order, db)
      let (sql, isKept) = (query.sql, query.isShared)
      if try take(sql, types.type, db, isKept: isKept, in: order, asInstancesIn: database, query.bind) { return }
    }
    try select(QueryText.objects(plan, types, db).statement(db), types.type, asInstancesIn: database)
  }

  /// The objects that a statement selects.
  convenience init(_ type: MappedType, _ select: consuming SQL) throws {
    self.init()
    try self.select(select, type)
  }

  /// The objects at some z indexes, of those that can be shown.
  convenience init(_ type: MappedType, _ db: Database, at zIndexes: [Int64]) throws {
    self.init()
    try read(type, db, at: zIndexes)
  }

  /// Adds the objects at some z indexes, of those that can be shown.
  func read(_ type: MappedType, _ db: Database, at zIndexes: [Int64]) throws {
    guard zIndexes.count > 4 else {
      for zIndex in zIndexes {
        var select = try SQL(db, type.selectByZIndex)
        try select.bind(zIndex)
        try self.select(select, type)
      }
      return
    }
    // What is not asked for is passed over.
    for batch in ZIndexBatch.all(zIndexes, spare: 1) {
      if try take(batch.isRange ? type.takeByZIndexRange : type.takeByZIndexes, type, db, of: batch, batch.bind) { continue }
      var select = try SQL(db, batch.isRange ? type.selectByZIndexRange : type.selectByZIndexes)
      try batch.bind(to: &select)
      try self.select(select, type, of: batch)
    }
  }

  /// Reads the rows of a statement that gives them out one by one, in the order that is asked for.
  private func select(
    _ select: consuming SQL, _ type: MappedType, of batch: ZIndexBatch? = nil, asInstancesIn database: Store? = nil
  ) throws {
    let instances = database.flatMap { InstanceBuffer(type.layout, in: $0) }
    try type.reads.withUnsafeBufferPointer { reads in
      var reading = RowReading(self, type, reads, instances, of: batch)
      try select.forEachRow { values in try reading.read(values) }
      self.instances = reading.instances
    }
  }

  /// Reads the rows of a statement that hands them to `RowFunction`, which takes a third less than to step from one to the
  /// next. Such a statement promises no order: it is looked whether they come in the one that is asked for.
  ///
  /// - Returns: `false` if they do not, or if there is no such statement: then nothing was read.
  private func take(
    _ sql: String?, _ type: MappedType, _ db: Database, isKept: Bool = true, in order: RowOrder = .zIndex,
    of batch: ZIndexBatch? = nil,
    asInstancesIn database: Store? = nil, _ bind: (inout SQL) throws -> Void
  ) throws -> Bool {
    guard let sql, !type.disordered.withLock({ $0.contains(sql) }) else { return false }
    var statement = try SQL(db, sql, isKept: isKept)
    try bind(&statement)
    if try take(&statement, type, db, in: order, of: batch, asInstancesIn: database) { return true }
    if isKept { type.disordered.withLock { _ = $0.insert(sql) } }
    return false
  }

  /// - Returns: `false` if the rows come in another order: then nothing was read.
  private func take(
    _ statement: inout SQL, _ type: MappedType, _ db: Database, in order: RowOrder, of batch: ZIndexBatch? = nil,
    asInstancesIn database: Store?
  ) throws -> Bool {
    let instances = database.flatMap { InstanceBuffer(type.layout, in: $0) }
    let before = storages.count
    return try type.reads.withUnsafeBufferPointer { reads in
      var reading = RowReading(self, type, reads, instances, in: order, of: batch)
      do {
        try RowFunction.run(&statement, db, &reading)
      } catch is RowsOutOfOrder {
        keepFirst(before)
        return false
      }
      self.instances = reading.instances
      return true
    }
  }

  /// Reads the objects that have each number of a range, if their z indexes follow each other as the numbers do, as those do
  /// that the database gave: without the numbers' index, which costs as much as the rows. Each statement may see another
  /// moment: the rows are all of the range if they are as many as it has numbers, and have these one after the other, whatever
  /// was found before.
  ///
  /// - Returns: `false` if they do not, or there are too few for it to be worth it: then nothing was read.
  private func takeParallel(
    _ numbers: ClosedRange<Int64>, _ type: MappedType, _ db: Database, asInstancesIn database: Store?
  ) throws -> Bool {
    let (distance, isFar) = numbers.upperBound.subtractingReportingOverflow(numbers.lowerBound)
    guard !isFar, distance >= FetchedRows.fewestParallel, let primary = type.layout.primary,
      type.gaps.withLock({ gaps in
        defer { gaps = max(gaps - 1, 0) }
        return gaps == 0
      })
    else { return false }
    var select = try SQL(db, type.stored.selectZIndexesOfNumbers)
    try select.bind(numbers.lowerBound)
    try select.bind(numbers.upperBound)
    let ends = try select.readOnce { row in
      row.isNull(0) || row.isNull(1) ? nil : (first: row.integer(0), last: row.integer(1), hasBirths: row.integer(2) != 0)
    }
    guard let (first, last, hasBirths) = ends ?? nil, last.subtractingReportingOverflow(first) == (distance, false),
      let sql = type.stored.takeRange(type.columns, hasBirths: hasBirths)
    else { return false }
    select = try SQL(db, sql)
    try select.bind(first)
    try select.bind(last)
    let range = ParallelRange(property: primary, firstNumber: numbers.lowerBound, firstZIndex: first, hasBirths: hasBirths)
    // With fewer, the z indexes behind a gap are wrong.
    if try take(&select, type, db, in: .parallel(range), asInstancesIn: database), count > distance { return true }
    type.gaps.withLock { $0 = FetchedRows.parallelPause }
    instances = nil
    keepFirst(0)
    return false
  }

  /// Below it, to look for the first and the last takes longer than it saves; and after one in vain it is tried again once in
  /// so many times.
  private static let (fewestParallel, parallelPause) = (64 as Int64, 32)

  private func keepFirst(_ count: Int) {
    storages.removeLast(storages.count - count)
    places.removeLast(places.count - count)
    births.removeLast(max(births.count - count, 0))
  }

  func add(_ row: FetchedRow, isNamed: Bool) {
    storages.append(row.storage)
    places.append(row.place)
    if isNamed { births.append(row.birth) }
  }
}
