internal import MagicJournal

/// Where an object stands in a database: what the storage of its first property knows.
struct Record {
  /// All of it but what it refers to.
  fileprivate struct Bits {
    let database: Identifier
    let place: ObjectPlace
    let named: Birth
  }

  fileprivate let bits: Bits
  /// Stays open for an object that may ask it for more of itself.
  let keeper: Store?

  fileprivate init(_ bits: Bits, keeper: Store?) {
    (self.bits, self.keeper) = (bits, keeper)
  }

  init(database: Identifier, keeper: Store?, place: ObjectPlace, birth: Birth?) {
    self.init(Bits(database: database, place: place, named: birth ?? Record.unnamed), keeper: keeper)
  }

  /// The database file; a copy of a file has the same, so an object's key is checked as well.
  var database: Identifier { bits.database }
  var place: ObjectPlace { bits.place }

  /// Of an object that no primary value names.
  var birth: Birth? { bits.named == Record.unnamed ? nil : bits.named }

  /// Without a byte that says whether there is one: each fetched object has a record. No object is born in the transaction before the first.
  private static let unnamed = Birth(transaction: .none, ordinal: 0)

  /// What names the object.
  ///
  /// - Parameter primary: the primary value that it had when its instance was fetched or saved.
  func key(_ primary: Value?) -> ObjectKey? {
    birth.map { .birth($0) } ?? primary.map { .primary($0) }
  }

  /// The same object, of whose entries nothing is known.
  var withoutEntries: Record {
    Record(database: database, keeper: keeper, place: ObjectPlace(zIndex: place.zIndex, last: .none), birth: birth)
  }

  /// What an object asks for more of itself.
  var store: Store {
    get throws {
      guard let keeper else { throw MagicDataError(.notFound, "the database of this object is not known to it") }
      return keeper
    }
  }
}

/// An object with a number from the database whose instance was removed: saved again, it is that object, whatever number it has by then.
final class RemovedNumber: Sendable {
  let database: Identifier
  let birth: Birth
  /// Assignments of the number until then: one that the app sets later means another object.
  let edits: UInt32

  init(_ database: Identifier, _ birth: Birth, edits: UInt32) {
    self.database = database
    self.birth = birth
    self.edits = edits
  }
}

/// The memory of an object's properties: one for all of them where the wrappers found each other (`Opening`), else one for each.
///
/// Copies of an instance share it. It belongs to the instance's owner and is touched by nobody else.
@usableFromInline final class Storage: ManagedBuffer<Storage.Header, Storage.Property> {
  // In an order that leaves no gaps: each instance has one. Of bits alone, it is made where it stands, and goes with its memory; with references in it
  // Swift would copy it there and destroy it again. So the storage holds by hand what it refers to.
  @usableFromInline struct Header {
    /// For who reads what was never set.
    let place: Place
    fileprivate var keeper: Unmanaged<Store>?
    fileprivate var rest: Unmanaged<Rest>?
    fileprivate var record: Record.Bits?
    /// Of the save that began last.
    fileprivate var mark: UInt8 = 0
    private let properties: UInt16
    /// The run of objects in which it was saved last (`SaveRuns`).
    var run: UInt32 = 0

    /// Of its properties.
    var count: Int { Int(properties) }

    fileprivate init(count: Int, place: Place, _ record: Record?) {
      (properties, self.place) = (UInt16(count), place)
      (self.record, keeper) = (record?.bits, record?.keeper.map { .passRetained($0) })
    }
  }

  /// What few storages have.
  fileprivate final class Rest {
    var removed: RemovedNumber?
    var originals: [(slot: Int, stored: Slot)] = []
  }

  @usableFromInline struct Property {
    @usableFromInline var slot = Slot.unset
    /// Whether the value was set since it was fetched or saved.
    var isEdited = false
    /// Whether the instance knows what the database holds: it was fetched, or saved.
    var isStored = false
    /// Marks the save that is on its way with this value. An assignment puts it to 0, so that it is not taken for saved.
    var save: UInt8 = 0
    /// Counts assignments: defaults are told from what an `init` has set.
    var edits: UInt32 = 0

    /// What a row holds, of an instance that knew nothing of the database: the value is moved out of the row. `false` if it is none as which
    /// the property's type is kept.
    mutating func take(_ stored: inout Slot, as codec: Codec) -> Bool {
      guard codec.takes(stored) else { return false }
      swap(&slot, &stored)
      isStored = true
      isEdited = false
      return true
    }
  }

  static func make(_ count: Int, _ place: Place) -> Storage {
    make(count, place) { $0.initialize(repeating: Property(), count: count) }
  }

  /// - Parameter fill: puts a property into each place.
  static func make(
    _ count: Int, _ place: Place, _ record: Record? = nil, _ fill: (UnsafeMutablePointer<Property>) -> Void
  ) -> Storage {
    let storage = create(minimumCapacity: count) { _ in Header(count: count, place: place, record) }
    storage.withUnsafeMutablePointerToElements(fill)
    return unsafeDowncast(storage, to: Storage.self)
  }

  deinit {
    let isDeep = withUnsafeMutablePointers { header, properties in
      var isDeep = false
      func queue(_ slot: Slot) {
        guard case .held(let held) = slot, held.holdsInstances else { return }
        ReleaseQueue.add(held)
        isDeep = true
      }
      for index in 0..<header.pointee.count {
        switch properties[index].slot {
        case .unset, .null, .integer, .real, .uuid: continue
        case .text: break
        case .held: queue(properties[index].slot)
        }
        (properties + index).deinitialize(count: 1)
      }
      // What was fetched and has given way holds instances as well.
      if let rest = header.pointee.rest?.takeRetainedValue() {
        for original in rest.originals { queue(original.stored) }
      }
      header.pointee.keeper?.release()
      return isDeep
    }
    if isDeep { ReleaseQueue.drain() }
  }

  // MARK: The object

  /// Only in the storage of an object's first property, and only once it was saved or fetched.
  var record: Record? {
    get { header.record.map { Record($0, keeper: header.keeper?.takeUnretainedValue()) } }
    set {
      let before = header.keeper
      (header.record, header.keeper) = (newValue?.bits, newValue?.keeper.map { .passRetained($0) })
      before?.release()
    }
  }

  /// In the same place, once it was removed.
  var removed: RemovedNumber? {
    get { rest?.removed }
    set { if rest != nil || newValue != nil { madeRest().removed = newValue } }
  }

  /// What the database holds, as far as this instance knows, where that is not what the slot holds.
  private var originals: [(slot: Int, stored: Slot)] { rest?.originals ?? [] }

  private var rest: Rest? { header.rest?.takeUnretainedValue() }

  private func madeRest() -> Rest {
    if let rest { return rest }
    let rest = Rest()
    header.rest = .passRetained(rest)
    return rest
  }

  // MARK: One property

  /// Of a storage that somebody holds: they stay where they are.
  @inlinable var properties: UnsafeMutablePointer<Property> { withUnsafeMutablePointerToElements { $0 } }

  subscript(slot: Int) -> Property {
    _read { yield properties[slot] }
    _modify { yield &properties[slot] }
  }

  /// The owner sets a value.
  func set(_ value: Slot, at slot: Int) {
    if self[slot].isStored, !self[slot].isEdited { keepOriginal(slot) }
    self[slot].slot = value
    self[slot].isEdited = true
    self[slot].save = 0
    self[slot].edits &+= 1
  }

  /// Lets go of a value that is about to be set anew.
  func empty(at slot: Int) {
    if self[slot].isStored, !self[slot].isEdited { keepOriginal(slot) }
    self[slot].isEdited = true
    self[slot].slot = .unset
  }

  /// The first value, given where the property is declared.
  func setDefault(_ value: Slot, at slot: Int) {
    self[slot].slot = value
    self[slot].isEdited = true
    self[slot].edits = 1
  }

  /// Marks a save. Of two at once, into two databases, the first finds its mark gone and takes nothing for saved.
  func nextMark() -> UInt8 {
    header.mark = header.mark == .max ? 1 : header.mark + 1
    return header.mark
  }

  /// What the database holds of it, as far as the instance knows.
  func stored(at slot: Int) -> Slot? {
    guard self[slot].isStored else { return nil }
    return originals.first { $0.slot == slot }?.stored ?? self[slot].slot
  }

  private func keepOriginal(_ slot: Int) {
    // One that could not be read has its original already.
    guard !originals.contains(where: { $0.slot == slot }) else { return }
    madeRest().originals.append((slot, self[slot].slot))
  }

  /// The database holds what the slot holds.
  func setStored(at slot: Int) {
    self[slot].isStored = true
    self[slot].isEdited = false
    rest?.originals.removeAll { $0.slot == slot }
  }

  /// The database holds something else than the slot.
  func setStored(_ stored: Slot, at slot: Int, isEdited: Bool) {
    setStored(at: slot)
    madeRest().originals.append((slot, stored))
    self[slot].isEdited = isEdited
  }

  /// The instance knows nothing of the database.
  func forget(at slot: Int, isEdited: Bool) {
    setStored(at: slot)
    self[slot].isStored = false
    self[slot].isEdited = isEdited
  }
}
