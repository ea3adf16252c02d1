internal import GRDB
package import MagicJournal

/// One link of an owner, with what tells it from others.
package struct Link: Sendable, Hashable {
  package let target: Int64
  /// The key that stands for the member in a dictionary; empty elsewhere.
  package var name: [UInt8] = []
}

extension ObjectTable {
  // MARK: Naming objects of other types

  /// The z index of an object that may not have arrived yet: it takes its place when it comes (L-8).
  func zIndex(of key: ObjectKey, in target: StoredType) throws -> Int64 {
    let table = ObjectTable(target, db)
    if let place = try table.place(of: key) ?? table.absentPlace(of: key) { return place.zIndex }
    return try table.reserve(key).zIndex
  }

  /// What names the object that has a row at a z index.
  func key(ofRow zIndex: Int64) throws -> ObjectKey? {
    var select = try SQL(db, type.selectKey)
    try select.bind(zIndex)
    return try select.step() ? try ObjectKey(value: select.value(0, type.keyKind), of: type.schema) : nil
  }

  /// What names the object at a z index, whether it has a row or not.
  package func key(at zIndex: Int64) throws -> ObjectKey? {
    if let key = try key(ofRow: zIndex) { return key }
    var absent = try SQL(db, Statements.selectAbsentKey)
    try absent.bind(type.id)
    try absent.bind(zIndex)
    return try absent.step() ? try ObjectKey(value: absent.value(0, type.keyKind), of: type.schema) : nil
  }

  /// What tables of links have of owners that have no row, as sentences.
  package func orphanLinks() throws -> [String] {
    try type.linked.compactMap { field in
      guard let relation = type.relations[field] else { return nil }
      var count = try SQL(
        db, "SELECT count(*) FROM \(relation.table) WHERE owner NOT IN (SELECT z_index FROM \(type.quotedTable))")
      guard try count.step(), count.integer(0) > 0 else { return nil }
      return "\(relation.unquoted) has \(count.integer(0)) links of owners that have no row"
    }
  }

  /// Takes these away.
  package func removeOrphanLinks() throws {
    for field in type.linked {
      guard let relation = type.relations[field] else { continue }
      try SQL(db, "DELETE FROM \(relation.table) WHERE owner NOT IN (SELECT z_index FROM \(type.quotedTable))").run()
    }
  }

  // MARK: Links

  /// The z index that an owner's row has for one object.
  func reference(_ field: Int, of zIndex: Int64) throws -> Int64? {
    var select = try SQL(db, type.select([field], by: .zIndex))
    try select.bind(zIndex)
    return try select.step() && !select.isNull(2) ? select.integer(2) : nil
  }

  /// Those of one owner, also to objects that have no row.
  package func links(of zIndex: Int64, _ relation: StoredRelation) throws -> [Link] {
    var select = try SQL(db, relation.select)
    try select.bind(zIndex)
    var links: [Link] = []
    while try select.step() {
      links.append(relation.link(select))
    }
    return links
  }

  /// Those of several owners, all that one has at once; of owners without any nothing is heard.
  func links(of zIndexes: [Int64], _ relation: StoredRelation, _ body: (_ owner: Int64, [Link]) -> Void) throws {
    // Nobody's links are read who was not asked for: they may be many.
    for batch in ZIndexBatch.all(zIndexes, spare: 0) {
      var select = try SQL(db, relation.selectMany(asRange: batch.isRange))
      try batch.bind(to: &select)
      var (owner, links): (Int64, [Link]) = (0, [])
      while try select.step() {
        let next = select.integer(2)
        if next != owner, !links.isEmpty {
          body(owner, links)
          // Mostly it has about as many.
          let room = min(links.count, 16)
          links = []
          links.reserveCapacity(room)
        }
        owner = next
        links.append(relation.link(select))
      }
      if !links.isEmpty { body(owner, links) }
    }
  }

  /// Those of a new owner, in the order in which it has them.
  func insert(_ links: [Link], of zIndex: Int64, in field: Int) throws {
    guard let relation = type.relations[field], relation.kind.isLinked else { return }
    var insert = try SQL(db, relation.insert)
    for (position, link) in links.enumerated() {
      try insert.bind(zIndex)
      try insert.bind(link.target)
      if relation.kind == .list { try insert.bind(position) }
      if relation.kind == .dictionary { try insert.bind(link.name) }
      _ = try insert.runOnce()
    }
  }

  /// Brings an owner's links to what its fields say.
  func link(_ zIndex: Int64, _ fields: [FieldValue], isNew: Bool = false) throws {
    for field in fields {
      guard let relation = type.relations[field.field], relation.kind.isLinked else { continue }
      switch field.value {
      case .list(let keys):
        if !isNew { try unlink(zIndex, relation) }
        try insert(keys.map { Link(target: try self.zIndex(of: $0, in: relation.target)) }, of: zIndex, in: field.field)
      case .set(let elements):
        for element in elements {
          let target = try self.zIndex(of: element.key, in: relation.target)
          var change = try SQL(db, element.isIn ? relation.insert : relation.deleteElement)
          try change.bind(zIndex)
          try change.bind(target)
          try change.run()
        }
      case .dictionary(let elements):
        for element in elements {
          let target = try element.key.map { try self.zIndex(of: $0, in: relation.target) }
          var change = try SQL(db, target == nil ? relation.deleteElement : relation.insert)
          try change.bind(zIndex)
          if let target { try change.bind(target) }
          try change.bind(element.name)
          try change.run()
        }
      default:
        if !isNew { try unlink(zIndex, relation) }
      }
    }
    guard !isNew else { return }
    for field in type.linkedRivals(of: fields.map(\.field)) {
      if let relation = type.relations[field] { try unlink(zIndex, relation) }
    }
  }

  /// An owner that has no row has no links: its entries know them.
  func unlink(_ zIndex: Int64) throws {
    for field in type.linked {
      if let relation = type.relations[field] { try unlink(zIndex, relation) }
    }
  }

  private func unlink(_ zIndex: Int64, _ relation: StoredRelation) throws {
    var delete = try SQL(db, relation.deleteAll)
    try delete.bind(zIndex)
    try delete.run()
  }
}
