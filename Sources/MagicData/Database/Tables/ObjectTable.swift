package import GRDB
package import MagicJournal

/// Where an object is in this database.
package struct ObjectPlace: Sendable, Equatable {
  package let zIndex: Int64
  /// Where its chain of entries begins (J-18); nowhere also if that is not known.
  package let last: EntryPlace

  package init(zIndex: Int64, last: EntryPlace) {
    self.zIndex = zIndex
    self.last = last
  }
}

/// The rows of one type's objects: what local writes and merges do to them.
///
/// An object that was ever named here has a z index for good: in its row, or, while it has none, in `magic_absent`.
package struct ObjectTable {
  package let type: StoredType
  let db: Database

  package init(_ type: StoredType, _ db: Database) {
    self.type = type
    self.db = db
  }

  /// The place of an object that has a row.
  package func place(of key: ObjectKey) throws -> ObjectPlace? {
    var select = try SQL(db, type.selectZIndex(key))
    try select.bind(key.value)
    return try select.step() ? ObjectPlace(zIndex: select.integer(0), last: select.place(1)) : nil
  }

  /// The place of an object that has entries and no row.
  package func absentPlace(of key: ObjectKey) throws -> ObjectPlace? {
    var select = try SQL(db, Statements.selectAbsent)
    try select.bind(type.id)
    try select.bind(key.value)
    return try select.step() ? ObjectPlace(zIndex: select.integer(0), last: select.place(1)) : nil
  }

  /// The last entry of an object that has a row at a z index; `nil` if it has none there.
  package func last(of zIndex: Int64, _ key: ObjectKey) throws -> EntryPlace? {
    var select = try SQL(db, type.selectLast(isBirth: key.isBirth))
    try select.bind(zIndex)
    try select.bind(key.value)
    if try select.step() { return select.place(0) }
    try checkName(ofRow: zIndex)
    return nil
  }

  /// A row that is not an object's is nobody's or another's; one whose name cannot be read is an error, not another object's.
  private func checkName(ofRow zIndex: Int64) throws { _ = try key(ofRow: zIndex) }

  /// The objects that have the next rows behind a z index.
  package func neighbours(behind zIndex: Int64, atMost count: Int) throws -> RowReadAhead {
    var select = try SQL(db, type.selectKeysAfter)
    try select.bind(zIndex)
    try select.bind(count)
    var neighbours = RowReadAhead(atMost: count)
    while try !neighbours.isFull && select.step() {
      let place = ObjectPlace(zIndex: select.integer(0), last: select.place(2))
      select.withBytes(1) { neighbours.append($0, isText: $1, place) }
    }
    return neighbours
  }

  /// For a new object: no object here ever had it (J-17). SQLite would count on from the highest row, and give out anew what a
  /// removed object has.
  package func nextZIndex() throws -> Int64 {
    var select = try SQL(db, type.selectHighestZIndex)
    try select.bind(type.id)
    guard try select.step() else { return 1 }
    let highest = max(select.isNull(0) ? 0 : select.integer(0), select.isNull(1) ? 0 : select.integer(1))
    // Those of one transaction are counted on from here.
    guard highest < .max - Int64(Limits.entries) else {
      throw MagicDataError(
        .tooLarge, "table \(type.table) has no z index left above the highest; give the object at \(highest) another")
    }
    return highest + 1
  }

  func hasRows() throws -> Bool {
    var select = try SQL(db, type.selectAny)
    return try select.step()
  }

  /// All objects that have a row, in the order of their z indexes.
  package func rows() throws -> [(key: ObjectKey, place: ObjectPlace)] {
    var rows: [(key: ObjectKey, place: ObjectPlace)] = []
    try forEachRow { rows.append(($0, $1)) }
    return rows
  }

  /// Visits the rows one by one, for callers that change nothing meanwhile.
  package func forEachRow(_ body: (ObjectKey, ObjectPlace) throws -> Void) throws {
    var select = try SQL(db, type.selectKeys)
    while try select.step() {
      let key = try ObjectKey(value: select.value(1, type.keyKind), of: type.schema)
      try body(key, ObjectPlace(zIndex: select.integer(0), last: select.place(2)))
    }
  }

  /// Every object that was ever named, with a row or without.
  package func forEachPlace(_ body: (ObjectKey, ObjectPlace) throws -> Void) throws {
    try forEachRow(body)
    try forEachAbsent(body)
  }

  /// Whether there are objects that have a z index and no row.
  package func hasAbsent() throws -> Bool {
    var select = try SQL(db, Statements.hasAbsent)
    try select.bind(type.id)
    return try select.step()
  }

  /// All objects that have a z index and no row.
  package func absent() throws -> [(key: ObjectKey, place: ObjectPlace)] {
    var rows: [(key: ObjectKey, place: ObjectPlace)] = []
    try forEachAbsent { rows.append(($0, $1)) }
    return rows
  }

  /// Visits the objects without a row one by one, for callers that change nothing meanwhile.
  package func forEachAbsent(_ body: (ObjectKey, ObjectPlace) throws -> Void) throws {
    var select = try SQL(db, Statements.selectAllAbsent)
    try select.bind(type.id)
    while try select.step() {
      let key = try ObjectKey(value: select.value(0, type.keyKind), of: type.schema)
      try body(key, ObjectPlace(zIndex: select.integer(1), last: select.place(2)))
    }
  }

  /// The row of an object that was never named here; `nil` if it has one.
  ///
  /// - Parameters:
  ///   - isWhole: whether every object of the type has a row, and the new one names no others than `links` do.
  ///   - links: by field what the new one is known to hold, in place of looking for it.
  package func insert(
    new key: ObjectKey, _ fields: [FieldValue], last: EntryPlace, isWhole: Bool = false, links: [Int: [Link]] = [:]
  ) throws -> Int64? {
    try insert(RowName(key), fields, nil, last, isWhole: isWhole, links)
  }

  /// - Parameters:
  ///   - zIndex: `nil` for the next one.
  ///   - isWhole: whether no object without a row can have the one above the highest row, which SQLite gives then.
  private func insert(
    _ name: RowName, _ fields: [FieldValue], _ zIndex: Int64?, _ last: EntryPlace, isWhole: Bool = false,
    _ links: [Int: [Link]] = [:]
  ) throws -> Int64? {
    // Objects that it names and that are unknown get z indexes, too.
    let columns = try columns(fields, of: name.key, at: zIndex, links)
    let zIndex = try zIndex ?? (isWhole ? nil : nextZIndex())
    var insert = try SQL(db, type.insert(columns.map(\.field)))
    if let zIndex { try insert.bind(zIndex) } else { try insert.bindNull() }
    if type.schema.hasNumbers {
      try insert.bind(name.number)
      try insert.bind(name.birth)
    } else {
      try insert.bind(name.key.value)
    }
    try insert.bind(last)
    for field in columns { try insert.bind(field.value) }
    guard try insert.run() > 0 else { return nil }
    let row = zIndex ?? db.lastInsertedRowID
    if columns.count < fields.count {
      for (field, links) in links { try self.insert(links, of: row, in: field) }
      try link(row, fields.filter { links[$0.field] == nil }, isNew: true)
    }
    return row
  }

  /// The fields that stand in columns, with z indexes in place of objects.
  private func columns(
    _ fields: [FieldValue], of owner: ObjectKey, at zIndex: Int64?, _ links: [Int: [Link]] = [:]
  ) throws -> [FieldValue] {
    guard type.hasRelations else { return fields }
    return try fields.compactMap { field in
      guard let relation = type.relations[field.field] else { return field }
      guard !relation.kind.isLinked else { return nil }
      guard case .reference(let key) = field.value else { return field }
      if let link = links[field.field]?.first { return FieldValue(field: field.field, value: .integer(link.target)) }
      // The owner's own row may not be there at the moment.
      let isOwner = relation.target.id == type.id && key == owner
      let target = try (isOwner ? zIndex : nil) ?? self.zIndex(of: key, in: relation.target)
      return FieldValue(field: field.field, value: .integer(target))
    }
  }

  /// The row of a new object, or of one that is back, under the z index that it had.
  ///
  /// - Parameters:
  ///   - number: of an object that is named by its birth.
  ///   - isWhole, links: as of a new one.
  @discardableResult
  package func insert(
    _ key: ObjectKey, _ fields: [FieldValue], number: Int64? = nil, zIndex: Int64?, last: EntryPlace, isWhole: Bool = false,
    links: [Int: [Link]] = [:]
  ) throws -> Int64 {
    // Whoever refers to itself is known by its z index beforehand.
    let zIndex = try zIndex ?? (refersToItself(key, fields) ? reserve(key).zIndex : nil)
    guard let row = try insert(RowName(key, number), fields, zIndex, last, isWhole: isWhole, links) else {
      throw MagicDataError(.notADatabase, "the database is damaged: a row is where another object's should be")
    }
    guard let zIndex else { return row }
    var delete = try SQL(db, Statements.deleteAbsent)
    try delete.bind(type.id)
    try delete.bind(key.value)
    try delete.run()
    return zIndex
  }

  private func refersToItself(_ key: ObjectKey, _ fields: [FieldValue]) -> Bool {
    fields.contains { $0.value == .reference(key) && type.relations[$0.field]?.target.id == type.id }
  }

  /// - Parameters:
  ///   - next: where the entry of this update goes.
  ///   - own: from here on entries are the transaction's own, and an object that has one stays with that.
  /// - Returns: the object's last entry before; `nil` if it has no row at this z index, and nothing was written.
  package func update(
    _ zIndex: Int64, _ key: ObjectKey, _ fields: [FieldValue], next: EntryPlace, own: EntryPlace? = nil
  ) throws -> EntryPlace? {
    let columns = try columns(fields, of: key, at: zIndex)
    var update = try SQL(db, type.update(columns.map(\.field), among: fields.map(\.field), isBirth: key.isBirth))
    var entry = NextEntry(at: next, own: own)
    try withUnsafeMutablePointer(to: &entry) { entry in
      try update.bind(entry)
      for field in columns { try update.bind(field.value) }
      try update.bind(zIndex)
      try update.bind(key.value)
      _ = try update.runOnce()
    }
    guard let last = entry.last else {
      try checkName(ofRow: zIndex)
      return nil
    }
    if type.hasLinks { try link(zIndex, fields) }
    return last
  }

  /// The row of an object as a fold has it, whether it had one or not.
  ///
  /// - Parameter claim: what the object has claimed, if it is named by its birth.
  package func replace(_ key: ObjectKey, _ fields: [FieldValue], claim: Int64?, _ place: ObjectPlace) throws {
    let number = try number(of: key, claim: claim)
    // While it has no row, its z index could be given to an object that it refers to.
    _ = try columns(fields, of: key, at: place.zIndex)
    var delete = try SQL(db, type.delete)
    try delete.bind(place.zIndex)
    try delete.run()
    try unlink(place.zIndex)
    try insert(key, fields, number: number, zIndex: place.zIndex, last: place.last)
  }

  /// Takes the row away, if there is one, and keeps the z index.
  package func remove(_ key: ObjectKey, _ place: ObjectPlace) throws {
    var delete = try SQL(db, type.delete)
    try delete.bind(place.zIndex)
    try delete.run()
    try unlink(place.zIndex)
    try keepAbsent(key, place)
  }

  /// Another last entry of an object, of which nothing else changes.
  package func setLast(_ key: ObjectKey, _ place: ObjectPlace) throws {
    var update = try SQL(db, type.updateLast)
    try update.bind(place.last)
    try update.bind(place.zIndex)
    if try update.run() == 0 { try keepAbsent(key, place) }
  }

  /// A z index for an object that has none and gets no row: nobody else may ever have it.
  package func reserve(_ key: ObjectKey) throws -> ObjectPlace {
    // Of a number the row is another's.
    guard let zIndex = try insert(RowName(key, isFree: type.schema.hasNumbers), [], nil, .none) else {
      throw MagicDataError(.notADatabase, "the database is damaged: a row is where another object's should be")
    }
    let place = ObjectPlace(zIndex: zIndex, last: .none)
    try remove(key, place)
    return place
  }

  /// An object that has no row has this place.
  package func keepAbsent(_ key: ObjectKey, _ place: ObjectPlace) throws {
    var insert = try SQL(db, Statements.insertAbsent)
    try insert.bind(type.id)
    try insert.bind(key.value)
    try insert.bind(place.zIndex)
    try insert.bind(place.last)
    try insert.run()
  }
}

/// What a row says of its object's name.
private struct RowName {
  let key: ObjectKey
  let number: Value
  let birth: Value

  /// - Parameter isFree: the row is there for its z index alone.
  init(_ key: ObjectKey, _ number: Int64? = nil, isFree: Bool = false) {
    self.key = key
    switch key {
    case .primary(let value): (self.number, birth) = (isFree ? .null : value, .null)
    case .birth(let birth):
      (self.number, self.birth) = (number.map { .integer($0) } ?? .null, isFree ? .null : .bytes(birth.bytes))
    }
  }
}
