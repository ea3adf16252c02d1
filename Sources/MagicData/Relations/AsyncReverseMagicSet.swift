internal import GRDB
internal import MagicJournal

/// The objects that hold an object, each once, in the order of their z indexes: what the database holds when it is asked, which
/// is not what an open transaction has changed. They come some hundred at a time, each part as of its own moment.
public struct AsyncReverseMagicSet<Element: MagicObject>: AsyncSequence, ExpressibleByArrayLiteral {
  private enum Source {
    /// Those that hold the object that an instance is when the set is asked: one that was rolled back never was, and another
    /// may be in its place.
    case stored(PropertySlot, PartialKeyPath<Element>)
    case listed([Element])
  }

  private let source: Source

  init(_ reverse: PropertySlot, _ relation: PartialKeyPath<Element>) {
    source = .stored(reverse, relation)
  }

  /// A set to compare with.
  public init(arrayLiteral elements: Element...) {
    source = .listed(elements)
  }

  /// How many objects hold it. Asks the database at once, on the caller's thread; 0 if it is no longer open or cannot be read,
  /// where the sequence throws. One with a value that cannot be read counts, and is not in the sequence. In memory it sees what
  /// an open transaction has written, and waits while another thread is within a blocking one.
  ///
  /// - Complexity: O(*n*) in the owners, whatever the size of their table.
  public var count: Int {
    if case .listed(let elements) = source { return elements.count }
    return (try? zIndexes().count) ?? 0
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(self)
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    private let set: AsyncReverseMagicSet
    private var batch: ArraySlice<Element> = []
    private var last: Int64 = .min
    private var isOver = false

    fileprivate init(_ set: AsyncReverseMagicSet) {
      self.set = set
      if case .listed(let elements) = set.source {
        batch = elements[...]
        isOver = true
      }
    }

    /// The next owner. They are fetched some hundred at a time.
    public mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> Element? {
      // Of many owners none may be one that can be shown.
      while batch.isEmpty, !isOver {
        isOver = true
        let (objects, last) = try await set.batch(after: last)
        isOver = last == nil
        self.last = last ?? self.last
        batch = objects[...]
      }
      return batch.popFirst()
    }

    public nonisolated(nonsending) mutating func next() async throws -> Element? {
      try await next(isolation: #isolation)
    }
  }

  /// Owners per access to the database.
  private static var batchSize: Int { 256 }

  // MARK: Asking

  private func zIndexes() throws -> [Int64] {
    guard case .stored(let reverse, let relation) = source, let record = reverse.reverseRecord else { return [] }
    let store = try record.store
    let property = try AsyncReverseMagicSet.property(relation)
    let layout = try Layout.of(Element.self)
    let known = store.known(Element.self)
    return try store.readOnCaller { db in
      let place = if let known { RelationPlace(known, property) } else { try RelationPlace(layout, property, db) }
      return try place?.owners(of: record.place.zIndex, record.birth, after: .min, limit: -1, db) ?? []
    }
  }

  /// Some owners and, if there may be more, the last one's z index.
  private nonisolated(nonsending) func batch(after last: Int64) async throws -> ([Element], Int64?) {
    guard case .stored(let reverse, let relation) = source, let record = reverse.reverseRecord else { return ([], nil) }
    let property = try AsyncReverseMagicSet.property(relation)
    let scope = Scope.database(try record.store)
    guard let type = try await scope.mappedForReading(Element.self) else { return ([], nil) }
    guard let place = RelationPlace(type, property) else {
      let name = type.layout.properties[property].name
      throw MagicDataError(.model, "\(type.layout.name).\(name) holds no objects, so it has no reverse")
    }
    let types = try await scope.typesForReading(of: type)
    let (zIndex, birth, size) = (record.place.zIndex, record.birth, AsyncReverseMagicSet.batchSize)
    let (graph, end) = try await scope.read { db in
      let owners = try place.owners(of: zIndex, birth, after: last, limit: size, db)
      return (try FetchedGraph(FetchedRows(type, db, at: owners), types, db), owners.count == size ? owners.last : nil)
    }
    return (try scope.make(graph), end)
  }

  /// Which of the owner's properties a key path means.
  private static func property(_ relation: PartialKeyPath<Element>) throws -> Int {
    let probe = Element()
    guard let wrapper = probe[keyPath: relation] as? any MagicProperty,
      let index = try Instance(of: probe).index(of: wrapper.property)
    else {
      throw MagicDataError(.model, "a reverse of \(Element.magicName) names no property that holds objects")
    }
    return index
  }
}

extension AsyncReverseMagicSet: Equatable {
  /// Whether both hold the same objects of one database now; not if one of them was not saved.
  public static func == (left: AsyncReverseMagicSet, right: AsyncReverseMagicSet) -> Bool {
    guard let left = try? left.members(), let right = try? right.members() else { return false }
    return left == right
  }

  /// - Throws: if one of them is no object of a database.
  private func members() throws -> Set<SavedMember> {
    switch source {
    case .listed(let elements):
      return Set(
        try elements.map { element in
          guard let member = Member(element).saved else { throw MagicDataError(.value, "the object was not saved") }
          return member
        })
    case .stored(let reverse, _):
      guard let record = reverse.reverseRecord else { return [] }
      return Set(try zIndexes().map { SavedMember(database: record.database, zIndex: $0) })
    }
  }
}

@available(*, unavailable)
extension AsyncReverseMagicSet: Sendable {}

@available(*, unavailable)
extension AsyncReverseMagicSet.AsyncIterator: Sendable {}
