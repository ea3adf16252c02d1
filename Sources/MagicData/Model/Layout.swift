internal import COpening
internal import MagicJournal

/// A type's properties, in the order of their declaration: worked out once for a type, not for each object.
final class Layout: Sendable {
  struct Property: Sendable {
    let field: TypeSchema.Field
    let role: PropertyRole
    let codec: Codec
    /// Of a property that holds objects.
    let relation: (any RelationCodec)?
    /// Whether an object without a stored value can be shown: it has a default, or may be nil.
    let canBeAbsent: Bool
    /// What `init()` leaves in it, and in how many assignments: an instance in which both are the same has not set it.
    let initial: Value?
    let initialEdits: UInt32

    var name: Name { field.name }
    var kind: Value.Kind { field.kind }
  }

  let type: any MagicObject.Type
  let name: Name
  /// Never empty.
  let properties: [Property]
  /// Where each wrapper is in an instance; `nil` if the type's instances have to be looked through one by one.
  private let offsets: [Int]?

  let primary: Int?
  /// The type as replication knows it.
  let schema: TypeSchema
  /// The types of the objects that it holds, by their names alone.
  let targets: [TypeSchema]
  let hasRelations: Bool
  /// The properties that hold assets.
  let assets: [Int]

  private static let known = Locked<[ObjectIdentifier: Layout]>([:])

  static func of<Object: MagicObject>(_ type: Object.Type) throws -> Layout {
    if let layout = known.withLock({ $0[ObjectIdentifier(type)] }) { return layout }
    // Worked out without the lock: `init()` is the app's, and may save objects of its own.
    let (layout, places) = try make(type)
    return known.withLock { known in
      if let layout = known[ObjectIdentifier(type)] { return layout }
      known[ObjectIdentifier(type)] = layout
      names.withLock {
        $0.append(contentsOf: zip(places, layout.properties).map { (place: $0, name: "\(layout.name).\($1.name)") })
      }
      OpenType.register(places)
      return layout
    }
  }

  private static func make<Object: MagicObject>(_ type: Object.Type) throws -> (Layout, [Place]) {
    let probe = Object()
    guard !(Mirror(reflecting: probe).superclassMirror?.subjectType is any MagicObject.Type) else {
      throw MagicDataError(
        .model, "\(type) cannot be stored: its superclass is a MagicObject as well, and a model is a struct or a final class")
    }
    let children = wrappers(of: probe)
    let name: Name
    let properties: [Property]
    var targets: [TypeSchema] = []
    do {
      name = try Name(type.magicName)
      properties = try children.map { label, wrapper in
        let type = Swift.type(of: wrapper)
        let state = wrapper.property.storage[wrapper.property.index]
        let name = try Name(String(label.dropFirst()))
        let (kind, relation) = (type.valueType.magicKind, relation(type.valueType))
        guard relation != nil || (type.valueType as? any CodedCollection.Type)?.holdsObjects != true else {
          throw MagicDataError(
            .model,
            "\(Object.self).\(name) cannot be stored: objects stand in a MagicalSet, an array or a dictionary of one level")
        }
        let target = try relation.map { try Layout.target($0.target) }
        if let target { targets.append(target) }
        return Property(
          field: TypeSchema.Field(name: name, kind: kind, target: target?.identity), role: type.role, codec: type.codec,
          relation: relation,
          canBeAbsent: type.role == .optional || kind.isLinked || kind == .asset
            || (type.role == .required && wrapper.property.hasValue),
          initial: type.role == .primary || relation != nil ? nil : try state.slot.value(), initialEdits: state.edits)
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
    let second = Object()
    let offsets = offsets(of: children.map(\.wrapper.property), in: probe)
    let same = offsets == Layout.offsets(of: wrappers(of: second).map(\.wrapper.property), in: second)
    let layout = Layout(type, name, properties, targets, offsets: same ? offsets : nil)
    // A wrapper that already shares a storage belongs to places that are known.
    let places = children.map(\.wrapper.property.storage.header)
    return (layout, places.allSatisfy { $0.count == 1 } ? places.map(\.place) : [])
  }

  private init(
    _ type: any MagicObject.Type, _ name: Name, _ properties: [Property], _ targets: [TypeSchema], offsets: [Int]?
  ) {
    self.type = type
    self.targets = targets
    hasRelations = !targets.isEmpty
    assets = properties.indices.filter { properties[$0].kind == .asset }
    self.name = name
    self.properties = properties
    self.offsets = offsets
    primary = properties.firstIndex { $0.role == .primary }
    let fields = properties.map(\.field)
    schema = TypeSchema(
      name: name, primary: primary.map { fields[$0] }, fields: zip(properties, fields).filter { $0.0.role != .primary }.map(\.1)
    )
  }

  private static func relation<Value: Magical>(_ type: Value.Type) -> (any RelationCodec)? { Codec.relation(type) }

  /// What is to be known of a type of which others hold objects: how they are named. (Its layout may be in the making.)
  private static func target<Object: MagicObject>(_ type: Object.Type) throws -> TypeSchema {
    let primary = wrappers(of: Object()).first { Swift.type(of: $0.wrapper).role == .primary }
    return TypeSchema(
      name: try Name(type.magicName),
      primary: try primary.map { label, wrapper in
        TypeSchema.Field(name: try Name(String(label.dropFirst())), kind: Swift.type(of: wrapper).valueType.magicKind)
      })
  }

  // MARK: Finding the wrappers

  /// An instance's properties, in the order of `properties`.
  func places<Object: MagicObject>(of object: Object) throws -> Instance.Places {
    guard Swift.type(of: object) == Object.self else {
      throw MagicDataError(
        .model, "a \(Swift.type(of: object)) was given as a \(Object.self); a model is a struct or a final class")
    }
    guard let offsets else { return .apart(Layout.wrappers(of: object).map(\.wrapper.property)) }
    return try Layout.withBytes(of: object) { bytes in
      // `offsets` found a wrapper here in two instances, and a type's layout does not change.
      let first = bytes.loadUnaligned(fromByteOffset: offsets[0], as: UnsafeRawPointer.self)
      let isShared = offsets.indices.allSatisfy { index in
        bytes.loadUnaligned(fromByteOffset: offsets[index], as: UnsafeRawPointer.self) == first
          && bytes.loadUnaligned(fromByteOffset: offsets[index] + Layout.slotOffset, as: Int32.self) == Int32(index)
      }
      if isShared { return .shared(Unmanaged<Storage>.fromOpaque(first).takeUnretainedValue()) }
      let properties = offsets.map { bytes.load(fromByteOffset: $0, as: PropertySlot.self) }
      guard properties[0].slot == 0 else {
        throw MagicDataError(
          .model, "\(name) cannot be stored: its first property is declared where another type's is, as by a macro")
      }
      return .apart(properties)
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

  /// A wrapper is a reference to a storage and, behind it, a slot.
  private static let slotOffset = MemoryLayout<PropertySlot>.offset(of: \.slot) ?? MemoryLayout<UnsafeRawPointer>.size

  /// Where in an instance's bytes these wrappers stand, if each stands at one place.
  private static func offsets<Object: MagicObject>(of properties: [PropertySlot], in object: Object) -> [Int]? {
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

  // MARK: Names

  private static let names = Locked<[(place: Place, name: String)]>([])

  /// The type and the property that are declared at a place, if the type was met already.
  static func name(ofPropertyAt place: Place) -> String? {
    names.withLock { names in names.first { $0.place.isSame(as: place) }?.name }
  }

  /// The same for a slot of a storage whose first property is declared at a place.
  static func name(ofPropertyAt slot: Int, firstAt place: Place) -> String? {
    names.withLock { names in
      guard let first = names.firstIndex(where: { $0.place.isSame(as: place) }), names.indices.contains(first + slot) else {
        return nil
      }
      return names[first + slot].name
    }
  }
}
