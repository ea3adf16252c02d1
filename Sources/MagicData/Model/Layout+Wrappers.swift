internal import CPlatform

/// Where the wrappers of a model's properties stand in its instances.
extension Layout {
  static func wrappers<Object: MagicObject>(of object: Object) -> [(label: String, wrapper: any MagicProperty)] {
    Mirror(reflecting: object).children.compactMap { child in
      // A wrapper stands under its property's name with an underscore in front.
      // The type is asked first, or an optional wrapper would be taken for one.
      guard let label = child.label, Swift.type(of: child.value) is any MagicProperty.Type,
        let wrapper = child.value as? any MagicProperty
      else { return nil }
      return (label, wrapper)
    }
  }

  /// The properties' wrappers, then those of reverses.
  static func inOrder(_ wrappers: [(label: String, wrapper: any MagicProperty)]) -> [PropertySlot] {
    let isReverse = { (wrapper: any MagicProperty) in Swift.type(of: wrapper).role == .reverse }
    return (wrappers.filter { !isReverse($0.wrapper) } + wrappers.filter { isReverse($0.wrapper) }).map(\.wrapper.property)
  }

  /// What a superclass has is in no mirror of the model, and would be lost without a word.
  static func checkSuperclasses<Object: MagicObject>(of object: Object) throws {
    var mirror = Mirror(reflecting: object).superclassMirror
    while let above = mirror {
      let fault: String? =
        if above.subjectType is any MagicObject.Type {
          "is a MagicObject as well, and a model is a struct or a final class"
        } else if above.children.contains(where: { Swift.type(of: $0.value) is any MagicProperty.Type }) {
          "has properties with wrappers; declare them in the model itself"
        } else {
          nil
        }
      if let fault {
        throw MagicDataError(.model, "\(Object.self) cannot be stored: its superclass \(above.subjectType) \(fault)")
      }
      mirror = above.superclassMirror
    }
  }

  /// A wrapper is a reference to a storage and, behind it, a slot.
  static let slotOffset = MemoryLayout<PropertySlot>.offset(of: \.slot) ?? MemoryLayout<UnsafeRawPointer>.size

  /// Where in an instance's bytes these wrappers stand, if each stands at one place.
  static func offsets<Object: MagicObject>(of properties: [PropertySlot], in object: Object) -> [Int]? {
    withBytes(of: object) { bytes in
      let step = MemoryLayout<UnsafeRawPointer>.stride
      var offsets: [Int] = []
      for property in properties {
        let address = UInt(bitPattern: Unmanaged.passUnretained(property.storage).toOpaque())
        let places = stride(from: 0, through: bytes.count - MemoryLayout<PropertySlot>.size, by: step).filter {
          bytes.load(fromByteOffset: $0, as: UInt.self) == address
            && bytes.load(fromByteOffset: $0 + slotOffset, as: Int32.self) == property.slot
        }
        guard places.count == 1 else { return nil }
        offsets.append(places[0])
      }
      return offsets
    }
  }

  /// A struct's bytes, or those of the memory that a class's instance has.
  private static func withBytes<Object, Result>(
    of object: Object, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    guard Object.self is AnyClass else { return try withUnsafeBytes(of: object, body) }
    return try withExtendedLifetime(object) {
      let start = Unmanaged.passUnretained(object as AnyObject).toOpaque()
      return try body(UnsafeRawBufferPointer(start: start, count: c_allocation_size(start)))
    }
  }

  // MARK: Of an instance

  /// An instance's properties, in the order of `properties`.
  func places<Object: MagicObject>(of object: Object) throws -> Instance.Places {
    guard Swift.type(of: object) == Object.self else {
      throw MagicDataError(
        .model, "a \(Swift.type(of: object)) was given as a \(Object.self); a model is a struct or a final class")
    }
    return try withUnsafePointer(to: object) { try places(at: $0) }
  }

  /// The properties of an instance that is known to be of the type itself.
  func places<Object: MagicObject>(at object: UnsafePointer<Object>) throws -> Instance.Places {
    guard let offsets else { return .apart(Layout.inOrder(Layout.wrappers(of: object.pointee))) }
    if let (storage, first) = storage(of: object) { return .shared(storage.takeUnretainedValue(), from: first) }
    let bytes = start(of: object)
    let properties = offsets.map { bytes.load(fromByteOffset: $0.offset, as: PropertySlot.self) }
    let (storage, slot) = (properties[0].storage, properties[0].index)
    // Reverses may stand before it.
    guard storage.isFirst(storage.header.count > 1 ? slot - slots[0] : slot) else {
      throw MagicDataError(
        .model, "\(name) cannot be stored: its first property is declared where another type's is, as by a macro")
    }
    return .apart(properties)
  }

  /// The storage that all wrappers of an instance share, each with the slot that is its property's, counted from one slot on;
  /// `nil` if they do not.
  func storage<Object: MagicObject>(of object: UnsafePointer<Object>) -> (Unmanaged<Storage>, first: Int)? {
    guard let offsets else { return nil }
    let bytes = start(of: object)
    let address = bytes.load(fromByteOffset: offsets[0].offset, as: UnsafeRawPointer.self)
    let first = bytes.load(fromByteOffset: offsets[0].offset + Layout.slotOffset, as: Int32.self) - (offsets[0].slot ?? 0)
    for index in 0..<offsets.count {
      let (offset, slot) = offsets[index]
      guard bytes.load(fromByteOffset: offset, as: UnsafeRawPointer.self) == address,
        slot.map({ bytes.load(fromByteOffset: offset + Layout.slotOffset, as: Int32.self) == first + $0 }) ?? true
      else { return nil }
    }
    let storage = Unmanaged<Storage>.fromOpaque(address)
    // Wrappers of two instances may stand in a row.
    guard storage._withUnsafeGuaranteedRef({ $0.isFirst(Int(first)) }) else { return nil }
    return (storage, Int(first))
  }

  /// Where `offsets` count from. They found a wrapper each in two instances, and a type's layout does not change.
  private func start<Object>(of object: UnsafePointer<Object>) -> UnsafeRawPointer {
    let start = UnsafeRawPointer(object)
    return isClass ? start.load(as: UnsafeRawPointer.self) : start
  }
}
