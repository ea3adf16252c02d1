internal import GRDB
internal import MagicJournal

extension LocalTransaction {
  /// Adds or updates one object.
  mutating func save(_ object: ObjectSave, as type: MappedType) throws -> SavedObject {
    try prepare()
    let table = ObjectTable(type.stored, db)
    if let record = object.record(in: store), let saved = try update(object, record, type, table) { return saved }
    // What was fetched from another database, or as another object, is as good as made by the app.
    let object = object.record == nil ? object : object.allEdited
    guard let primary = object.primary else { return try create(object, nil, type, table) }
    return try meet(object, .primary(primary), type, table)
  }

  /// A fetched instance: what was set since is what changed (J-8). `nil` if this database never knew the object.
  private mutating func update(
    _ object: ObjectSave, _ record: ObjectSave.Record, _ type: MappedType, _ table: ObjectTable
  ) throws -> SavedObject? {
    let changes = type.fields(of: object.changed, object)
    var zIndex = record.zIndex
    if try !table.update(zIndex, record.key, changes) {
      // In a copy of the database file the z index may by now be another object's.
      let alive = try table.zIndex(of: record.key)
      guard let own = try alive ?? table.absentZIndex(of: record.key) else { return nil }
      zIndex = own
      guard alive != nil else {
        try revive(object, changes, record.key, zIndex, type, table)
        return SavedObject(zIndex: zIndex, key: record.key, extent: .changes)
      }
      _ = try table.update(zIndex, record.key, changes)
    }
    if !changes.isEmpty {
      try append(Entry(type: type.stored.id, key: record.key, operation: .update, fields: changes), zIndex: zIndex)
    }
    return SavedObject(zIndex: zIndex, key: record.key, extent: .changes)
  }

  /// The object of a fetched instance was removed meanwhile: everything as it was before, with the changes over it (J-9).
  private mutating func revive(
    _ object: ObjectSave, _ changes: [FieldValue], _ key: ObjectKey, _ zIndex: Int64, _ type: MappedType, _ table: ObjectTable
  ) throws {
    let reader = try JournalReader(db)
    let remove = try reader.lastRemove(of: zIndex, type: type.stored.id, by: state.replicaRow)
    // An instance that nobody changed does not undo what another replica removed.
    if changes.isEmpty, let remove, !remove.isOwn { return }
    let stored = reader.schema.types[type.stored.id]
    // By name: what competes with a change under another kind gives way (M-2).
    var values: [Int: FieldValue] = [:]
    for field in type.fields(of: object.present, object) { values[stored.schema.slots[field.field]] = field }
    for write in try reader.state(of: zIndex, type: stored.id).values {
      values[stored.schema.slots[write.field]] = FieldValue(field: write.field, value: write.value)
    }
    for field in changes { values[stored.schema.slots[field.field]] = field }
    let fields = values.values.sorted { $0.field < $1.field }
    try ObjectTable(stored, db).insert(key, fields, zIndex: zIndex)
    try append(
      Entry(type: type.stored.id, key: key, operation: remove.map { .revival(base: $0.stamp) } ?? .update, fields: fields),
      zIndex: zIndex)
  }

  /// An instance that the app made, with a primary value that may be held here.
  private mutating func meet(
    _ object: ObjectSave, _ key: ObjectKey, _ type: MappedType, _ table: ObjectTable
  ) throws -> SavedObject {
    let row = try FetchedRows(type, db, key: key, complete: false)
    guard row.count == 1 else { return try create(object, key, type, table) }
    var changed = PropertySet()
    for index in object.values.indices where object.edited.contains(index) && object.values[index] != row.values[index] {
      changed.insert(index)
    }
    let changes = type.fields(of: changed, object)
    if !changes.isEmpty {
      _ = try table.update(row.zIndexes[0], key, changes)
      try append(Entry(type: type.stored.id, key: key, operation: .update, fields: changes), zIndex: row.zIndexes[0])
    }
    return SavedObject(zIndex: row.zIndexes[0], key: key, extent: .edits(row: row.values))
  }

  /// A new object, or one that the app makes again after it was removed.
  private mutating func create(
    _ object: ObjectSave, _ key: ObjectKey?, _ type: MappedType, _ table: ObjectTable
  ) throws -> SavedObject {
    let fields = type.fields(of: object.present, object)
    let operation: Entry.Operation
    var zIndex: Int64?
    if let key {
      zIndex = try table.absentZIndex(of: key)
      let remove = try zIndex.flatMap { try JournalReader(db).lastRemove(of: $0, type: type.stored.id, by: state.replicaRow) }
      operation = remove.map { .revival(base: $0.stamp) } ?? .update
    } else {
      operation = .birth
    }
    let key = key ?? .birth(Birth(transaction: name, ordinal: ordinal))
    let row = try table.insert(key, fields, zIndex: zIndex)
    let entry = Entry(type: type.stored.id, key: key, operation: operation, fields: fields)
    try append(entry, zIndex: row, isNew: zIndex == nil)
    return SavedObject(zIndex: row, key: key, extent: .all)
  }
}
