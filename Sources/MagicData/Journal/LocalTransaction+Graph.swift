internal import GRDB
internal import MagicJournal

/// Where the objects of a graph are, as far as they were saved.
struct GraphPlaces {
  struct Place {
    let key: ObjectKey
    let zIndex: Int64
  }

  var places: [Place?]
}

extension LocalTransaction {
  /// Adds or updates the objects of a graph. `nil` for those that needed no look.
  mutating func save(_ graph: GraphSave) throws -> [SavedObject?] {
    let graph = try withoutDefaultsOfHeld(graph)
    var places = GraphPlaces(places: Array(repeating: nil, count: graph.objects.count))
    var saved: [SavedObject?] = Array(repeating: nil, count: graph.objects.count)
    var deferred: [(number: Int, relation: RelationSave)] = []
    let (roots, linked) = (Set(graph.roots), linked(graph))
    try willSave(graph.objects) { graph.types[$0] }
    for number in graph.order {
      guard let type = graph.types[number] else { continue }
      let object = graph.objects[number]
      let isLinked = linked.contains(number)
      if !roots.contains(number), object.edited.isEmpty, let record = object.record(in: store),
        try !isLinked || ObjectTable(type.stored, db).last(of: record.place.zIndex, record.key) != nil
      {
        places.places[number] = GraphPlaces.Place(key: record.key, zIndex: record.place.zIndex)
        continue
      }
      let late = object.relations.filter { $0.members.contains { places.places[$0] == nil } }
      let done = try save(object, as: type, SavedRelations(places: places, late: Set(late.map(\.index))), isLinked: isLinked)
      places.places[number] = GraphPlaces.Place(key: done.key, zIndex: done.place.zIndex)
      saved[number] = done
      for relation in late where done.extent.hasTaken(relation.index, of: object) {
        deferred.append((number, relation))
      }
    }
    for (number, relation) in deferred {
      guard let type = graph.types[number], let done = saved[number] else { continue }
      saved[number] = try link(relation, done, type, places)
    }
    return saved
  }

  /// Known objects that come into a relation in which they were not: what was removed meanwhile, by whomever, is wanted again.
  private func linked(_ graph: GraphSave) -> Set<Int> {
    var linked: Set<Int> = []
    for number in graph.order {
      let object = graph.objects[number]
      let isKnown = object.record(in: store) != nil
      for relation in object.relations where !isKnown || object.edited.contains(relation.index) {
        let held = isKnown ? relation.baseline ?? [] : []
        let before = Dictionary(held.map { ($0.link.target, $0) }) { $1 }
        for member in relation.members {
          guard let record = graph.objects[member].record(in: store) else { continue }
          let isHeld = before[record.place.zIndex]?.isAt(GraphPlaces.Place(key: record.key, zIndex: record.place.zIndex))
          if isHeld != true { linked.insert(member) }
        }
      }
    }
    return linked
  }

  /// Objects that an `init()` puts in are for new ones. Of what is held already they change nothing, and are not stored either
  /// if nobody else holds them.
  private func withoutDefaultsOfHeld(_ graph: GraphSave) throws -> GraphSave {
    guard graph.objects.contains(where: { $0.relations.contains(where: \.isDefault) }) else { return graph }
    var graph = graph
    var named: [Int: Set<Value>] = [:]
    for number in graph.order {
      let object = graph.objects[number]
      guard object.isMadeByApp(for: store), let primary = object.primary, let type = graph.types[number] else { continue }
      // The first one of a name makes it for the others.
      let isFirst = named[type.stored.id, default: []].insert(primary).inserted
      guard object.relations.contains(where: \.isDefault),
        try !isFirst || FetchedRow.find(.primary(primary), type, db, mayBeIncomplete: true) != nil
      else { continue }
      graph.objects[number] = object.with { content in
        for relation in content.relations where relation.isDefault { content.present.remove(relation.index) }
        content.relations.removeAll(where: \.isDefault)
      }
    }
    var (held, open) = (Set(graph.roots), graph.roots)
    while let number = open.popLast() {
      for member in graph.objects[number].relations.flatMap(\.members) where held.insert(member).inserted {
        open.append(member)
      }
    }
    graph.order.removeAll { !held.contains($0) }
    return graph
  }

  /// What waited for objects that hold each other.
  private mutating func link(
    _ relation: RelationSave, _ done: SavedObject, _ type: MappedType, _ places: GraphPlaces
  ) throws -> SavedObject {
    let type = try current(type)
    let table = ObjectTable(type.stored, db)
    // The object's place is another one by now if it was written again.
    guard let field = type.fields[relation.index], let place = try table.place(of: done.key) else { return done }
    let baseline: RelationBaseline =
      switch done.extent {
      case .all: .nothing
      case .changes: relation.baseline == nil ? .row(place.zIndex) : .stored(place.zIndex)
      case .edits: .row(place.zIndex)
      }
    let (value, links) = try self.value(relation, field, baseline, type, places)
    var done = done
    done.links[relation.index] = links
    guard let value else { return done }
    done.place = try write([FieldValue(field: field, value: value)], done.key, place, table)
    return done
  }

  // MARK: What a relation writes

  /// What a relation is told from.
  enum RelationBaseline {
    /// What the instance knew, of the object at a z index.
    case stored(Int64)
    case nothing
    /// What the database holds.
    case row(Int64)
  }

  /// The object with its relations as values that a journal can have: only those that change something.
  func resolved(
    _ object: ObjectSave, against baseline: RelationBaseline, _ type: MappedType, _ relations: SavedRelations?
  ) throws -> (object: ObjectSave, links: [Int: [Link]]) {
    guard !object.relations.isEmpty, let relations else { return (object, [:]) }
    var content = object.content
    var links: [Int: [Link]] = [:]
    for relation in object.relations {
      guard let field = type.fields[relation.index] else { continue }
      let isWanted = if case .nothing = baseline { true } else { object.edited.contains(relation.index) }
      guard isWanted, !relations.late.contains(relation.index) else {
        content.present.remove(relation.index)
        content.edited.remove(relation.index)
        content.changed.remove(relation.index)
        continue
      }
      var told = baseline
      if case .stored(let zIndex) = baseline, relation.baseline == nil { told = .row(zIndex) }
      let (value, written) = try self.value(relation, field, told, type, relations.places)
      links[relation.index] = written
      if let value {
        content.values[relation.index] = value
      } else {
        content.present.remove(relation.index)
        content.edited.remove(relation.index)
        content.changed.remove(relation.index)
      }
    }
    return (ObjectSave(content), links)
  }

  /// `nil` if it changes nothing.
  private func value(
    _ relation: RelationSave, _ field: Int, _ baseline: RelationBaseline, _ type: MappedType, _ places: GraphPlaces
  ) throws -> (Value?, [Link]) {
    guard let stored = type.stored.relations[field] else { return (nil, []) }
    let members = try relation.members.map { number in
      guard let place = places.places[number] else { throw MagicDataError(.failed, "an object of the graph was not saved") }
      return place
    }
    let target = ObjectTable(stored.target, db)
    switch relation.kind {
    case .reference:
      let now = members.map { Link(target: $0.zIndex) }
      let isHeld =
        switch baseline {
        case .nothing: false
        case .stored: relation.baseline.map { $0.elementsEqual(members) { $0.isAt($1) } } ?? false
        case .row(let zIndex):
          // Of an object that was removed meanwhile nothing is held.
          try ObjectTable(type.stored, db).reference(field, of: zIndex) == now.first?.target
            && ObjectTable(type.stored, db).key(ofRow: zIndex) != nil
        }
      return (isHeld ? nil : members.first.map { .reference($0.key) } ?? .null, now)
    case .list:
      let now = members.map { Link(target: $0.zIndex) }
      return (try list(members, now, baseline, relation, stored, target), now)
    case .dictionary:
      let now = zip(members, relation.names).map { Link(target: $0.zIndex, name: $1) }
      var before: [[UInt8]: ObjectKey] = [:]
      for member in try known(baseline, relation, stored, target) { before[member.name] = member.place.key }
      var elements = zip(members, now).filter { before[$1.name] != $0.key }.map {
        DictionaryElement(name: $1.name, key: $0.key)
      }
      let kept = Set(now.map(\.name))
      elements += before.keys.filter { !kept.contains($0) }.map { DictionaryElement(name: $0, key: nil) }
      return (elements.isEmpty ? nil : .dictionary(of: elements), now)
    default:
      var seen = Set<ObjectKey>(minimumCapacity: members.count)
      let members = members.filter { seen.insert($0.key).inserted }
      let before = try known(baseline, relation, stored, target)
      let held = Set(before.map(\.place.key))
      var elements = members.filter { !held.contains($0.key) }.map { SetElement(key: $0.key) }
      elements += before.filter { !seen.contains($0.place.key) }.map { SetElement(key: $0.place.key, isIn: false) }
      return (elements.isEmpty ? nil : .set(of: elements), members.map { Link(target: $0.zIndex) })
    }
  }

  /// The members that a change is told from.
  private func known(
    _ baseline: RelationBaseline, _ relation: RelationSave, _ stored: StoredRelation, _ target: ObjectTable
  ) throws -> [(place: GraphPlaces.Place, name: [UInt8])] {
    switch baseline {
    case .nothing: return []
    case .stored:
      return try (relation.baseline ?? []).compactMap { member in
        // An instance that was removed does not know any more what it was.
        guard let key = try member.key ?? target.key(at: member.link.target) else { return nil }
        return (GraphPlaces.Place(key: key, zIndex: member.link.target), member.link.name)
      }
    case .row(let zIndex):
      // What is hidden was not there to be taken out.
      return try target.links(of: zIndex, stored).compactMap { link in
        guard let key = try target.key(ofRow: link.target) else { return nil }
        return (GraphPlaces.Place(key: key, zIndex: link.target), link.name)
      }
    }
  }

  /// An array as one value. What was hidden from the instance comes back after what it stood behind (L-7).
  private func list(
    _ members: [GraphPlaces.Place], _ now: [Link], _ baseline: RelationBaseline, _ relation: RelationSave,
    _ stored: StoredRelation,
    _ target: ObjectTable
  ) throws -> Value? {
    let (zIndex, before): (Int64, [Link])
    switch baseline {
    case .nothing: return .list(members.map(\.key))
    case .stored(let row):
      let held = relation.baseline ?? []
      if held.elementsEqual(members, by: { $0.isAt($1) }) { return nil }
      (zIndex, before) = (row, held.map(\.link))
    case .row(let row):
      (zIndex, before) = (row, try known(baseline, relation, stored, target).map { Link(target: $0.place.zIndex) })
      if before == now { return nil }
    }
    let shown = Set(before.map(\.target))
    var positions: [Int64: [Int]] = [:]
    for (position, link) in now.enumerated() { positions[link.target, default: []].append(position) }
    // Where in the array the hidden ones go, in their order.
    var hidden: [Int: [ObjectKey]] = [:]
    var (position, seen): (Int, [Int64: Int]) = (0, [:])
    for link in try target.links(of: zIndex, stored) {
      let isHidden =
        try !shown.contains(link.target) && (relation.hidden.contains(link.target) || target.key(ofRow: link.target) == nil)
      if isHidden, positions[link.target] == nil {
        if let key = try target.key(at: link.target) { hidden[position, default: []].append(key) }
        continue
      }
      let number = seen[link.target, default: 0]
      seen[link.target] = number + 1
      if let places = positions[link.target], number < places.count { position = places[number] + 1 }
    }
    var keys: [ObjectKey] = []
    for position in 0...members.count {
      keys += hidden[position] ?? []
      if position < members.count { keys.append(members[position].key) }
    }
    return .list(keys)
  }
}

extension RelationSave.Member {
  /// Whether it is the object at a place. Of an instance that is saved in a copy of the database file the z indexes are the
  /// original's, and may be other objects' there.
  func isAt(_ place: GraphPlaces.Place) -> Bool { key.map { $0 == place.key } ?? (link.target == place.zIndex) }
}

/// What the relations of an object need to become values.
struct SavedRelations {
  let places: GraphPlaces
  /// Those that wait for objects that are not saved yet.
  let late: Set<Int>
}

extension SavedObject.Extent {
  /// Whether what the instance holds in a property is what the object is to hold.
  func hasTaken(_ index: Int, of object: ObjectSave) -> Bool {
    switch self {
    case .all: true
    case .changes: object.edited.contains(index)
    case .edits(_, let edited): edited.contains(index)
    }
  }
}
