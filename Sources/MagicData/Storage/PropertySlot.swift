internal import MagicJournal

/// What a wrapper is: a slot of a storage.
@usableFromInline struct PropertySlot {
  @usableFromInline let storage: Storage
  @usableFromInline let slot: Int32

  init(storage: Storage, slot: Int32) {
    (self.storage, self.slot) = (storage, slot)
  }

  init(_ place: Place) {
    (storage, slot) = Opening.slot(at: place)
  }

  var index: Int { Int(slot) }
  /// The instance whose property it is.
  var part: Storage.Part { storage.part(of: index) }

  /// The value, if a slot holds it as it is. This much is done where the caller is: a call of generic code takes many times as
  /// long.
  @inlinable func scalar<Wrapped>(_: Wrapped.Type) -> Wrapped? {
    // The types are the same, so the bits are.
    switch storage.properties[Int(slot)].slot {
    case .integer(let number) where Wrapped.self == Int.self:
      unsafeBitCast(Int(truncatingIfNeeded: number), to: Wrapped.self)
    case .integer(let number) where Wrapped.self == Bool.self: unsafeBitCast(number != 0, to: Wrapped.self)
    case .real(let number) where Wrapped.self == Double.self: unsafeBitCast(number, to: Wrapped.self)
    case .text(let text) where Wrapped.self == String.self: unsafeBitCast(text, to: Wrapped.self)
    default: nil
    }
  }

  var hasValue: Bool { storage[index].slot.hasValue }

  /// Whether a default stands where the property is declared.
  var isDeclaredWithValue: Bool {
    let first = storage.header.place
    guard storage.header.count > 1 else { return first.hasValue }
    guard let (type, _) = OpenType.find(first), index < type.count else { return false }
    return type.places[index].hasValue
  }

  func get<Wrapped: Magical>(_ type: Wrapped.Type) -> Wrapped? {
    storage[index].slot.get(type) ?? PropertyRecorder.standIn(for: self, type)
  }

  /// Objects may lead back to the one that is printed.
  func description<Wrapped: Magical>(of type: Wrapped.Type) -> String {
    let slot = storage[index].slot
    guard slot.hasValue else { return slot.isUnset ? "unset" : "nil" }
    guard !type.magicKind.isRelation, type.magicKind != .asset else { return "\(type)" }
    if type.magicKind == .coded {
      // In JSON an object is its z index, which leads nowhere back. What cannot be encoded has no text; who saves it is told
      // why.
      guard case .held(let held) = slot, case .coded(let text)? = try? (held.changedInPlace() ?? held).encoded() else {
        return "\(type)"
      }
      return String(decoding: text, as: UTF8.self)
    }
    return slot.get(type).map { String(reflecting: $0) } ?? "unset"
  }

  /// The value, which is put back at once: until then the property is unset.
  func take<Wrapped: Magical>(_ type: Wrapped.Type) -> Wrapped {
    let value = required(type)
    storage.empty(at: index)
    return value
  }

  func set<Wrapped: Magical>(_ value: Wrapped?) {
    storage.set(value.map { Slot($0) } ?? .null, at: index)
  }

  func setDefault(_ value: some Magical) {
    storage.setDefault(Slot(value), at: index)
  }

  /// A program that reads what was never set stops here, and says why also when it is optimized.
  func required<Wrapped: Magical>(_ type: Wrapped.Type) -> Wrapped {
    if let value = get(type) { return value }
    let (place, count) = (storage.header.place, storage.header.count)
    if PropertyRecorder.isRecording { PropertyRecorder.stop(type, place) }
    let known = count > 1 ? Layout.name(ofPropertyAt: index % count, firstAt: place) : Layout.name(ofPropertyAt: place)
    let name = known ?? "The value of \(place.typeName) declared at \(place.fileName):\(place.line)"
    if case .held(let held) = storage[index].slot, (held as? MissingObject)?.isUnreadable == true {
      fatalError(
        """
        \(name) (\(type)) names an object with a value that this version of the model cannot read; a newer version of the app can, so leave it \
        in the property, and declare an AsyncMagical, whose get() throws instead
        """)
    }
    if case .held(let held) = storage[index].slot, held.isMissing {
      fatalError(
        """
        \(name) (\(type)) names an object that was removed, or has not arrived yet; set another one, or declare an AsyncMagical, whose get() \
        throws where there is none
        """)
    }
    fatalError(
      "\(name) (\(type)) was read before it was set, or changed in place; assign it first, give it a default, or make it an @OptionMagicValue"
    )
  }
}

/// What the layout needs to know of a property's wrapper.
protocol MagicProperty {
  static var role: PropertyRole { get }
  static var valueType: any Magical.Type { get }
  static var codec: Codec { get }
  var property: PropertySlot { get }
}

enum PropertyRole: Sendable {
  case primary, required, optional
  /// No value of its own: who holds the object.
  case reverse
}
