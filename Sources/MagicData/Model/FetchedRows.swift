internal import GRDB
internal import GRDBSQLite
internal import MagicJournal

/// Rows on their way to instances: each is in a storage already, where most become their instance as they are. So a value goes from the database to its
/// property's slot and is never copied.
///
/// The rows of a fetch come in the order of its statement; those of a graph are added level by level.
// @unchecked: whoever has read the rows hands them on as a whole and keeps nothing of them, and what they hold is no more than stored values.
final class FetchedRows: @unchecked Sendable {
  // Exclusive by what it is; to check it with each access costs as much as the access.
  @exclusivity(unchecked) private(set) var places: [ObjectPlace] = []
  /// Of objects that are named by their births; empty if the type has none such.
  @exclusivity(unchecked) private var births: [Birth?] = []
  /// Each with the values by property, as they were stored.
  @exclusivity(unchecked) private var storages: [Storage] = []
  /// The same rows as instances; then there is nothing in the others.
  private var instances: InstanceBuffer?

  /// None yet.
  init() {}

  var count: Int { instances?.count ?? storages.count }

  /// Takes the instances that all rows are, if they are.
  func takeInstances() -> InstanceBuffer? { instances.take() }

  func birth(_ row: Int) -> Birth? { births.isEmpty ? nil : births[row] }

  /// A row's storage. What it has by property may be moved out if something else is left in its place.
  subscript(row: Int) -> Storage { storages[row] }

  /// A row's values, of which none was taken.
  func stored(_ row: Int) throws -> [Value] {
    let storage = storages[row]
    return try (0..<storage.header.count).map { try storage[$0].slot.value() ?? .null }
  }

  /// The same rows in the order of some z indexes, among which theirs are.
  func ordered(as order: [Int64]) -> FetchedRows {
    guard count > 1 else { return self }
    let rows = Dictionary(uniqueKeysWithValues: places.enumerated().map { ($1.zIndex, $0) })
    let ordered = FetchedRows()
    for row in order.compactMap({ rows[$0] }) { ordered.add(storages[row], places[row], birth(row), isNamed: !births.isEmpty) }
    return ordered
  }

  // MARK: Reading

  /// The rows of a statement, of the objects that can be shown.
  ///
  /// - Parameter database: for whoever wants nothing but instances: they are made here, if they can be.
  convenience init(_ type: MappedType, _ select: consuming SQL, asInstancesIn database: Store? = nil) throws {
    self.init()
    instances = database.flatMap { InstanceBuffer(type.layout, in: $0) }
    try read(&select, type)
  }

  /// The object with a key, if it can be shown, or is asked for whether it can or not.
  convenience init(_ type: MappedType, _ db: Database, key: ObjectKey, mayBeIncomplete: Bool = false) throws {
    self.init()
    var select = try SQL(db, type.selectByKey)
    try select.bind(key.value)
    try read(&select, type, last: type.last, mayBeIncomplete: mayBeIncomplete)
  }

  /// The objects that a query asks for, in its order.
  convenience init(_ type: MappedType, _ db: Database, _ query: QueryText, asInstancesIn database: Store? = nil) throws {
    try self.init(type, query.statement(db), asInstancesIn: database)
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
        try read(&select, type)
      }
      return
    }
    // What is not asked for is passed over.
    for batch in ZIndexBatch.all(zIndexes, spare: 1) {
      var select = try SQL(db, batch.isRange ? type.selectByZIndexRange : type.selectByZIndexes)
      try batch.bind(to: &select)
      try read(&select, type, of: batch)
    }
  }

  /// - Parameters:
  ///   - last: where the last entry is, if it is there.
  ///   - batch: whose rows come by rising z indexes, and others among them.
  private func read(
    _ select: inout SQL, _ type: MappedType, last: Int32? = nil, mayBeIncomplete: Bool = false, of batch: ZIndexBatch? = nil
  ) throws {
    let (reads, former, birth, hasNumbers) = (type.reads, type.former, type.birth, type.hasNumbers)
    let (fetches, first) = (type.layout.fetches, type.layout.firstPlace ?? .unknown)
    // Each look at a property would count who uses it.
    var (instances, batch) = (instances, batch)
    var (open, room): (Storage?, Storage.Room?)
    while try select.step() {
      let zIndex = select.integer(0)
      if batch?.takes(zIndex) == false { continue }
      let born = try birth.flatMap { hasNumbers && select.isNull($0) ? nil : try select.birth($0) }
      let place = ObjectPlace(zIndex: zIndex, last: last.map { select.place($0) } ?? .none)
      if room?.isFull != false {
        open = instances?.next() ?? Storage.make(room: 1, of: reads.count, first)
        room = open?.room
      }
      guard let vacancy = room else { preconditionFailure("rows have a storage") }
      let properties = vacancy.vacant
      // Both are asked here, while the value is at hand: SQLite would read each column twice to tell that one is lacking.
      var (isIncomplete, isHeld) = (false, true)
      for index in 0..<reads.count {
        let (slot, isPlain) = reads[index].column < 0 ? (.null, false) : select.slot(reads[index])
        if !isPlain {
          if case .null = slot, reads[index].isRequired { isIncomplete = true }
          if !fetches[index].holds(slot) { isHeld = false }
        }
        (properties + index).initialize(
          to: Storage.Property(slot: slot, isStored: true, edits: fetches[index].initialEdits))
      }
      if !former.isEmpty {
        FetchedRows.readFormer(properties, former, select)
        (isIncomplete, isHeld) = (FetchedRows.isIncomplete(properties, reads), type.layout.holds(properties))
      }
      vacancy.take(instances?.record(place, born))
      if isIncomplete, !mayBeIncomplete {
        // One that has not all it needs is not shown (M-6).
        vacancy.dropLast()
      } else if instances == nil, let storage = open {
        add(storage, place, born, isNamed: birth != nil)
      } else if !isHeld {
        takeApart(&instances, isNamed: birth != nil)
        room = nil
      } else if instances?.isLong(properties) == true {
        instances?.isolateLast()
        room = nil
      }
    }
    // It was held until here.
    withExtendedLifetime(open) {}
  }

  /// One row cannot be an instance as it is: then all of them become instances later.
  private func takeApart(_ instances: inout InstanceBuffer?, isNamed: Bool) {
    let storages = instances?.takeStorages() ?? []
    (self.instances, instances) = (nil, nil)
    for storage in storages {
      guard let record = storage.part(of: 0).record else { preconditionFailure("an instance of a row has a record") }
      add(storage, record.place, record.birth, isNamed: isNamed)
    }
  }

  private static func isIncomplete(_ row: UnsafeMutablePointer<Storage.Property>, _ reads: [ColumnRead]) -> Bool {
    for index in 0..<reads.count where reads[index].isRequired {
      if case .null = row[index].slot { return true }
    }
    return false
  }

  private static func readFormer(
    _ row: UnsafeMutablePointer<Storage.Property>, _ former: [Int: [(column: Int32, kind: FormerKind)]], _ select: borrowing SQL
  ) {
    for (index, kinds) in former {
      for (column, kind) in kinds {
        guard case .null = row[index].slot else { break }
        row[index].slot = Slot(stored: kind.readable(select.value(column, kind.kind)))
      }
    }
  }

  private func add(_ storage: Storage, _ place: ObjectPlace, _ birth: Birth?, isNamed: Bool) {
    storages.append(storage)
    places.append(place)
    if isNamed { births.append(birth) }
  }
}

/// Where in a row a property's value stands, and what it is read as.
struct ColumnRead: Sendable {
  /// Negative for what stands in no column.
  let column: Int32
  let kind: Value.Kind
  let isUUID: Bool
  /// Whether an object without it is not shown.
  let isRequired: Bool
  /// SQLite's type of values that the property's slot holds whatever they are; 0, which is none, if it has to be looked at them.
  let plain: Int32

  init(column: Int32, kind: Value.Kind, _ codec: Codec, isRequired: Bool) {
    (self.column, self.kind, self.isRequired) = (column, kind, isRequired)
    isUUID = if case .uuid = codec { true } else { false }
    plain =
      switch codec {
      case .integer where Int.bitWidth == 64: SQLITE_INTEGER
      case .real, .date: SQLITE_FLOAT
      case .text: SQLITE_TEXT
      case .integer, .bool, .uuid, .held: 0
      }
  }
}
