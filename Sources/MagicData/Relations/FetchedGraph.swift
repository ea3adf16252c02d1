internal import GRDB
internal import MagicJournal

/// Rows of one type and of all objects that they hold, on their way to instances.
struct FetchedGraph: Sendable {
  /// The rows of one type, each once.
  struct OfType: Sendable {
    let type: MappedType
    let rows: FetchedRows
    /// For each relation of the type, for each row.
    var links: [[[Link]]]
    fileprivate(set) var rowsByZIndex = RowsByZIndex()

    init(_ type: MappedType, _ rows: FetchedRows? = nil) {
      self.type = type
      self.rows = rows ?? FetchedRows()
      links = type.relations.map { _ in [] }
    }

    fileprivate mutating func number(from first: Int) {
      rowsByZIndex.reserve(rows.count)
      for row in first..<rows.count { rowsByZIndex.set(row, at: rows.places[row].zIndex) }
    }

    /// Notes what some links lead to and is not there yet.
    fileprivate mutating func ask(for links: [[Link]]) -> [Int64] {
      var asked: [Int64] = []
      for links in links {
        for link in links where rowsByZIndex[link.target] == nil {
          // A row may be there or not.
          rowsByZIndex.set(-1, at: link.target)
          asked.append(link.target)
        }
      }
      return asked
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
    self.types = types.enumerated().map { OfType($1, $0 == 0 ? rows : nil) }
    count = rows.count
    indexes = Dictionary(uniqueKeysWithValues: types.enumerated().map { (ObjectIdentifier($1.layout.type), $0) })
    // Level by level, without recursion.
    var next: [Int: [Int64]] = [:]
    self.types[0].number(from: 0)
    try follow(0, from: 0, into: &next, db)
    while !next.isEmpty {
      let level = next
      next = [:]
      for (index, zIndexes) in level.sorted(by: { $0.key < $1.key }) {
        let first = self.types[index].rows.count
        try self.types[index].rows.read(self.types[index].type, db, at: zIndexes)
        self.types[index].number(from: first)
        try follow(index, from: first, into: &next, db)
      }
    }
  }

  /// Reads the links of rows, and notes what they lead to and is not there yet.
  private mutating func follow(_ index: Int, from first: Int, into next: inout [Int: [Int64]], _ db: Database) throws {
    let type = types[index].type
    for (number, relation) in type.relations.enumerated() {
      guard !relation.codec.isAsync, let target = indexes[ObjectIdentifier(relation.codec.target)] else {
        // Whether there is one stands in the row.
        let isOne = relation.codec.isAsync && !relation.stored.kind.isLinked
        for row in first..<types[index].rows.count {
          var links: [Link] = []
          let stored = types[index].rows[row].storage
          if isOne, case .integer(let zIndex) = stored[relation.index].slot { links = [Link(target: zIndex)] }
          types[index].links[number].append(links)
        }
        continue
      }
      let table = ObjectTable(type.stored, db)
      var links: [[Link]] = Array(repeating: [], count: types[index].rows.count - first)
      if !relation.stored.kind.isLinked {
        for row in links.indices {
          guard case .integer(let zIndex) = types[index].rows[first + row].storage[relation.index].slot else { continue }
          links[row] = [Link(target: zIndex)]
        }
      } else if links.count == 1 {
        links[0] = try table.links(of: types[index].rows.places[first].zIndex, relation.stored)
      } else {
        let rows = types[index].rowsByZIndex
        try table.links(of: types[index].rows.places[first...].map(\.zIndex), relation.stored) { owner, found in
          if let row = rows[owner] { links[row - first] = found }
        }
      }
      let asked = types[target].ask(for: links)
      if !asked.isEmpty { next[target, default: []] += asked }
      types[index].links[number] += links
    }
  }
}
