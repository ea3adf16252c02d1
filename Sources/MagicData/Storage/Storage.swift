internal import Foundation
internal import MagicJournal

/// The memory of instances' properties: one for all properties of an instance where the wrappers found each other (`Opening`),
/// else one for each; of instances that were read one after the other, one for some of them (`InstanceBuffer`), since to
/// allocate one for each and to let go of it takes longer than to fill it.
///
/// Copies of an instance share its part. That belongs to the instance's owner and is touched by nobody else, but that the last
/// of all owners lets go of all parts.
@usableFromInline final class Storage: ManagedBuffer<Storage.Header, Storage.Property> {
  @usableFromInline struct Header {
    /// For who reads what was never set.
    let place: Place
    private let properties: UInt16
    /// For how many instances there is memory, and how many there are.
    let room: UInt16
    fileprivate var taken: UInt16 = 0

    /// The number of the instance's properties.
    var count: Int { Int(properties) }

    fileprivate init(room: Int, count: Int, place: Place) {
      (self.room, properties, self.place) = (UInt16(room), UInt16(count), place)
    }
  }

  /// What is known of an instance beside its properties; behind the properties of all.
  // In an order that leaves no gaps. Of bits alone, it is made where it stands, and goes with its memory; with references in it
  // Swift would copy it there and destroy it again. So it holds by hand what it refers to.
  fileprivate struct Head {
    var keeper: Unmanaged<Store>?
    var rest: Unmanaged<Rest>?
    var record: Record.Bits?
    /// The mark of the save that began last.
    var mark: UInt8 = 0
    /// Whether no property holds anything that has to be let go of: then they go with their memory. Whoever puts a value into a
    /// slot says that this is over.
    var isTrivial: Bool
    // In one byte: a fourth one would leave a gap before the run.
    private var lost: UInt8 = 0
    var run: UInt32 = 0

    @inline(__always) init(_ record: Record?, isTrivial: Bool) {
      (self.record, keeper, self.isTrivial) = (record?.bits, record?.keeper.map { .passRetained($0) }, isTrivial)
    }

    /// Whether `rest` says what it was before it was removed.
    var isRemoved: Bool {
      get { lost & 1 != 0 }
      set { lost = newValue ? lost | 1 : lost & ~1 }
    }

    /// Whether there was a record, and there is none.
    var wasAnother: Bool {
      get { lost & 2 != 0 }
      set { lost = newValue ? lost | 2 : lost & ~2 }
    }

    var known: Rest? { rest?.takeUnretainedValue() }

    var made: Rest {
      mutating get {
        if let known { return known }
        let made = Rest()
        rest = .passRetained(made)
        return made
      }
    }
  }

  /// What few instances have, behind the lock: slots may be another instance's (`Opening`), which somebody else may own.
  fileprivate final class Rest {
    var removed: RemovedNumber?
    var originals: [(slot: Int, stored: Slot)] = []
  }

  @usableFromInline struct Property {
    /// Set through its storage, which has to know.
    @usableFromInline var slot = Slot.unset
    private var flags: UInt8 = 0
    /// Marks the save that is on its way with this value. An assignment puts it to 0, so that it is not taken for saved.
    var save: UInt8 = 0
    /// Counts assignments: defaults are told from what an `init` has set.
    var edits: UInt32 = 0

    init() {}

    /// A property as it is read from a row.
    @inline(__always) init(stored slot: Slot, edits: UInt32) {
      (self.slot, self.edits) = (slot, edits)
      flags = Property.stored | Property.known
    }

    private static var edited: UInt8 { 1 }
    private static var stored: UInt8 { 2 }
    private static var known: UInt8 { 4 }
    private static var replaced: UInt8 { 8 }

    @inline(__always) private func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
    @inline(__always) private mutating func put(_ flag: UInt8, _ isSet: Bool) {
      flags = isSet ? flags | flag : flags & ~flag
    }

    /// Whether the value was set since it was fetched or saved.
    var isEdited: Bool {
      get { has(Property.edited) }
      set { put(Property.edited, newValue) }
    }

    /// Whether the instance knows what the database holds: it was fetched, or saved.
    var isStored: Bool {
      get { has(Property.stored) }
      set { put(Property.stored, newValue) }
    }

    /// Whether a database has held it, and may not any more: then it is no default.
    var isKnown: Bool {
      get { has(Property.known) }
      set { put(Property.known, newValue) }
    }

    /// Whether the database holds something else than the slot (`Rest`).
    var isReplaced: Bool {
      get { has(Property.replaced) }
      set { put(Property.replaced, newValue) }
    }
  }

  // MARK: Making

  /// For one instance.
  static func make(_ count: Int, _ place: Place) -> Storage {
    let storage = make(room: 1, of: count, place)
    withExtendedLifetime(storage) {
      storage.room.vacant.initialize(repeating: Property(), count: count)
      storage.room.take(nil, isTrivial: false)
    }
    return storage
  }

  /// For instances that are still to be added.
  static func make(room: Int, of count: Int, _ place: Place) -> Storage {
    let heads = (room * MemoryLayout<Head>.stride - 1) / MemoryLayout<Property>.stride + 1
    let storage = unsafeDowncast(
      create(minimumCapacity: room * count + heads) { _ in Header(room: room, count: count, place: place) }, to: Storage.self)
    storage.withUnsafeMutablePointerToElements {
      _ = UnsafeMutableRawPointer($0 + room * count).bindMemory(to: Head.self, capacity: room)
    }
    return storage
  }

  /// Where the next instances are to be put. Nothing but addresses: somebody has to hold the storage.
  struct Room {
    private let header: UnsafeMutablePointer<Header>
    private let properties: UnsafeMutablePointer<Property>

    fileprivate init(_ header: UnsafeMutablePointer<Header>, _ properties: UnsafeMutablePointer<Property>) {
      (self.header, self.properties) = (header, properties)
    }

    var isFull: Bool { header.pointee.taken == header.pointee.room }
    /// Memory for the properties of one; nothing is there yet.
    var vacant: UnsafeMutablePointer<Property> { properties + Int(header.pointee.taken) * header.pointee.count }

    /// What was vacant holds an instance's properties now.
    ///
    /// - Parameter isTrivial: whether none of them holds anything that has to be let go of.
    @inline(__always) func take(_ record: Record?, isTrivial: Bool) {
      // A storage for one may be a row on its way, which takes what its instance had before in exchange for its values.
      let head = Head(record, isTrivial: isTrivial && header.pointee.room > 1)
      (Storage.heads(header, properties) + Int(header.pointee.taken)).initialize(to: head)
      header.pointee.taken += 1
    }

    /// The last one is gone again.
    func dropLast() {
      header.pointee.taken -= 1
      _ = Storage.empty(Int(header.pointee.taken), header, properties)
    }
  }

  var room: Room { withUnsafeMutablePointers { Room($0, $1) } }
  /// How many instances it has.
  var taken: Int { withUnsafeMutablePointerToHeader { Int($0.pointee.taken) } }

  /// Moves the last instance, which nobody has yet, into a storage of its own; `nil` if there is none, or this is its own.
  func takeLast() -> Storage? {
    guard header.room > 1, header.taken > 0 else { return nil }
    let own = Storage.make(room: 1, of: header.count, header.place)
    withUnsafeMutablePointers { header, properties in
      header.pointee.taken -= 1
      let (count, number) = (header.pointee.count, Int(header.pointee.taken))
      own.withUnsafeMutablePointers { ownHeader, ownProperties in
        ownProperties.moveInitialize(from: properties + number * count, count: count)
        let head = Storage.heads(ownHeader, ownProperties)
        head.initialize(to: Storage.heads(header, properties)[number])
        head.pointee.isTrivial = false
        ownHeader.pointee.taken = 1
      }
    }
    return own
  }

  deinit {
    let isDeep = withUnsafeMutablePointers { header, properties in
      var isDeep = false
      for number in 0..<Int(header.pointee.taken) where Storage.empty(number, header, properties) { isDeep = true }
      return isDeep
    }
    if isDeep { ReleaseQueue.drain() }
  }

  /// Lets go of all that an instance refers to. Other instances wait in the queue: then it is `true`.
  @inline(__always)
  private static func empty(
    _ number: Int, _ header: UnsafeMutablePointer<Header>, _ properties: UnsafeMutablePointer<Property>
  ) -> Bool {
    let head = heads(header, properties) + number
    if head.pointee.isTrivial, head.pointee.rest == nil, head.pointee.keeper == nil { return false }
    var isDeep = false
    func queue(_ slot: Slot) {
      guard case .held(let held) = slot, held.holdsInstances else { return }
      ReleaseQueue.add(held)
      isDeep = true
    }
    let first = number * header.pointee.count
    for index in first..<first + header.pointee.count {
      switch properties[index].slot {
      case .unset, .null, .integer, .real, .uuid: continue
      case .text: break
      case .held: queue(properties[index].slot)
      }
      (properties + index).deinitialize(count: 1)
    }
    // What was fetched and has given way holds instances as well.
    if let rest = head.pointee.rest?.takeRetainedValue() {
      for original in rest.originals { queue(original.stored) }
    }
    head.pointee.keeper?.release()
    return isDeep
  }

  @inline(__always)
  private static func heads(
    _ header: UnsafeMutablePointer<Header>, _ properties: UnsafeMutablePointer<Property>
  ) -> UnsafeMutablePointer<Head> {
    // Bound to heads when the storage was made.
    UnsafeMutableRawPointer(properties + Int(header.pointee.room) * header.pointee.count).assumingMemoryBound(to: Head.self)
  }

  // MARK: An instance

  /// The instance that a slot belongs to.
  func part(of slot: Int) -> Part { Part(storage: self, number: number(of: slot)) }

  /// Whether a slot is the first of an instance.
  func isFirst(_ slot: Int) -> Bool { slot == 0 || slot % header.count == 0 }

  private func number(of slot: Int) -> Int { slot == 0 || header.room == 1 ? 0 : slot / header.count }

  /// The head of a storage that somebody holds, so that it stays where it is.
  private func head(of number: Int) -> UnsafeMutablePointer<Head> {
    withUnsafeMutablePointers { Storage.heads($0, $1) + number }
  }

  /// What is known of one instance.
  struct Part {
    fileprivate let storage: Storage
    fileprivate let number: Int

    private func access<Result>(_ body: (inout Head) -> Result) -> Result {
      withExtendedLifetime(storage) { body(&storage.head(of: number).pointee) }
    }

    /// Only of an object's first property, and only once it was saved or fetched.
    var record: Record? {
      get { access { head in head.record.map { Record($0, keeper: head.keeper?.takeUnretainedValue()) } } }
      nonmutating set {
        let before = access { head in
          let before = head.keeper
          (head.record, head.keeper) = (newValue?.bits, newValue?.keeper.map { .passRetained($0) })
          return before
        }
        before?.release()
      }
    }

    /// In the same place, once it was removed.
    var removed: RemovedNumber? {
      get { access { head in head.isRemoved ? storage.rest { head.known?.removed } : nil } }
      nonmutating set {
        access { head in
          guard newValue != nil || head.isRemoved else { return }
          storage.rest { head.made.removed = newValue }
          head.isRemoved = newValue != nil
        }
      }
    }

    /// Whether the instance was an object, and is none until it has a record again (`SavedMember.moves`).
    var wasAnother: Bool {
      get { access { $0.wasAnother } }
      nonmutating set { access { $0.wasAnother = newValue } }
    }

    /// Marks a save. Of two at once, into two databases, the first finds its mark gone and takes nothing for saved.
    func nextMark() -> UInt8 {
      access { head in
        head.mark = head.mark == .max ? 1 : head.mark + 1
        return head.mark
      }
    }

    /// The run of objects in which it was saved last (`SaveRuns`).
    var run: UInt32 {
      get { access { $0.run } }
      nonmutating set { access { $0.run = newValue } }
    }

    var identity: InstanceIdentity { InstanceIdentity(address: UInt(bitPattern: storage.head(of: number))) }
  }

  // MARK: One property

  /// The properties of a storage that somebody holds, so that they stay where they are.
  @inlinable var properties: UnsafeMutablePointer<Property> { withUnsafeMutablePointerToElements { $0 } }

  subscript(slot: Int) -> Property {
    _read { yield properties[slot] }
    _modify { yield &properties[slot] }
  }

  /// A value is where none was, or another one.
  func notePut(at slot: Int) {
    // Of one alone it never was.
    if header.room > 1 { head(of: number(of: slot)).pointee.isTrivial = false }
  }

  /// What the database holds of slots that hold something else.
  func originals<Result>(of slot: Int, _ body: (inout [(slot: Int, stored: Slot)]) -> Result) -> Result {
    let head = head(of: number(of: slot))
    return rest { body(&head.pointee.made.originals) }
  }

  /// Behind the lock of what few instances have.
  private func rest<Result>(_ body: () -> Result) -> Result {
    // Objects next to each other have mostly others' locks.
    let place = UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) >> 5
    return Storage.locks[Int(place % UInt(Storage.locks.count))].withLock(body)
  }

  private static let locks = (0..<64).map { _ in NSLock() }
}
