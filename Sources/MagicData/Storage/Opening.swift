internal import CPlatform

/// Where a wrapper was made: at its property's declaration, for all but a few.
struct Place: Hashable {
  /// The file's name and the type's, as literals that last as long as the program.
  let file: UnsafePointer<UInt8>
  let type: UnsafePointer<UInt8>
  let column: UInt32
  /// The line and, in the lowest bit, whether it has a value.
  private let lineAndValue: UInt32

  init(_ file: StaticString, _ line: UInt32, _ column: UInt32, _ type: StaticString, hasValue: Bool) {
    self.file = Place.address(of: file)
    self.type = Place.address(of: type)
    self.column = column
    lineAndValue = line << 1 | (hasValue ? 1 : 0)
  }

  var line: UInt32 { lineAndValue >> 1 }
  /// Made from a value, as a default does and an assignment in a delegating `init`.
  var hasValue: Bool { lineAndValue & 1 == 1 }

  /// The place of what belongs to no wrapper.
  static var unknown: Place { Place("", 0, 0, "", hasValue: false) }

  private static func address(of literal: StaticString) -> UnsafePointer<UInt8> {
    literal.hasPointerRepresentation ? literal.utf8Start : StaticString("").utf8Start
  }

  var fileName: String { String(cString: file) }
  var typeName: String { String(cString: type) }

  /// Whether both are the same declaration; the compiler may put the same literal into memory more than once.
  func isSame(as other: Place) -> Bool {
    column == other.column && lineAndValue == other.lineAndValue
      && (file == other.file || fileName == other.fileName)
  }
}

/// How the wrappers of one instance find their common storage.
///
/// Before the first line of an `init` runs, all wrappers of an instance are made in the order of their declaration, and only
/// default values are evaluated in between. A struct's memberwise `init` has another order: its caller makes the wrappers that
/// are declared without a value, and after them its body makes the others. So once a type's layout is known, the wrapper at the
/// place that comes first in one of the two opens a storage for all, and each that comes at the next expected place takes that
/// one's slot.
///
/// Why this is sound whatever the program does: a slot is given once. Each wrapper reads and writes its own slot of its own
/// storage, and what an instance knows of the database is read from its first wrapper's storage, where that wrapper's slot is
/// the first of an instance (`Storage.isFirst`): that wrapper opened it itself or joined those that were made for it, or a
/// fetch has put it there. A wrapper that does not find the others (made before the layout was known, by an explicit
/// `MagicValue(…)`, in a delegating `init`, by a macro) has a storage of its own: that costs an allocation, and nothing else.
/// One that finds another instance's, which never got one for that slot, shares memory with that and nothing else: what several
/// slots have in common is behind a lock (`Storage.rest`). A storage that is never filled waits on its thread until the type is
/// made again, others push it out, or the thread ends.
enum Opening {
  /// A slot for a wrapper that is being made.
  static func slot(at place: Place) -> (storage: Storage, slot: Int32) {
    let openings = c_openings()
    if openings.pointee.depth > 0 {
      let top = openings.top
      let slot = top.pointee.order.map { $0[Int(top.pointee.next)] } ?? top.pointee.next
      if top.pointee.places.assumingMemoryBound(to: Place.self)[Int(slot)].isNext(place),
        top.pointee.file == UnsafeRawPointer(place.file)
      {
        return (join(openings), slot)
      }
    }
    return open(place, openings)
  }

  /// Takes the innermost storage's next slot.
  @inline(__always)
  private static func join(_ openings: UnsafeMutablePointer<COpenings>) -> Storage {
    let top = openings.top
    top.pointee.next += 1
    let storage = Unmanaged<Storage>.fromOpaque(top.pointee.storage)
    guard top.pointee.next == top.pointee.count else { return storage.takeUnretainedValue() }
    // The last wrapper takes over the thread's reference.
    openings.pointee.depth -= 1
    return storage.takeRetainedValue()
  }

  private static func open(_ place: Place, _ openings: UnsafeMutablePointer<COpenings>) -> (storage: Storage, slot: Int32) {
    guard let (type, slot) = type(openings, place) else { return (Storage.make(1, place), 0) }
    if openings.pointee.depth > 0, openings.top.pointee.places == UnsafeRawPointer(type.places) {
      if type.isMemberwise(slot, after: openings.top.pointee.next), openings.top.pointee.order == nil {
        openings.top.pointee.order = type.memberwise
        return (join(openings), slot)
      }
      // It is another instance's, which did not get all of its wrappers here.
      openings.dropLast()
    }
    guard type.count > 1, slot == 0 || slot == type.memberwise?[0] else { return (Storage.make(1, place), 0) }
    let storage = Storage.make(type.count, slot == 0 ? place : type.places[0])
    let oldest = openings.pointee.depth == COpeningDepth ? openings.takeOldest() : nil
    if !openings.pointee.isWatched { c_watch_end(openings) { $0.dropAll() } }
    openings.pointee.depth += 1
    openings.top.pointee = COpening(
      storage: Unmanaged.passRetained(storage).toOpaque(), places: type.places, order: slot == 0 ? nil : type.memberwise,
      file: place.file, count: Int32(type.count), next: 1)
    oldest?.release()
    return (storage, slot)
  }

  private static func type(
    _ openings: UnsafeMutablePointer<COpenings>, _ place: Place
  ) -> (type: OpenType, slot: Int32)? {
    if let last = openings.pointee.type {
      let type = Unmanaged<OpenType>.fromOpaque(last).takeUnretainedValue()
      if type.places[0].isNext(place), type.places[0].file == place.file { return (type, 0) }
    }
    guard let found = OpenType.find(place) else { return nil }
    openings.pointee.type = UnsafeRawPointer(Unmanaged.passUnretained(found.type).toOpaque())
    return found
  }
}

extension Place {
  /// Whether this expected place is the one; the file is compared by who knows where it stands in memory.
  fileprivate func isNext(_ place: Place) -> Bool {
    column == place.column && lineAndValue == place.lineAndValue
  }
}

extension UnsafeMutablePointer<COpenings> {
  fileprivate var top: UnsafeMutablePointer<COpening> {
    UnsafeMutableRawPointer(self).assumingMemoryBound(to: COpening.self) + Int(pointee.depth - 1)
  }

  /// A release may be the last one, and what goes with it the app's own, which may make objects: so each is off the stack
  /// before, and what takes its place on it.
  fileprivate func takeOldest() -> Unmanaged<Storage> {
    let stack = UnsafeMutableRawPointer(self).assumingMemoryBound(to: COpening.self)
    let oldest = Unmanaged<Storage>.fromOpaque(stack[0].storage)
    for index in 1..<Int(pointee.depth) { stack[index - 1] = stack[index] }
    pointee.depth -= 1
    return oldest
  }

  fileprivate func dropLast() {
    let last = Unmanaged<Storage>.fromOpaque(top.pointee.storage)
    pointee.depth -= 1
    last.release()
  }

  fileprivate func dropAll() {
    while pointee.depth > 0 { dropLast() }
  }
}

/// A type whose wrappers' places are known. It lives for good, as types do.
final class OpenType: Sendable {
  // Never changed, and for good as well; a place holds addresses of literals alone.
  nonisolated(unsafe) let places: UnsafePointer<Place>
  let count: Int
  /// The slots in the order of a memberwise `init`, if that is another one.
  nonisolated(unsafe) let memberwise: UnsafePointer<Int32>?
  /// How many come first in both orders.
  private let common: Int

  private struct Registry {
    var types: [Place: (type: OpenType, slot: Int32)] = [:]
    /// A property at this line and column is known, maybe under another copy of its file's name.
    var positions: [UInt64: [(type: OpenType, slot: Int32)]] = [:]

    func find(_ place: Place) -> (type: OpenType, slot: Int32)? {
      positions[place.position]?.first { $0.type.places[Int($0.slot)].isSame(as: place) }
    }
  }

  private static let registry = Locked(Registry())

  private init(_ places: [Place], isStruct: Bool) {
    count = places.count
    let copy = UnsafeMutablePointer<Place>.allocate(capacity: count)
    copy.initialize(from: places, count: count)
    self.places = UnsafePointer(copy)
    let order = places.indices.filter { !places[$0].hasValue } + places.indices.filter { places[$0].hasValue }
    common = zip(order, places.indices).prefix { $0 == $1 }.count
    guard isStruct, common < count else {
      memberwise = nil
      return
    }
    let slots = UnsafeMutablePointer<Int32>.allocate(capacity: count)
    slots.initialize(from: order.map { Int32($0) }, count: count)
    memberwise = UnsafePointer(slots)
  }

  /// From here on the wrappers of instances find each other, if their places tell them apart.
  static func register(_ places: [Place], isStruct: Bool) {
    guard let first = places.first, Set(places.map(\.position)).count == places.count else { return }
    registry.withLock { registry in
      guard registry.find(first) == nil else { return }
      let type = OpenType(places, isStruct: isStruct)
      for (slot, place) in places.enumerated() {
        registry.types[place] = (type, Int32(slot))
        registry.positions[place.position, default: []].append((type, Int32(slot)))
      }
    }
  }

  /// The type that has a property at a place, and which one that is.
  static func find(_ place: Place) -> (type: OpenType, slot: Int32)? {
    registry.withLock { registry in
      if let found = registry.types[place] { return found }
      guard let found = registry.find(place) else { return nil }
      registry.types[place] = found
      return found
    }
  }

  /// Whether a slot comes next in a memberwise `init` after so many of which both orders could be.
  func isMemberwise(_ slot: Int32, after next: Int32) -> Bool {
    next <= common && memberwise?[Int(next)] == slot
  }
}

extension Place {
  fileprivate var position: UInt64 { UInt64(line) << 33 | UInt64(column) << 1 | (hasValue ? 1 : 0) }
}
