internal import MagicJournal

/// A type's properties, in the order of their declaration: worked out once for a type, not for each object.
struct Layout: Sendable {
  struct Property: Sendable {
    let name: Name
    let kind: Value.Kind
    let role: PropertyRole
    /// Whether an object without a stored value can be shown: it has a default, or may be nil.
    let canBeAbsent: Bool
    /// What `init()` leaves in it, and in how many assignments: an instance in which both are the same has not set it.
    let initial: Value?
    let initialEdits: Int
  }

  let name: Name
  /// Never empty.
  let properties: [Property]
  /// Where each wrapper is in an instance; `nil` if the type's instances have to be looked through one by one.
  private let offsets: [Int]?

  let primary: Int?
  /// The type as replication knows it.
  let schema: TypeSchema

  private static let known = Locked<[ObjectIdentifier: Layout]>([:])

  static func of<Object: MagicObject>(_ type: Object.Type) throws -> Layout {
    if let layout = known.withLock({ $0[ObjectIdentifier(type)] }) { return layout }
    // Worked out without the lock: `init()` is the app's, and may save objects of its own.
    let layout = try Layout(type)
    known.withLock { $0[ObjectIdentifier(type)] = layout }
    return layout
  }

  private init<Object: MagicObject>(_ type: Object.Type) throws {
    let probe = Object()
    guard !(Mirror(reflecting: probe).superclassMirror?.subjectType is any MagicObject.Type) else {
      throw MagicDataError(
        .model, "\(type) cannot be stored: its superclass is a MagicObject as well, and a model is a struct or a final class")
    }
    let children = Layout.wrappers(of: probe)
    do {
      name = try Name(type.magicName)
      properties = try children.map { label, wrapper in
        let role = Swift.type(of: wrapper).role
        return Property(
          name: try Name(String(label.dropFirst())), kind: Swift.type(of: wrapper).kind, role: role,
          canBeAbsent: wrapper.canBeAbsent, initial: role == .primary ? nil : try wrapper.box.encoded(),
          initialEdits: wrapper.box.edits)
      }
    } catch let error as JournalError {
      throw MagicDataError(.model, "\(type) cannot be stored: \(error.message)", cause: error)
    }
    guard !properties.isEmpty else {
      throw MagicDataError(.model, "\(type) cannot be stored: it has no property with @MagicValue or its relatives")
    }
    guard properties.count(where: { $0.role == .primary }) < 2 else {
      throw MagicDataError(.model, "\(type) cannot be stored: it has two primary values, where one names an object")
    }
    guard properties.count <= Limits.fieldsOfType else {
      throw MagicDataError(.tooLarge, "\(type) cannot be stored: it has more than \(Limits.fieldsOfType) properties")
    }
    primary = properties.firstIndex { $0.role == .primary }
    let fields = properties.map { TypeSchema.Field(name: $0.name, kind: $0.kind) }
    schema = TypeSchema(
      name: name, primary: primary.map { fields[$0] }, fields: zip(properties, fields).filter { $0.0.role != .primary }.map(\.1)
    )
    let second = Object()
    let offsets = Layout.offsets(of: children.map(\.wrapper.box), in: probe)
    let same = offsets == Layout.offsets(of: Layout.wrappers(of: second).map(\.wrapper.box), in: second)
    self.offsets = same ? offsets : nil
  }

  /// The boxes of an instance's properties, in the order of `properties`.
  func boxes<Object: MagicObject>(of object: Object) throws -> [Box] {
    guard Swift.type(of: object) == Object.self else {
      throw MagicDataError(
        .model, "a \(Swift.type(of: object)) was given as a \(Object.self); a model is a struct or a final class")
    }
    guard let offsets else { return Layout.wrappers(of: object).map(\.wrapper.box) }
    return withUnsafeBytes(of: object) { bytes in
      offsets.map { offset in
        // `offsets` found a reference to a box here in two instances, and a type's layout does not change.
        Unmanaged<Box>.fromOpaque(bytes.load(fromByteOffset: offset, as: UnsafeRawPointer.self)).takeUnretainedValue()
      }
    }
  }

  private static func wrappers<Object: MagicObject>(of object: Object) -> [(label: String, wrapper: any MagicProperty)] {
    Mirror(reflecting: object).children.compactMap { child in
      // A wrapper stands under its property's name with an underscore in front.
      // The type is asked first, or an optional wrapper would be taken for one.
      guard let label = child.label, Swift.type(of: child.value) is any MagicProperty.Type,
        let wrapper = child.value as? any MagicProperty
      else { return nil }
      return (label, wrapper)
    }
  }

  /// Where in a struct's bytes the references to these boxes stand, if each stands at one place. A class is no such struct.
  private static func offsets<Object: MagicObject>(of boxes: [Box], in object: Object) -> [Int]? {
    guard !(Object.self is AnyClass) else { return nil }
    return withUnsafeBytes(of: object) { bytes in
      let step = MemoryLayout<UnsafeRawPointer>.stride
      var offsets: [Int] = []
      for box in boxes {
        let address = UInt(bitPattern: Unmanaged.passUnretained(box).toOpaque())
        let places = stride(from: 0, through: bytes.count - step, by: step).filter {
          bytes.load(fromByteOffset: $0, as: UInt.self) == address
        }
        guard places.count == 1 else { return nil }
        offsets.append(places[0])
      }
      return offsets
    }
  }
}
