internal import GRDB
internal import MagicJournal

/// Rows of one type and of all objects that they hold, on their way to instances.
struct FetchedGraph: Sendable {
  /// The rows of one type, each once.
  struct OfType: Sendable {
    let type: MappedType
    var rows = FetchedRows()
    /// For each relation of the type, for each row.
    var links: [[[Link]]]
    fileprivate var rowsByZIndex: [Int64: Int] = [:]

    init(_ type: MappedType) {
      self.type = type
      links = type.relations.map { _ in [] }
    }
  }

  private(set) var types: [OfType]
  /// How many objects were asked for: the first rows of the first type, which may reach others of its own.
  let count: Int
  private let indexes: [ObjectIdentifier: Int]

  /// The rows come from one moment. Each object is read once, however many hold it.
  ///
  /// - Parameter types: where the types of all objects are that it may meet; the first is that of `rows`.
  init(_ rows: FetchedRows, _ types: [MappedType], _ db: Database) throws {
    self.types = types.map(OfType.init)
    count = rows.count
    indexes = Dictionary(uniqueKeysWithValues: types.enumerated().map { (ObjectIdentifier($1.layout.type), $0) })
    // Level by level, without recursion.
    var next: [Int: [Int64]] = [:]
    add(rows, 0)
    try follow(0, from: 0, into: &next, db)
    while !next.isEmpty {
      let level = next
      next = [:]
      for (index, zIndexes) in level.sorted(by: { $0.key < $1.key }) {
        let first = self.types[index].rows.count
        add(try FetchedRows(self.types[index].type, db, at: zIndexes), index)
        try follow(index, from: first, into: &next, db)
      }
    }
  }

  private mutating func add(_ rows: FetchedRows, _ index: Int) {
    let first = types[index].rows.count
    for (row, place) in rows.places.enumerated() { types[index].rowsByZIndex[place.zIndex] = first + row }
    if types[index].rows.count == 0 {
      types[index].rows = rows
    } else {
      types[index].rows.places += rows.places
      types[index].rows.births += rows.births
      types[index].rows.values += rows.values
    }
  }

  /// Reads the links of rows, and notes what they lead to and is not there yet.
  private mutating func follow(_ index: Int, from first: Int, into next: inout [Int: [Int64]], _ db: Database) throws {
    let type = types[index].type
    let width = type.layout.properties.count
    for (number, relation) in type.relations.enumerated() {
      guard !relation.codec.isAsync, let target = indexes[ObjectIdentifier(relation.codec.target)] else {
        types[index].links[number] += Array(repeating: [], count: types[index].rows.count - first)
        continue
      }
      let table = ObjectTable(type.stored, db)
      var links: [[Link]] = Array(repeating: [], count: types[index].rows.count - first)
      if !relation.stored.kind.isLinked {
        for row in links.indices {
          guard case .integer(let zIndex) = types[index].rows.values[(first + row) * width + relation.index] else { continue }
          links[row] = [Link(target: zIndex)]
        }
      } else if links.count == 1 {
        links[0] = try table.links(of: types[index].rows.places[first].zIndex, relation.stored)
      } else {
        let rows = types[index].rowsByZIndex
        try table.links(of: types[index].rows.places[first...].map(\.zIndex), relation.stored) { owner, link in
          if let row = rows[owner] { links[row - first].append(link) }
        }
      }
      var asked: [Int64] = []
      for links in links {
        for link in links where types[target].rowsByZIndex[link.target] == nil {
          // Asked for; a row may be there or not.
          types[target].rowsByZIndex[link.target] = -1
          asked.append(link.target)
        }
      }
      if !asked.isEmpty { next[target, default: []] += asked }
      types[index].links[number] += links
    }
  }
}

extension FetchedRows {
  /// The objects at some z indexes, of those that can be shown.
  init(_ type: MappedType, _ db: Database, at zIndexes: [Int64]) throws {
    guard zIndexes.count > 4 else {
      for zIndex in zIndexes { try read(type, db, at: zIndex) }
      return
    }
    for batch in ZIndexBatch.all(zIndexes) { try read(type, db, batch) }
  }
}
