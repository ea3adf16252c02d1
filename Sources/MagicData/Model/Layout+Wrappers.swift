internal import COpening

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
}
