internal import Foundation
internal import MagicJournal

/// A type's properties, in the order of their declaration: worked out once for a type, not for each object.
final class Layout: Sendable {
  struct Property: Sendable {
    let name: Name
    /// What its values are stored as: under its name, or the first that it had.
    let field: TypeSchema.Field
    let role: PropertyRole
    let codec: Codec
    /// How objects are held; `nil` for a property that holds none.
    let relation: (any RelationCodec)?
    /// Whether an object without a stored value can be shown: it has a default, or may be nil.
    let canBeAbsent: Bool
    /// How values are read that only a kind has which it was stored as before.
    let formerKinds: [FormerKind]
    /// What an object shows that has no value for it.
    let fillIn: Value?
    /// What `init()` leaves in it, of which a nil at the property is one as well, and in how many assignments: an instance in
    /// which both are the same has not set it.
    let initial: Value?
    let initialEdits: UInt32
    /// Whether that stands at the property, where it may be another one later: a day, a setting, chance.
    let mayVary: Bool
    /// Whether it was another one at once, as a `Date()` is.
    let isVolatile: Bool
    /// What `init()` leaves in a property that holds objects, twice: what differs is another one each time.
    nonisolated(unsafe) let initialObjects: (Held, Held)?
    /// What tells SQL whether a value can be read without which an object is not shown, if that is in doubt.
    let reader: Int?

    var kind: Value.Kind { field.kind }
    /// What its values may be stored as from before.
    var formerFields: [TypeSchema.Field] { formerKinds.map { TypeSchema.Field(name: field.name, kind: $0.kind) } }
  }

  /// What each fetched object asks of a property.
  struct Fetch {
    let codec: Codec
    let slot: Int
    /// Whether nil is as good a value as any, and what `init()` leaves.
    let mayBeNull: Bool

    func holds(_ slot: Slot) -> Bool {
      if case .null = slot, mayBeNull { true } else { codec.takes(slot) }
    }
  }

  let type: any MagicObject.Type
  let name: Name
  /// Never empty.
  let properties: [Property]
  /// What each object asks of each property, apart: a whole `Property` would be copied, reference by reference.
  let codecs: [Codec]
  /// What may change without being set.
  let changing: PropertySet
  /// The properties whose values are objects of a class; the primary one, which names an object, is none of them.
  let classes: [Int]
  let roles: [PropertyRole]
  /// What a fetched object asks of each property, with the slots. It stays for good, as layouts do, so that nobody counts who
  /// uses it.
  nonisolated(unsafe) let fetches: UnsafeBufferPointer<Fetch>
  let initialEdits: [UInt32]
  let relational: PropertySet
  /// By property: what an object shows that has no value for it.
  let fillIns: [Int: Value]
  /// By property: its slot in a storage that all share. Reverses have slots between them.
  let slots: [Int]
  /// Where each wrapper is in an instance, and its slot, and after them those of reverses, whose slots do not matter; `nil` if
  /// the type's instances have to be looked through one by one.
  nonisolated(unsafe) let offsets: UnsafeBufferPointer<(offset: Int, slot: Int32?)>?
  let isClass: Bool
  /// Where the first wrapper is declared of a struct that is nothing but the wrappers of its values, one after the other: then
  /// an instance can be put together of a row. `nil` for any other type.
  nonisolated(unsafe) let firstPlace: Place?

  let primary: Int?
  private let primaryKind: Value.Kind?
  /// The properties of each index that the model declares, in their order.
  let indexes: [[Int]]
  /// The type as replication knows it: a field for each property but the primary one, and behind them one for each of their
  /// former kinds.
  let schema: TypeSchema
  /// The types of the objects that it holds, by their names alone.
  let targets: [TypeSchema]
  let hasRelations: Bool
  /// Whether its objects hold neither others nor assets.
  var isPlain: Bool { !hasRelations && assets.isEmpty }
  /// Whether no value needs memory of its own, but for texts.
  let isScalar: Bool
  /// Whether some property may have a value in the database that cannot be read as its type.
  let hasReaders: Bool
  /// Whether its objects may ask their database for more: they have a reverse, or objects that are fetched later.
  let asks: Bool
  /// The slots of reverses.
  let reverses: [Int]
  /// The properties that hold assets.
  let assets: [Int]
  /// What `varies` has found.
  let later = Locked(Later())

  private static let known = Locked<[ObjectIdentifier: Layout]>([:])
  /// At this moment: an `init()` may ask for the layout for which it is called.
  private static let making = Locked<Set<Making>>([])

  private struct Making: Hashable {
    let type: ObjectIdentifier
    let thread = ObjectIdentifier(Thread.current)
  }

  static func of<Object: MagicObject>(_ type: Object.Type) throws -> Layout {
    if let layout = known.withLock({ $0[ObjectIdentifier(type)] }) { return layout }
    let making = Making(type: ObjectIdentifier(type))
    let isFirst = Layout.making.withLock { $0.insert(making).inserted }
    defer { if isFirst { Layout.making.withLock { _ = $0.remove(making) } } }
    // Worked out without the lock: `init()` is the app's, and may save objects of its own.
    let (layout, places) = try make(type, checksReverses: isFirst)
    return known.withLock { known in
      if let layout = known[ObjectIdentifier(type)] { return layout }
      known[ObjectIdentifier(type)] = layout
      layout.addNames(of: places)
      OpenType.register(places, isStruct: !layout.isClass)
      return layout
    }
  }

  /// What tells an instance from others; `nil` if its type cannot be stored. It may be asked for by that type's `init()` while
  /// the layout is made, as by a set with members: then there is no more of it.
  static func first<Object: MagicObject>(of object: Object) -> (part: Storage.Part?, instance: Instance?) {
    let type = ObjectIdentifier(Object.self)
    guard known.withLock({ $0[type] }) == nil, making.withLock({ $0.contains(Making(type: type)) }) else {
      // Why it cannot be stored says the update that comes.
      let instance = try? Instance(of: object)
      return (instance?.first, instance)
    }
    return (inOrder(wrappers(of: object)).first?.part, nil)
  }

  static func of(any type: any MagicObject.Type) throws -> Layout { try of(type) }

  /// - Parameter checksReverses: whether nobody else does: an owner's `init()` may save such an object, which asks for this
  ///   layout again.
  private static func make<Object: MagicObject>(_ type: Object.Type, checksReverses: Bool) throws -> (Layout, [Place]) {
    let probe = Object()
    try checkSuperclasses(of: probe)
    let all = wrappers(of: probe)
    for (label, wrapper) in all where checksReverses {
      do {
        try (wrapper as? any ReverseProperty)?.checkRelation(to: type)
      } catch let error as MagicDataError {
        throw MagicDataError(error.code, "\(type).\(label.dropFirst()) cannot be: \(error.message)")
      }
    }
    let children = all.filter { Swift.type(of: $0.wrapper).role != .reverse }
    let second = Object()
    let others = wrappers(of: second).filter { Swift.type(of: $0.wrapper).role != .reverse }.map(\.wrapper.property)
    let name: Name
    let properties: [Property]
    var targets: [TypeSchema] = []
    do {
      name = try Name(type.magicName)
      let declared = try DeclaredChanges(type.createMigrations(), of: probe, children.map(\.wrapper.property))
      properties = try children.enumerated().map { index, child in
        let (made, target) = try property(index, child.label, child.wrapper, others, declared)
        if let target { targets.append(target) }
        return made
      }
      try declared.check(properties)
    } catch let error as JournalError {
      throw MagicDataError(.model, "\(type) cannot be stored: \(error.message)", cause: error)
    } catch let error as MagicDataError {
      throw MagicDataError(error.code, "\(type) cannot be stored: \(error.message)", cause: error.cause)
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
    let offsets = offsets(of: inOrder(all), in: probe)
    let same = offsets == Layout.offsets(of: inOrder(wrappers(of: second)), in: second)
    let slots = all.indices.filter { Swift.type(of: all[$0].wrapper).role != .reverse }
    // A wrapper that already shares a storage belongs to places that are known.
    let headers = all.map(\.wrapper.property.storage.header)
    let places = headers.allSatisfy { $0.count == 1 } ? headers.map(\.place) : []
    // A small property may stand in the gap behind a wrapper, so they are counted as well.
    let mirror = Mirror(reflecting: probe)
    let isWrappers =
      mirror.displayStyle == .struct && !(probe is any CustomReflectable) && mirror.children.count == all.count
      && slots.count == all.count && same && offsets == all.indices.map { $0 * MemoryLayout<PropertySlot>.stride }
      && MemoryLayout<Object>.stride == all.count * MemoryLayout<PropertySlot>.stride
    let layout = Layout(
      type, name, properties, targets, slots, reverses: all.indices.filter { !slots.contains($0) },
      offsets: same ? offsets : nil,
      indexes: try MagicIndex.properties(of: type), firstPlace: isWrappers ? places.first : nil)
    return (layout, places)
  }

  /// - Parameters:
  ///   - wrapper: of a probe.
  ///   - others: those of a second one.
  /// - Returns: what is to be known of the objects that it holds as well.
  private static func property(
    _ index: Int, _ label: String, _ wrapper: any MagicProperty, _ others: [PropertySlot], _ declared: DeclaredChanges
  ) throws -> (Property, target: TypeSchema?) {
    let type = Swift.type(of: wrapper)
    let state = wrapper.property.storage[wrapper.property.index]
    let other = others.indices.contains(index) ? others[index].storage[others[index].index] : state
    let (name, fillIn) = (try Name(String(label.dropFirst())), declared.fillIn(index))
    let (kind, relation) = (type.valueType.magicKind, relation(type.valueType))
    guard relation != nil || !kind.isRelation, kind != .asset || type.valueType is any AnyAsset.Type else {
      throw MagicDataError(
        .model,
        "\(name): \(type.valueType) is a type of the app's own, whose magicKind cannot be \(kind); store it as a scalar or a MagicalCodable"
      )
    }
    guard relation != nil || (type.valueType as? any CodedCollection.Type)?.holdsObjects != true else {
      throw MagicDataError(.model, "\(name): objects stand in a MagicalSet, an array or a dictionary of one level")
    }
    if let asked = type.valueType as? any AsyncProperty.Type,
      relation == nil && kind != .asset || asked.wrapped is any AsyncProperty.Type
    {
      throw MagicDataError(.model, "\(name): an AsyncMagical holds objects or an asset, and no \(asked.wrapped)")
    }
    let target = try relation.map { try Layout.target($0.target) }
    let hasDefault = wrapper.property.hasValue || fillIn != nil
    let canBeAbsent = type.role == .optional || kind.isLinked || kind == .asset || (type.role == .required && hasDefault)
    let hasInitial = type.role != .primary && relation == nil
    let isDeclared = type.role != .primary && wrapper.property.isDeclaredWithValue && state.edits == 1
    let initialObjects: (Held, Held)? =
      if relation != nil, case .held(let held) = state.slot, case .held(let second) = other.slot { (held, second) } else {
        nil
      }
    let property = Property(
      name: name,
      field: TypeSchema.Field(name: declared.storedName(index, named: name), kind: kind, target: target?.identity),
      role: type.role, codec: type.codec, relation: relation,
      canBeAbsent: canBeAbsent,
      formerKinds: declared.formerKinds(index), fillIn: fillIn,
      initial: hasInitial ? try state.slot.value() : nil, initialEdits: state.edits,
      mayVary: isDeclared && kind != .asset,
      isVolatile: isDeclared && hasInitial ? try state.slot.value() != other.slot.value() : false,
      initialObjects: initialObjects,
      reader: canBeAbsent || relation != nil
        ? nil : PropertyReader.number(type.codec, kind, former: declared.formerKinds(index)))
    return (property, target)
  }

  private init(
    _ type: any MagicObject.Type, _ name: Name, _ properties: [Property], _ targets: [TypeSchema], _ slots: [Int],
    reverses: [Int], offsets: [Int]?, indexes: [[Int]], firstPlace: Place?
  ) {
    self.type = type
    self.slots = slots
    self.targets = targets
    hasRelations = !targets.isEmpty
    self.reverses = reverses
    asks = !reverses.isEmpty || properties.contains { $0.relation?.isAsync == true }
    assets = properties.indices.filter { properties[$0].kind == .asset }
    self.name = name
    self.properties = properties
    codecs = properties.map(\.codec)
    hasReaders = properties.contains { $0.reader != nil }
    isScalar = codecs.allSatisfy { if case .held = $0 { false } else { true } }
    var changing = PropertySet()
    for index in codecs.indices where codecs[index].mayChange { changing.insert(index) }
    self.changing = changing
    classes = properties.indices.filter { properties[$0].role != .primary && properties[$0].codec.isClass }
    roles = properties.map(\.role)
    initialEdits = properties.map(\.initialEdits)
    var relational = PropertySet()
    for index in properties.indices where properties[index].relation != nil { relational.insert(index) }
    self.relational = relational
    fillIns = Dictionary(
      uniqueKeysWithValues: properties.enumerated().compactMap { index, property in property.fillIn.map { (index, $0) } })
    self.offsets = offsets.map { Layout.forGood($0.enumerated().map { ($1, $0 < slots.count ? Int32(slots[$0]) : nil) }) }
    fetches = Layout.forGood(
      zip(properties, slots).map {
        Fetch(codec: $0.codec, slot: $1, mayBeNull: $0.role == .optional && $0.initial == nil && $0.relation == nil)
      })
    self.firstPlace = firstPlace
    isClass = type is AnyClass
    self.indexes = indexes
    primary = properties.firstIndex { $0.role == .primary }
    primaryKind = primary.map { properties[$0].kind }
    let fields = properties.map(\.field)
    let former = properties.flatMap(\.formerFields)
    schema = TypeSchema(
      name: name, primary: primary.map { fields[$0] },
      fields: zip(properties, fields).filter { $0.0.role != .primary }.map(\.1) + former)
  }

  /// What a primary value is looked up as.
  func key(_ primary: some MagicalPrimary) throws -> ObjectKey {
    let value = try primary.magicValue
    guard let index = self.primary else {
      throw MagicDataError(.model, "\(name) has no primary value, so its objects cannot be looked up by one")
    }
    guard primaryKind == value.kind else {
      throw MagicDataError(
        .model,
        """
        \(name).\(properties[index].name) is of kind \(properties[index].kind), and a \(Swift.type(of: primary)) was given
        """)
    }
    return .primary(value)
  }

  /// Whether a property is a number that the database gives (J-27).
  func isAutomatic(_ index: Int) -> Bool {
    if index == primary, case .integer = properties[index].codec { true } else { false }
  }

  static func relation<Value: Magical>(_ type: Value.Type) -> (any RelationCodec)? { Codec.relation(type) }

  /// What is to be known of a type of which others hold objects: how they are named. (Its layout may be in the making.)
  private static func target<Object: MagicObject>(_ type: Object.Type) throws -> TypeSchema {
    let primary = wrappers(of: Object()).first { Swift.type(of: $0.wrapper).role == .primary }
    return TypeSchema(
      name: try Name(type.magicName),
      primary: try primary.map { label, wrapper in
        TypeSchema.Field(name: try Name(String(label.dropFirst())), kind: Swift.type(of: wrapper).valueType.magicKind)
      })
  }

  private static func forGood<Element>(_ elements: [Element]) -> UnsafeBufferPointer<Element> {
    let copy = UnsafeMutableBufferPointer<Element>.allocate(capacity: elements.count)
    _ = copy.initialize(from: elements)
    return UnsafeBufferPointer(copy)
  }
}
