internal import COpening

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

  /// Of what belongs to no wrapper.
  static var unknown: Place { Place("", 0, 0, "", hasValue: false) }

  private static func address(of literal: StaticString) -> UnsafePointer<UInt8> {
    literal.hasPointerRepresentation ? literal.utf8Start : StaticString("").utf8Start
  }

  var fileName: String { String(cString: file) }
  var typeName: String { String(cString: type) }

  /// The same declaration; the compiler may put the same literal into memory more than once.
  func isSame(as other: Place) -> Bool {
    column == other.column && lineAndValue == other.lineAndValue
      && (file == other.file || fileName == other.fileName)
  }
}

/// How the wrappers of one instance find their common storage.
///
/// All wrappers of an instance are made in the order of their declaration, before the first line of its `init` runs; only default values
/// are evaluated in between. So once a type's layout is known, the wrapper at the place of its first property opens a storage for all, and
/// each that comes at the next expected place takes the next slot.
///
/// Why this is sound whatever the program does: a slot is given once. Each wrapper reads and writes its own slot of its own storage, and
/// what an instance knows of the database is read from its first wrapper's storage, where that wrapper's slot is the first of an instance (`Storage.isFirst`): that wrapper opened it
/// itself, as slot 0 or as the only slot, or a fetch has put it there. A wrapper that does not find the others (made before the layout was known, by an explicit `MagicValue(…)`, in a delegating
/// `init`, by a macro) has a storage of its own: that costs an allocation, and nothing else. A storage that is never filled waits on its
/// thread until others push it out.
enum Opening {
  /// A slot for a wrapper that is being made.
  static func slot(at place: Place) -> (storage: Storage, slot: Int32) {
    let openings = c_openings()
    if openings.pointee.depth > 0 {
      let top = openings.top
      let places = top.pointee.places.assumingMemoryBound(to: Place.self)
      let slot = top.pointee.next
      if places[Int(slot)].isNext(place), top.pointee.file == UnsafeRawPointer(place.file) {
        top.pointee.next += 1
        let storage = Unmanaged<Storage>.fromOpaque(top.pointee.storage)
        // The last wrapper takes over the thread's reference.
        guard slot + 1 == top.pointee.count else { return (storage.takeUnretainedValue(), slot) }
        openings.pointee.depth -= 1
        return (storage.takeRetainedValue(), slot)
      }
    }
    return open(place, openings)
  }

  private static func open(_ place: Place, _ openings: UnsafeMutablePointer<COpenings>) -> (storage: Storage, slot: Int32) {
    guard let type = type(openings, place) else { return (Storage.make(1, place), 0) }
    let storage = Storage.make(type.count, place)
    guard type.count > 1 else { return (storage, 0) }
    if openings.pointee.depth == COpeningDepth { openings.dropOldest() }
    openings.pointee.depth += 1
    openings.top.pointee = COpening(
      storage: Unmanaged.passRetained(storage).toOpaque(), places: type.places, file: place.file, count: Int32(type.count),
      next: 1)
    return (storage, 0)
  }

  private static func type(_ openings: UnsafeMutablePointer<COpenings>, _ place: Place) -> OpenType? {
    if let last = openings.pointee.type {
      let type = Unmanaged<OpenType>.fromOpaque(last).takeUnretainedValue()
      if type.places[0].isNext(place), type.places[0].file == place.file { return type }
    }
    guard let type = OpenType.find(place) else { return nil }
    openings.pointee.type = UnsafeRawPointer(Unmanaged.passUnretained(type).toOpaque())
    return type
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

  fileprivate func dropOldest() {
    let stack = UnsafeMutableRawPointer(self).assumingMemoryBound(to: COpening.self)
    Unmanaged<Storage>.fromOpaque(stack[0].storage).release()
    for index in 1..<Int(pointee.depth) { stack[index - 1] = stack[index] }
    pointee.depth -= 1
  }
}

/// A type whose wrappers' places are known. It lives for good, as types do.
final class OpenType: Sendable {
  // Never changed, and for good as well; a place holds addresses of literals alone.
  nonisolated(unsafe) let places: UnsafePointer<Place>
  let count: Int

  private struct Registry {
    var types: [Place: OpenType] = [:]
    /// A first property at this line and column is known, maybe under another copy of its file's name.
    var positions: [UInt64: [OpenType]] = [:]
  }

  private static let registry = Locked(Registry())

  private init(_ places: [Place]) {
    count = places.count
    let copy = UnsafeMutablePointer<Place>.allocate(capacity: count)
    copy.initialize(from: places, count: count)
    self.places = UnsafePointer(copy)
  }

  /// From here on the wrappers of instances find each other, if their places tell them apart.
  static func register(_ places: [Place]) {
    guard let first = places.first, Set(places.map(\.position)).count == places.count else { return }
    registry.withLock { registry in
      guard registry.positions[first.position]?.contains(where: { $0.places[0].isSame(as: first) }) != true else { return }
      let type = OpenType(places)
      registry.types[first] = type
      registry.positions[first.position, default: []].append(type)
    }
  }

  static func find(_ first: Place) -> OpenType? {
    registry.withLock { registry in
      if let type = registry.types[first] { return type }
      guard let type = registry.positions[first.position]?.first(where: { $0.places[0].isSame(as: first) }) else { return nil }
      registry.types[first] = type
      return type
    }
  }
}

extension Place {
  fileprivate var position: UInt64 { UInt64(line) << 33 | UInt64(column) << 1 | (hasValue ? 1 : 0) }
}
