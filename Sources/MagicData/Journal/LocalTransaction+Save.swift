internal import GRDB
internal import MagicJournal

extension LocalTransaction {
  /// Adds or updates one object.
  ///
  /// - Parameters:
  ///   - isTaken: whether an object of its name is known to be there.
  ///   - isLinked: whether another object comes to hold it.
  mutating func save(
    _ object: ObjectSave, as type: MappedType, _ relations: SavedRelations? = nil, isTaken: Bool = false, isLinked: Bool = false
  ) throws -> SavedObject {
    let type = try current(type)
    let table = ObjectTable(type.stored, db)
    willChange(type.stored)
    if let record = object.record(in: store), let saved = try update(object, record, type, table, relations, isLinked) {
      return saved
    }
    let isUnknown = object.record(in: store) == nil
    // What was fetched from another database, or as another object, is as good as made by the app.
    let isAutomatic = object.hasForeignNumber(in: store)
    var object = object.record == nil ? object : object.allEdited
    var number: Int64?
    if let removed = object.removed, removed.database == store {
      // Its number may be another object's by now.
      number = try self.number(of: removed.birth, table)
      object = object.with { $0.primary = number.map { .integer($0) } }
    }
    let (new, links) = try resolved(object, against: .nothing, type, relations)
    // All that somebody unknown holds was looked for, or saved, just now.
    let held = isUnknown ? type.byField(links) : [:]
    var saved: SavedObject
    if let primary = object.primary, !isAutomatic {
      if !isTaken, let saved = try createNew(new, .primary(primary), type, table, links, held) { return saved }
      if var saved = try meet(object, .primary(primary), type, table, relations) {
        saved.number = number
        return saved
      }
      saved = try create(new, try table.named(by: .primary(primary)), type, table, held)
      saved.number = number
    } else {
      saved = try create(new, nil, type, table, held)
    }
    saved.links = links
    return saved
  }

  /// Adds or updates objects that hold no others.
  mutating func save(_ objects: [ObjectSave], as type: MappedType) throws -> [SavedObject] {
    try willSave(objects) { _ in type }
    return try objects.map { try save($0, as: type) }
  }

  /// The number that an object has, if it is known here.
  private mutating func number(of birth: Birth, _ table: ObjectTable) throws -> Int64? {
    if let place = try table.place(of: .birth(birth)) { return try table.number(at: place.zIndex) }
    guard let absent = try table.absentPlace(of: .birth(birth)), !absent.last.isNone else { return nil }
    return try table.number(of: .birth(birth), claim: reader().state(from: absent.last, of: table.type.id).claim)
  }

  /// A fetched instance: what was set since is what changed (J-8). `nil` if this database never knew the object.
  private mutating func update(
    _ object: ObjectSave, _ record: ObjectSave.Record, _ type: MappedType, _ table: ObjectTable, _ relations: SavedRelations?,
    _ isLinked: Bool
  ) throws -> SavedObject? {
    let key = record.key
    var (known, links) = try resolved(object, against: .stored(record.place.zIndex), type, relations)
    var changes = type.fields(of: known.changed, known)
    var place = try write(changes, key, at: record.place.zIndex, table)
    if place == nil, let row = try table.place(of: key) {
      // In a copy of the database file the z index may by now be another object's, and so may what was read there.
      (known, links) = try resolved(object, against: .stored(row.zIndex), type, relations)
      changes = type.fields(of: known.changed, known)
      place = try write(changes, key, row, table)
    }
    if let place { return SavedObject(place: place, key: key, extent: .changes, links: links) }
    guard let absent = try table.absentPlace(of: key) else { return nil }
    return try revive(object, changes, links, key, absent, type, relations, isLinked)
  }

  /// Writes changed fields of an object that has a row.
  mutating func write(
    _ changes: [FieldValue], _ key: ObjectKey, _ place: ObjectPlace, _ table: ObjectTable
  ) throws -> ObjectPlace {
    guard !changes.isEmpty else { return place }
    guard let now = try write(changes, key, at: place.zIndex, table) else {
      throw MagicDataError(.notADatabase, "the database is damaged: a row is not as it was read")
    }
    return now
  }

  /// Writes an object that may have its row elsewhere, or none: `nil` if that is so.
  private mutating func write(
    _ changes: [FieldValue], _ key: ObjectKey, at zIndex: Int64, _ table: ObjectTable
  ) throws -> ObjectPlace? {
    if changes.isEmpty { return try table.last(of: zIndex, key).map { ObjectPlace(zIndex: zIndex, last: $0) } }
    let next = next
    if changes.contains(where: { table.type.relations[$0.field] != nil }) { willName(table.type) }
    guard let last = try table.update(zIndex, key, changes, next: next, own: firstEntry) else { return nil }
    let entry = Entry(type: table.type.id, key: key, operation: .update, fields: changes)
    let now = ObjectPlace(zIndex: zIndex, last: hasEntry(last) ? last : next)
    if hasEntry(last) {
      try join(entry, at: last)
    } else {
      try append(entry, zIndex: zIndex, previous: last)
    }
    if table.type.needsFold(changes) {
      let state = try reader().state(from: now.last, of: table.type.id)
      try table.replace(key, state.row, claim: state.claim, now)
    }
    return now
  }

  /// The object of a fetched instance was removed meanwhile: everything as it was before, with the changes over it (J-9).
  private mutating func revive(
    _ object: ObjectSave, _ changes: [FieldValue], _ links: [Int: [Link]], _ key: ObjectKey, _ absent: ObjectPlace,
    _ type: MappedType, _ relations: SavedRelations?, _ isLinked: Bool
  ) throws -> SavedObject {
    let reader = try reader()
    let remove = try reader.lastRemove(from: absent.last, by: state.replicaRow, since: firstEntry)
    // An instance that nobody changed does not undo what another replica removed, unless it comes to be held by another object.
    // Nothing is known yet of relations that wait for other objects, or that the instance never fetched.
    let mayDiffer = object.relations.contains {
      object.edited.contains($0.index) && ($0.baseline == nil || relations?.late.contains($0.index) ?? false)
    }
    if changes.isEmpty, !mayDiffer, !isLinked, let remove, !remove.isOwn {
      return SavedObject(place: absent, key: key, extent: .changes, links: links)
    }
    let stored = reader.schema.types[type.stored.id]
    let (state, known) = try removed(absent, of: stored, reader)
    // What the instance shows may be a default (J-12), or void by now. It counts if the journal has nothing: of one that this
    // very transaction has made and removed, or that was purged (J-9).
    var (fields, whole): ([FieldValue], [Int: [Link]]?) = (known, nil)
    if state.updated == nil || state.isPurged {
      if state.isPurged { try checkKnown(object, type, beside: fields) }
      let (all, links) = try resolved(object, against: .nothing, type, relations)
      fields = type.fields(of: all.present, all).overlaid(by: fields, of: stored.schema)
      if state.isPurged { whole = links }
    }
    let entry = Entry(
      type: stored.id, key: key, operation: remove.map { .revival(base: $0.stamp) } ?? .update, fields: fields)
    let table = ObjectTable(stored, db)
    var place = try insert(entry, absent, number: try table.number(of: key, claim: state.claim), table)
    // Now that it has a row, what the instance holds is told from that like any other's.
    let (changed, links) = try resolved(object, against: .stored(place.zIndex), type, relations)
    place = try write(type.fields(of: changed.changed, changed), key, place, table)
    return SavedObject(place: place, key: key, extent: whole == nil ? .changes : .all, links: whole ?? links)
  }

  /// An instance that the app made, with a primary value that is held here; `nil` if it is not.
  private mutating func meet(
    _ object: ObjectSave, _ key: ObjectKey, _ type: MappedType, _ table: ObjectTable, _ relations: SavedRelations?
  ) throws -> SavedObject? {
    guard let row = try FetchedRow.find(key, type, db, mayBeIncomplete: true) else { return nil }
    let stored = try row.stored()
    // Whoever has the number is meant (J-28).
    let key = row.birth.map { .birth($0) } ?? key
    let edited = object.edited
    let (object, links) = try resolved(object, against: .row(row.place.zIndex), type, relations)
    var changed = PropertySet()
    for index in object.values.indices where object.edited.contains(index) {
      // Of objects only what differs from the row is left.
      if type.layout.properties[index].relation != nil || object.values[index] != stored[index] { changed.insert(index) }
    }
    let place = try write(type.fields(of: changed, object), key, row.place, table)
    return SavedObject(place: place, key: key, extent: .edits(row: stored, edited: edited), links: links)
  }

  /// Mostly an object that the app made is new: this asks for nothing beforehand. `nil` if it may be held or was removed.
  ///
  /// - Parameter held: the links by field, if they are known to be right.
  private mutating func createNew(
    _ object: ObjectSave, _ key: ObjectKey, _ type: MappedType, _ table: ObjectTable, _ links: [Int: [Link]],
    _ held: [Int: [Link]]
  ) throws -> SavedObject? {
    guard try !hasAbsent(table), object.missing.isEmpty else { return nil }
    let fields = type.fields(of: object.present, object)
    let last = next
    let isWhole = try isRowNext(table, fields, held)
    guard let zIndex = try table.insert(new: key, fields, last: last, isWhole: isWhole, links: held) else { return nil }
    didSet(key, table)
    try append(Entry(type: type.stored.id, key: key, operation: .update, fields: fields), zIndex: zIndex, previous: .none)
    return SavedObject(place: ObjectPlace(zIndex: zIndex, last: last), key: key, extent: .all, links: links)
  }

  /// A new object, or one that the app makes again after it was removed.
  private mutating func create(
    _ object: ObjectSave, _ key: ObjectKey?, _ type: MappedType, _ table: ObjectTable, _ held: [Int: [Link]]
  ) throws -> SavedObject {
    let absent = try key.flatMap { try table.absentPlace(of: $0) }
    // What a removed object held and its instance never asked for, the journal knows.
    let unfetched = try unfetched(object, absent, type)
    try checkKnown(object, type, beside: unfetched ?? [], knowsUnfetched: unfetched != nil)
    let fields = (unfetched ?? []).overlaid(by: type.fields(of: object.present, object), of: type.stored.schema)
    guard let key else {
      let birth = Birth(transaction: name, ordinal: ordinal)
      let number = type.stored.schema.hasNumbers ? try nextNumber(table) : nil
      if let number { try table.claim(next: Claim(number: number, birth: birth)) }
      let entry = Entry(
        type: type.stored.id, key: .birth(birth), operation: number.map { .claim(number: $0) } ?? .birth, fields: fields)
      return SavedObject(
        place: try insert(entry, nil, number: number, table, held), key: entry.key, extent: .all, number: number)
    }
    let remove = try absent.flatMap { try reader().lastRemove(from: $0.last, by: state.replicaRow, since: firstEntry) }
    let entry = Entry(
      type: type.stored.id, key: key, operation: remove.map { .revival(base: $0.stamp) } ?? .update, fields: fields)
    didSet(key, table)
    var number: Int64?
    if key.isBirth, case .integer(let set)? = object.primary { number = set }
    return SavedObject(place: try insert(entry, absent, number: number, table, held), key: key, extent: .all)
  }

  /// What is written as a whole has what it needs.
  ///
  /// - Parameter known: what the journal has of it.
  private func checkKnown(
    _ object: ObjectSave, _ type: MappedType, beside known: [FieldValue], knowsUnfetched: Bool = false
  ) throws {
    let properties = type.layout.properties
    let lacking = properties.indices.first { index in
      guard object.missing.contains(index) else { return false }
      if let field = type.fields[index], known.contains(where: { $0.field == field }) { return false }
      return object.unfetched.contains(index) ? !knowsUnfetched : properties[index].role == .required
    }
    guard let lacking else { return }
    let name = "\(type.layout.name).\(properties[lacking].name)"
    throw MagicDataError(
      .unsetValue,
      object.unfetched.contains(lacking)
        ? "\(name) holds what was never fetched from the database that it is of; set what its get() gives before the object is saved"
        : "\(name) needs an object, and the one that it had was removed; set another one before the object is saved")
  }

  /// `nil` if it is another object that would have to be asked, or one of which the journal has nothing: this very transaction
  /// has made it, or it was purged.
  private mutating func unfetched(_ object: ObjectSave, _ absent: ObjectPlace?, _ type: MappedType) throws -> [FieldValue]? {
    guard !object.unfetched.isEmpty else { return [] }
    guard let absent, !absent.last.isNone, absent.zIndex == object.unfetchedOf else { return nil }
    let fields = type.layout.properties.indices.compactMap { object.unfetched.contains($0) ? type.fields[$0] : nil }
    let reader = try reader()
    let (state, values) = try removed(absent, of: type.stored, reader)
    let known = values.filter { fields.contains($0.field) }
    return state.updated == nil || state.isPurged && known.count < fields.count ? nil : known
  }

  /// The row and the entry of an object that has no row.
  ///
  /// - Parameters:
  ///   - number: of an object that is named by its birth.
  ///   - held: by field what a new one is known to hold.
  mutating func insert(
    _ entry: Entry, _ absent: ObjectPlace?, number: Int64?, _ table: ObjectTable, _ held: [Int: [Link]] = [:]
  ) throws -> ObjectPlace {
    // Of one that comes back the journal says what it holds.
    if absent != nil { willName(table.type) }
    if let absent, hasEntry(absent.last) {
      try table.insert(entry.key, entry.fields, number: number, zIndex: absent.zIndex, last: absent.last)
      try join(entry, at: absent.last)
      return absent
    }
    let last = next
    let isWhole = try absent == nil && isRowNext(table, entry.fields, held)
    let zIndex = try table.insert(
      entry.key, entry.fields, number: number, zIndex: absent?.zIndex, last: last, isWhole: isWhole,
      links: absent == nil ? held : [:])
    try append(entry, zIndex: zIndex, previous: absent?.last ?? .none)
    return ObjectPlace(zIndex: zIndex, last: last)
  }
}
