/// One property of an instance: what it holds, and what the database does.
extension Storage {
  /// Puts a value where another one was.
  func put(_ value: Slot, at slot: Int) {
    self[slot].slot = value
    notePut(at: slot)
  }

  /// What a row holds of a property, of an instance that knew nothing of the database: the value is moved out of the row.
  /// `false` if it is none as which the property's type is kept.
  func take(_ index: Int, of row: Storage, at slot: Int, as codec: Codec) -> Bool {
    assert(row.header.room == 1, "what this one had before goes into the row, whose part might be trivial in a shared storage")
    let (property, stored) = (properties + slot, row.properties + index)
    guard codec.takes(stored.pointee.slot) else { return false }
    swap(&property.pointee.slot, &stored.pointee.slot)
    property.pointee.isStored = true
    property.pointee.isKnown = true
    property.pointee.isEdited = false
    notePut(at: slot)
    return true
  }

  /// The owner sets a value.
  func set(_ value: Slot, at slot: Int) {
    if self[slot].isStored, !self[slot].isEdited { keepOriginal(slot) }
    put(value, at: slot)
    self[slot].isEdited = true
    self[slot].save = 0
    self[slot].edits &+= 1
  }

  /// A value comes when it is asked for, where the owner has set none.
  func settle(_ value: Slot, at slot: Int) {
    let edits = self[slot].edits
    set(value, at: slot)
    self[slot].edits = edits
  }

  /// Lets go of a value that is about to be set anew.
  func empty(at slot: Int) {
    if self[slot].isStored, !self[slot].isEdited { keepOriginal(slot) }
    self[slot].isEdited = true
    self[slot].slot = .unset
    // A save that is on its way has seen what was there.
    self[slot].save = 0
  }

  /// The first value, given where the property is declared.
  func setDefault(_ value: Slot, at slot: Int) {
    put(value, at: slot)
    self[slot].isEdited = true
    self[slot].edits = 1
  }

  /// What the database holds of it, as far as the instance knows.
  func stored(at slot: Int) -> Slot? {
    guard self[slot].isStored else { return nil }
    guard self[slot].isReplaced else { return self[slot].slot }
    return originals(of: slot) { $0.first { $0.slot == slot }?.stored }
  }

  private func keepOriginal(_ slot: Int) {
    // One that could not be read has its original already.
    guard !self[slot].isReplaced else { return }
    let original = self[slot].slot
    originals(of: slot) { $0.append((slot, original)) }
    self[slot].isReplaced = true
  }

  private func dropOriginal(_ slot: Int) {
    guard self[slot].isReplaced else { return }
    self[slot].isReplaced = false
    // What goes with it is the app's own.
    _ = originals(of: slot) { originals in
      originals.firstIndex { $0.slot == slot }.map { originals.remove(at: $0) }
    }
  }

  /// The database holds what the slot holds.
  func setStored(at slot: Int) {
    self[slot].isStored = true
    self[slot].isKnown = true
    self[slot].isEdited = false
    dropOriginal(slot)
  }

  /// The database holds something else than the slot.
  func setStored(_ stored: Slot, at slot: Int, isEdited: Bool) {
    setStored(at: slot)
    originals(of: slot) { $0.append((slot, stored)) }
    self[slot].isReplaced = true
    self[slot].isEdited = isEdited
  }

  /// The instance knows nothing of the database.
  ///
  /// - Parameter isKnown: whether a database has held what the slot holds; `nil` where nothing is news of that.
  func forget(at slot: Int, isEdited: Bool, isKnown: Bool? = nil) {
    dropOriginal(slot)
    self[slot].isStored = false
    if let isKnown { self[slot].isKnown = isKnown }
    self[slot].isEdited = isEdited
  }
}
