internal import MagicJournal

/// Instances of one type on their way to the database: what `ObjectSave` is for one, packed for many.
///
/// Their values stand as an entry has them, one behind the other: they are encoded on their owner's side, while the database is
/// busy with the run before, and there bound to statements and put into the journal as they are. To hand around the values
/// themselves costs as much as to write the rows.
struct ObjectRun: Sendable {
  struct Object {
    /// Where what names it begins, encoded (V-12), which a new object without a primary value has not yet; and behind it the
    /// fields that have a value, rising.
    let key: Int
    fileprivate(set) var fields: Int
    /// See `ObjectSave`; by property.
    fileprivate(set) var (present, edited, changed): (UInt64, UInt64, UInt64) = (0, 0, 0)
    /// Where the object was when it was fetched or saved before.
    let place: ObjectPlace?

    fileprivate init(key: Int, place: ObjectPlace?) {
      (self.key, fields, self.place) = (key, key, place)
    }

    /// What the save of a new object writes, or of one that is known.
    var written: UInt64 { place == nil ? present : changed }
  }

  let type: MappedType
  /// Where the objects are fetched from and saved.
  let database: Identifier
  private(set) var objects: [Object] = []
  private var writer = ByteWriter()

  /// `nil` if objects of this type need more than their own rows.
  init?(of type: MappedType, in database: Identifier) {
    guard type.layout.isPlain, type.layout.properties.count <= 64 else { return nil }
    self.type = type
    self.database = database
  }

  mutating func reserve(_ count: Int) { objects.reserveCapacity(count) }

  var bytes: [UInt8] { writer.bytes }

  /// Where an object's fields end.
  func end(_ number: Int) -> Int { number + 1 < objects.count ? objects[number + 1].key : writer.count }

  /// - Parameter body: encodes the primary value, and says then where fields begin, encodes those, and returns what is known of
  ///   them.
  mutating func append(_ body: (inout ByteWriter) throws -> Object) rethrows {
    objects.append(try body(&writer))
  }

  /// The outcome for an object that was saved as part of the run.
  func saved(_ number: Int, at place: ObjectPlace, _ birth: Birth?) -> SavedObject {
    SavedObject(
      place: place, key: birth.map { .birth($0) } ?? key(number) ?? .primary(.null),
      extent: objects[number].place == nil ? .all : .changes)
  }

  /// What names an object; `nil` for a new one that its birth is to name.
  func key(_ number: Int) -> ObjectKey? {
    let object = objects[number]
    guard object.fields > object.key else { return nil }
    var reader = ByteReader(Array(bytes[object.key..<object.fields]))
    do {
      return try ObjectKey(from: &reader)
    } catch {
      ObjectRun.unreadable(error)
    }
  }

  private static func unreadable(_ error: any Error) -> Never {
    preconditionFailure("what was encoded a moment ago cannot be read: \(error)")
  }

  /// The object as one that is saved by itself.
  func object(_ number: Int) -> ObjectSave {
    let object = objects[number]
    var content = ObjectSave.Content()
    content.values = Array(repeating: .null, count: type.layout.properties.count)
    content.present = PropertySet(bits: object.present)
    content.edited = PropertySet(bits: object.edited)
    content.changed = PropertySet(bits: object.changed)
    let key = key(number)
    if case .primary(let primary)? = key, let index = type.layout.primary {
      content.primary = primary
      content.values[index] = primary
    }
    var reader = ByteReader(Array(bytes[object.fields..<end(number)]))
    do {
      for (index, _) in type.inOrder where content.present.contains(index) {
        _ = try reader.varint()
        content.values[index] = try Value(from: &reader)
      }
    } catch {
      ObjectRun.unreadable(error)
    }
    if let key, let place = object.place {
      content.record = ObjectSave.Record(database: database, place: place, key: key, primary: content.primary)
    }
    return ObjectSave(content)
  }
}

/// What the save of several instances did.
struct SavedRun: Sendable {
  /// The places of objects that went the short way; of the others nothing is read here.
  var places: [ObjectPlace] = []
  /// Theirs, of a type without a primary value; else none.
  var births: [Birth?] = []
  /// By number: those that did not.
  var others: [Int: (saved: SavedObject, object: ObjectSave)] = [:]

  init() {}

  init(apart saved: [SavedObject], _ objects: [ObjectSave]) {
    others = Dictionary(uniqueKeysWithValues: zip(saved, objects).enumerated().map { ($0, $1) })
  }
}

extension Instance {
  /// Adds its values to a run; returns the mark that each of them carries until it is set anew. `nil` if the instance has to go
  /// its way alone.
  ///
  /// - Parameter fresh: for the whole run.
  func save(into run: inout ObjectRun, _ fresh: FreshInstances) throws -> UInt8? {
    guard first.removed == nil else { return nil }
    let record = record
    guard try record.map({ try $0.database == run.database && isAsRecorded() }) ?? true else { return nil }
    let type = run.type
    // A number that the database gives, or gave, names nothing.
    if let primary = layout.primary, type.hasNumbers, record?.birth != nil || isUnset(primary) || isTakenBack(primary) {
      return nil
    }
    if !layout.classes.isEmpty { try setChangedInPlace(fresh) }
    let mark = first.nextMark()
    try run.append { writer in
      let key = writer.count
      var object = ObjectRun.Object(key: key, place: record?.place)
      if let primary = layout.primary {
        settlePrimary(primary)
        try save(primary, mark, fresh, into: &object) { try encode(primary, $0, to: &writer) }
      } else if let birth = record?.birth {
        ObjectKey.birth(birth).encode(to: &writer)
      }
      object.fields = writer.count
      for (index, field) in type.inOrder {
        try save(index, mark, fresh, into: &object) {
          writer.varint(field)
          try encode(index, $0, to: &writer)
        }
      }
      return object
    }
    return mark
  }

  private func isUnset(_ index: Int) -> Bool {
    let (storage, slot) = property(index)
    return storage[slot].slot.isUnset
  }

  @inline(__always)
  private func save(
    _ index: Int, _ mark: UInt8, _ fresh: FreshInstances, into object: inout ObjectRun.Object, _ encode: (Slot) throws -> Void
  ) throws {
    let (storage, slot) = property(index)
    storage[slot].save = mark
    guard !storage[slot].slot.isUnset else {
      guard layout.roles[index] == .optional else { throw unset(layout.properties[index]) }
      return
    }
    try encode(storage[slot].slot)
    let bit = UInt64(1) << UInt64(index)
    object.present |= bit
    let edit = try edit(of: index, isNew: object.place == nil, fresh)
    if edit.isEdited { object.edited |= bit }
    if edit.isChanged { object.changed |= bit }
  }

  private func encode(_ index: Int, _ slot: Slot, to writer: inout ByteWriter) throws {
    switch slot {
    case .integer(let number): Value.integer(number).encode(to: &writer)
    case .real(let number): Value.real(number).encode(to: &writer)
    case .uuid(let high, let low): Value.encode(uuid: high, low, to: &writer)
    case .text(let text) where text.utf8.count <= Limits.valueBytes: Value.text(text).encode(to: &writer)
    default: try value(index)?.encode(to: &writer)
    }
  }

  /// After a save on the short way.
  ///
  /// - Returns: `false`, and nothing is done, if a value was set meanwhile, or never, or has to be kept: then each has to be
  ///   looked at.
  func saved(_ object: ObjectRun.Object, at place: ObjectPlace, _ birth: Birth?, mark: UInt8, in database: Store) -> Bool {
    if !layout.changing.isEmpty { return false }
    for index in 0..<layout.slots.count {
      let (storage, slot) = property(index)
      guard storage[slot].save == mark, object.present & 1 << UInt64(index) != 0 else { return false }
    }
    for index in 0..<layout.slots.count {
      let (storage, slot) = property(index)
      // Of what was neither set nor written, an instance that was put back knows no more than before.
      if storage[slot].isEdited || object.place == nil && !storage[slot].isStored { storage.setStored(at: slot) }
    }
    record = Record(database: database.id, keeper: layout.asks ? database : nil, place: place, birth: birth)
    return true
  }
}
