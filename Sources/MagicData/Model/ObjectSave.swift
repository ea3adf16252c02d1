internal import MagicJournal

/// An instance's values on their way to the database: what crosses from the caller's side.
struct ObjectSave: Sendable {
  struct Property: Sendable {
    /// `nil` if it was never set.
    let value: Value?
    /// Whether it was set since the instance was fetched or saved.
    let isEdited: Bool
    /// What the database held then.
    let stored: Value?

    /// For an instance that was fetched (L-7).
    var isChanged: Bool { isEdited && value != stored }
  }

  var properties: [Property]
  let record: Record?
  let primary: Value?

  /// The object as which the instance was fetched or saved in a database, if it is still meant.
  func record(in store: Identifier) -> Record? {
    guard let record, record.store == store else { return nil }
    // With another primary value it is another object.
    return primary.map { record.key == .primary($0) } ?? true ? record : nil
  }

  /// As if the app had made the instance.
  var allEdited: ObjectSave {
    var object = self
    object.properties = properties.map { Property(value: $0.value, isEdited: $0.value != nil, stored: nil) }
    return object
  }

  var changedValues: [Value?] { properties.map { $0.isChanged ? $0.value : nil } }
}

/// What a save did, for the instance that was saved.
struct SavedObject: Sendable {
  let record: Record
  /// For each property what the database holds; `nil` where the instance knows already.
  let stored: [Value?]
}

/// An instance seen as boxes, on its owner's side.
struct BoxedObject {
  private let layout: Layout
  private let boxes: [Box]

  init<Object: MagicObject>(_ object: Object, _ layout: Layout) throws {
    self.layout = layout
    boxes = try layout.boxes(of: object)
  }

  /// Equal for copies, which share their values.
  var identity: ObjectIdentifier { ObjectIdentifier(boxes[0]) }

  var record: Record? {
    get { boxes[0].memory.record }
    nonmutating set { boxes[0].memory.record = newValue }
  }

  func primary() throws -> Value? {
    try layout.primary.flatMap { try value($0) }
  }

  /// The values to be saved, and a note of the moment, for `saved`.
  func save() throws -> (ObjectSave, edits: [Int]) {
    let properties = try boxes.indices.map { index in
      let value = try value(index)
      guard value != nil || layout.properties[index].role == .optional else { throw unset(layout.properties[index]) }
      return ObjectSave.Property(
        value: value, isEdited: boxes[index].isEdited && !isDefault(index, value), stored: boxes[index].memory.stored)
    }
    let primary = layout.primary.flatMap { properties[$0].value }
    return (ObjectSave(properties: properties, record: record, primary: primary), boxes.map(\.edits))
  }

  /// Whether the app has left the value as `init()` made it. (A struct's delegating `init` that sets a value to its own default cannot be told
  /// from that.)
  private func isDefault(_ index: Int, _ value: Value?) -> Bool {
    let property = layout.properties[index]
    return record == nil && boxes[index].memory.stored == nil && value != nil && value == property.initial
      && boxes[index].edits == property.initialEdits
  }

  func saved(_ saved: SavedObject, edits: [Int]) {
    for (index, box) in boxes.enumerated() { box.saved(saved.stored[index], edits: edits[index]) }
    record = saved.record
  }

  func removed() {
    for box in boxes { box.removed() }
  }

  /// Makes the instance remember what it remembers here, if a transaction is rolled back; unless it was saved in another database since.
  func undo(in store: Identifier) -> () -> Void {
    let memories = boxes.map(\.memory)
    return {
      guard record.map({ $0.store == store }) ?? true else { return }
      for (box, memory) in zip(boxes, memories) { box.memory = memory }
    }
  }

  /// Makes an instance that was fetched forget where, if the transaction is rolled back in which it was: the row may never have been.
  func forgetting(in store: Identifier) -> () -> Void {
    {
      guard record.map({ $0.store == store }) ?? true else { return }
      for box in boxes { box.forget() }
    }
  }

  /// Takes over a row. A value that cannot be read as its property's type counts as not arrived (L-8, M-6): a property that can be absent is
  /// left as it is, for another the error is thrown.
  func fetched(_ row: FetchedObject) throws {
    for (index, box) in boxes.enumerated() {
      do {
        try box.fetched(row.values[index])
      } catch let error as MagicDataError where error.code == .value && layout.properties[index].canBeAbsent {
        box.unreadable(row.values[index])
      }
    }
    record = row.record
  }

  private func value(_ index: Int) throws -> Value? {
    let property = layout.properties[index]
    do {
      let value = try boxes[index].encoded()
      guard (value?.length ?? 0) <= Limits.valueBytes else {
        throw MagicDataError(
          .tooLarge, "\(layout.name).\(property.name) is above the limit of \(Limits.valueBytes) bytes for one value")
      }
      return value
    } catch let error as MagicDataError where error.code == .value {
      throw MagicDataError(.value, "\(layout.name).\(property.name): \(error.message)", cause: error)
    }
  }

  private func unset(_ property: Layout.Property) -> MagicDataError {
    MagicDataError(.unsetValue, "\(layout.name).\(property.name) was never set; give it a value before the object is saved")
  }
}

/// A row on its way to an instance.
struct FetchedObject: Sendable {
  let record: Record
  /// By property.
  let values: [Value]
}
