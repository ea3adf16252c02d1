internal import Foundation
internal import GRDB
public import MagicJournal

/// A property's objects, or asset, that are not fetched with their owner, but when they are asked for.
///
/// ```swift
/// @MagicValue var pages: AsyncMagical<[Page]>
/// ```
///
/// ```swift
/// for try await page in try book.pages.createAsyncStream() { print(page.text) }
/// ```
///
/// It is stored as its value would be. What it gives is what the database holds when it is asked, which is not what an open
/// transaction has changed (in memory it throws `transaction` there); for a value that was set and is in memory, that value.
public struct AsyncMagical<Wrapped: Magical>: Magical {
  enum State {
    case value(Wrapped)
    case stored(StoredProperty)
  }

  private(set) var state: State

  /// A value to be saved with its owner.
  public init(value: Wrapped) {
    state = .value(value)
  }

  init(_ stored: StoredProperty) {
    state = .stored(stored)
  }

  /// The value: fetched, unless it was set. An asset holds its content then, and has been checked.
  /// - Throws: ``MagicDataError`` with `notFound` if one object, or the asset's file, was removed or has not arrived; `value`
  ///   if one object has a value that this version of the model cannot read; `failed` if the database is closed; for an asset
  ///   also what ``MagicAsset/load()`` throws.
  public nonisolated(nonsending) func get() async throws -> Wrapped {
    switch state {
    case .value(let value): return try await (value as? any AnyAsset)?.loaded(as: Wrapped.self) ?? value
    case .stored(let property):
      guard let relation = Codec.relation(Wrapped.self) else {
        throw MagicDataError(.model, "an AsyncMagical holds objects, and no \(Wrapped.self)")
      }
      let (links, objects) = try await property.fetch(relation.target)
      let slot = try relation.slot(of: links, among: objects)
      property.shown = if case .held(let held)? = slot { (held.links ?? [], held.hidden) } else { nil }
      guard let value = slot?.get(Wrapped.self) else {
        throw relation.isUnreadable(links, among: objects)
          ? MagicDataError(
            .value,
            """
            the object that \(property.name) names has a value that this version of the model cannot read; a newer version of the app can, \
            so leave it in the property
            """)
          : MagicDataError(.notFound, "the object that \(property.name) names was removed, or has not arrived yet")
      }
      return value
    }
  }

  /// Another value, which is saved with its owner. A property that was never set has nothing in it to call this on: assign
  /// `AsyncMagical(value:)`.
  public mutating func set(_ value: Wrapped) {
    state = .value(value)
  }

  public static var magicKind: Value.Kind { Wrapped.magicKind }

  public var magicValue: Value {
    get throws {
      guard Wrapped.magicKind == .asset, case .value(let value) = state else { throw MagicDataError.relation }
      return try value.magicValue
    }
  }

  public init(magicValue: Value) throws {
    guard Wrapped.magicKind == .asset else { throw MagicDataError.relation }
    state = .value(try Wrapped(magicValue: magicValue))
  }
}

extension AsyncMagical: AnyAsset where Wrapped: AnyAsset {
  private var asset: Wrapped? {
    if case .value(let asset) = state { asset } else { nil }
  }

  var place: AssetPlace { asset?.place ?? AssetPlace() }
  var isGiven: Bool { asset?.isGiven ?? false }
  func givenContent() throws -> Data? { try asset?.givenContent() }
  nonisolated(nonsending) func loaded<Asset>(as type: Asset.Type) async throws -> Asset? { try await asset?.loaded(as: type) }
}

extension AsyncMagical: CodedCollection where Wrapped: CodedCollection {
  static var parts: [Any.Type] { Wrapped.parts }
}

/// Several objects that an ``AsyncMagical`` can hold: a ``MagicalSet``, an array, a dictionary.
public protocol AsyncMagicalCollection: Collection, Magical {
  /// The type of the objects that it holds.
  associatedtype AsyncObject: MagicObject

  /// - Parameter name: a dictionary's key as it is stored; empty for the others.
  static func asyncElement(_ object: AsyncObject, name: [UInt8]) throws -> Element
}

extension Array: AsyncMagicalCollection where Element: MagicObject {
  public static func asyncElement(_ object: Element, name: [UInt8]) -> Element { object }
}

extension MagicalSet: AsyncMagicalCollection {
  public static func asyncElement(_ object: Element, name: [UInt8]) -> Element { object }
}

extension Dictionary: AsyncMagicalCollection where Key: Codable, Value: MagicObject {
  public static func asyncElement(_ object: Value, name: [UInt8]) throws -> Element {
    (try CanonicalJSON.read(Key.self, from: .coded(name)), object)
  }
}

extension AsyncMagicalCollection {
  /// `nil` for one whose key cannot be read here, which `get()` leaves out as well.
  fileprivate static func shownElement(_ object: AsyncObject, name: [UInt8]) -> Element? {
    try? asyncElement(object, name: name)
  }
}

extension AsyncMagical where Wrapped: AsyncMagicalCollection {
  /// How many objects there are, with those that cannot be shown. Asks the database at once, on the caller's thread.
  /// - Throws: ``MagicDataError`` with `failed` if the database is closed, `notADatabase` if the file is damaged; in memory
  ///   also `busy`, while others write.
  public var count: Int {
    get throws {
      switch state {
      case .value(let value): value.count
      case .stored(let property): try property.links().count
      }
    }
  }

  /// The objects one after the other, fetched some hundred at a time; a dictionary's with their keys.
  ///
  /// Which objects there are is settled when this is called; one that is removed before its batch is fetched is left out.
  /// - Throws: as ``count``; `next()` as well, and `CancellationError`.
  public func createAsyncStream() throws -> AsyncMagicalStream<Wrapped> {
    switch state {
    case .value(let value): AsyncMagicalStream(values: Array(value))
    case .stored(let property): AsyncMagicalStream(property, try property.links())
    }
  }

  /// One of the objects, each as likely as another; `nil` if there is none, or if it cannot be shown.
  /// - Throws: as ``count``; `CancellationError`.
  public nonisolated(nonsending) func randomValue() async throws -> Wrapped.Element? {
    switch state {
    case .value(let value): return value.randomElement()
    case .stored(let property):
      let links = try property.links()
      return try await property.fetch(links.randomElement(), as: Wrapped.self)
    }
  }
}

extension AsyncMagical where Wrapped: AsyncMagicalCollection, Wrapped.Index == Int {
  /// One of the objects at these places; `nil` if there is none, or if it cannot be shown. Places beyond the last do not count.
  /// - Throws: as ``count``; `CancellationError`.
  public nonisolated(nonsending) func randomValue(in range: Range<Int>) async throws -> Wrapped.Element? {
    switch state {
    case .value(let value):
      let range = range.clamped(to: value.startIndex..<value.endIndex)
      return range.randomElement().map { value[$0] }
    case .stored(let property):
      let links = try property.links()
      return try await property.fetch(links[range.clamped(to: links.indices)].randomElement(), as: Wrapped.self)
    }
  }
}

/// The objects of an ``AsyncMagical``: see ``AsyncMagical/createAsyncStream()``.
public struct AsyncMagicalStream<Wrapped: AsyncMagicalCollection>: AsyncSequence {
  public typealias Element = Wrapped.Element

  private let property: StoredProperty?
  private let links: [Link]
  private let values: [Element]

  init(values: [Element]) {
    (property, links, self.values) = (nil, [], values)
  }

  init(_ property: StoredProperty, _ links: [Link]) {
    (self.property, self.links, values) = (property, links, [])
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(property: property, links: links[...], batch: values[...])
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let property: StoredProperty?
    fileprivate var links: ArraySlice<Link>
    fileprivate var batch: ArraySlice<Element>

    public mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> Element? {
      while batch.isEmpty, !links.isEmpty, let property {
        let (part, rest) = (links.prefix(256), links.dropFirst(256))
        // After an error nothing follows.
        links = []
        let objects = try await property.fetch(Array(part), Wrapped.AsyncObject.self).all(Wrapped.AsyncObject.self)
        batch =
          part.compactMap { link in
            objects?.find(link.target).flatMap { Wrapped.shownElement($0.pointee, name: link.name) }
          }[...]
        links = rest
      }
      return batch.popFirst()
    }

    public nonisolated(nonsending) mutating func next() async throws -> Element? {
      try await next(isolation: #isolation)
    }
  }
}

@available(*, unavailable)
extension AsyncMagicalStream.AsyncIterator: Sendable {}

/// What an ``AsyncMagical`` property needs to know to be asked for.
protocol AsyncProperty: Magical {
  static var inner: (any RelationCodec)? { get }
  static var wrapped: any Magical.Type { get }
  static func holding(_ value: any Magical) -> (any Magical)?
  /// A value that was set.
  var held: (any Magical)? { get }
}

extension AsyncMagical: AsyncProperty {
  static var wrapped: any Magical.Type { Wrapped.self }

  static func holding(_ value: any Magical) -> (any Magical)? { (value as? Wrapped).map { AsyncMagical(value: $0) } }

  var held: (any Magical)? { if case .value(let value) = state { value } else { nil } }

  static var inner: (any RelationCodec)? {
    switch Wrapped.magicKind {
    case .reference, .list, .set, .dictionary: Codec.relation(Wrapped.self).map { AsyncCodec<Wrapped>(inner: $0) }
    default: nil
    }
  }
}

/// A relation whose objects stay where they are until they are asked for.
struct AsyncCodec<Wrapped: Magical>: RelationCodec {
  let inner: any RelationCodec

  var isAsync: Bool { true }
  var kind: Value.Kind { inner.kind }
  var target: any MagicObject.Type { inner.target }

  func members(of held: Held) throws -> (instances: [Instance], names: [[UInt8]]) {
    guard let held = held as? HeldRelation<AsyncMagical<Wrapped>>, case .value(let value) = held.value.state else {
      return ([], [])
    }
    return try inner.members(of: HeldRelation(value, stored: nil))
  }

  func slot(of links: [Link], among objects: FetchedObjects) throws -> Slot? { nil }

  func slot(asking property: StoredProperty) -> Slot? {
    .held(HeldRelation(AsyncMagical<Wrapped>(property), stored: nil))
  }

  func asked(_ held: Held) -> StoredProperty? {
    guard let held = held as? HeldRelation<AsyncMagical<Wrapped>>, case .stored(let property) = held.value.state else {
      return nil
    }
    return property
  }
}

/// A property of an object in a database.
final class StoredProperty {
  let origin: Store
  let owner: any MagicObject.Type
  /// The instance that it was fetched for.
  let holder: InstanceIdentity
  let zIndex: Int64
  /// The key of the object at the z index, which is another's if the transaction that made it was rolled back.
  private let key: ObjectKey?
  let index: Int
  let name: String
  /// What `get()` gave last: a change that is set after it is told from that. `nil` if nobody asked.
  var shown: (links: [Link], hidden: Set<Int64>)?

  init(
    origin: Store, owner: any MagicObject.Type, holder: InstanceIdentity, zIndex: Int64, key: ObjectKey?, index: Int,
    name: String
  ) {
    (self.origin, self.owner, self.holder, self.key) = (origin, owner, holder, key)
    (self.zIndex, self.index, self.name) = (zIndex, index, name)
  }

  /// - Parameter record: of the object that holds it now; `nil` once that was removed.
  func isOf(_ record: Record?, _ index: Int, _ instance: InstanceIdentity) -> Bool {
    guard self.index == index else { return false }
    guard let record else { return holder == instance }
    return origin.id == record.database && zIndex == record.place.zIndex
  }

  /// The links to objects that have a row. On the caller's thread.
  func links() throws -> [Link] {
    let store = origin
    let layout = try StoredProperty.layout(owner)
    let known = store.known(owner)
    return try store.readBlocking { db in
      let place = if let known { RelationPlace(known, index) } else { try RelationPlace(layout, index, db) }
      return try place?.shownLinks(of: zIndex, key, db) ?? []
    }
  }

  /// All objects of the property.
  nonisolated(nonsending) func fetch(_ target: any MagicObject.Type) async throws -> ([Link], FetchedObjects) {
    let scope = Scope.database(origin)
    guard let type = try await scope.mappedForReading(owner), let targets = try await scope.mappedForReading(target) else {
      return ([], FetchedObjects())
    }
    let (zIndex, key, index, types) = (zIndex, key, index, try await scope.typesForReading(of: targets))
    // Links and objects of one moment.
    let (links, graph) = try await scope.read { db in
      let links = try RelationPlace(type, index)?.shownLinks(of: zIndex, key, db) ?? []
      return (links, try FetchedGraph(FetchedRows(targets, db, at: Array(Set(links.map(\.target))).sorted()), types, db))
    }
    return (links, try scope.makeAll(graph))
  }

  /// The objects that some links lead to.
  nonisolated(nonsending) func fetch(_ links: [Link], _ target: any MagicObject.Type) async throws -> FetchedObjects {
    let scope = Scope.database(origin)
    guard let type = try await scope.mappedForReading(target) else { return FetchedObjects() }
    let types = try await scope.typesForReading(of: type)
    let zIndexes = Array(Set(links.map(\.target))).sorted()
    let graph = try await scope.read { db in
      try FetchedGraph(FetchedRows(type, db, at: zIndexes), types, db)
    }
    return try scope.makeAll(graph)
  }

  nonisolated(nonsending) func fetch<Wrapped: AsyncMagicalCollection>(
    _ link: Link?, as _: Wrapped.Type
  ) async throws -> Wrapped.Element? {
    guard let link else { return nil }
    let objects = try await fetch([link], Wrapped.AsyncObject.self).all(Wrapped.AsyncObject.self)
    return objects?.find(link.target).flatMap { Wrapped.shownElement($0.pointee, name: link.name) }
  }

  private static func layout<Object: MagicObject>(_ type: Object.Type) throws -> Layout { try Layout.of(type) }
}
