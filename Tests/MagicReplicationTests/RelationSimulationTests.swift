import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// Random edits of graphs on three replicas, with stale instances, removes, revivals and rollbacks; afterwards all show the
/// same, and what the fold says (H-17).
@Suite struct RelationSimulationTests {
  @Test(arguments: seeds(12)) func replicasWithGraphsEndEqual(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    let world = World(seed: seed)
    let replicas = try (0..<3).map { number in
      try Replica(folder["db\(number)"], folder["remote"], world, skew: Int64(number) * 40)
    }
    let gardeners = replicas.map { _ in Gardener() }
    var chance = Seeded(seed)
    for step in 0..<50 {
      let comment: Comment = "MAGIC_SEED=\(seed) step \(step)"
      world.advance(Int64(chance.pick([0, 0, 1, 3, 40])))
      let number = chance.below(3)
      let replica = replicas[number]
      switch chance.below(10) {
      case 0..<6:
        gardeners[number].chance = Seeded(chance.next())
        gardeners[number].name = "\(seed).\(step)"
        try await edit(replica, gardeners[number])
      case 6: try await replica.replicator.push()
      case 7:
        if FileManager.default.fileExists(atPath: folder["remote"].path) {
          try await replica.pullAsForeseen("MAGIC_SEED=\(seed)")
        }
      default: try await replica.replicator.sync()
      }
      let dump = try await Dump(replica.magic)
      #expect(try await replica.naiveDump() == dump, comment)
      #expect(try await faultyPlaces(replica.magic) == [], comment)
      let differences = try await Shown(replica.magic, dump).differences(from: Shown(dump))
      #expect(differences == [], "\(comment.rawValue): \(differences)")
    }
    try await settle(replicas)
    try await expectEqual(replicas, "MAGIC_SEED=\(seed)")
    let newcomer = try Replica(folder["newcomer"], folder["remote"], world)
    try await newcomer.replicator.pull()
    try await expectEqual(replicas + [newcomer], "MAGIC_SEED=\(seed)")
    try await expectEqualInPython(newcomer, folder["remote"], "MAGIC_SEED=\(seed)")
    for replica in replicas + [newcomer] {
      let dump = try await Dump(replica.magic)
      let differences = try await Shown(replica.magic, dump).differences(from: Shown(dump))
      #expect(differences == [], "MAGIC_SEED=\(seed): \(differences)")
      #expect(try await faultyPlaces(replica.magic) == [], "MAGIC_SEED=\(seed)")
    }
  }

  private nonisolated(nonsending) func edit(_ replica: Replica, _ gardener: Gardener) async throws {
    guard gardener.below(3) == 0 else { return try await gardener.edit(replica.magic) }
    do {
      try await replica.magic.transaction { tx in
        for _ in 0...gardener.below(5) { try await gardener.edit(tx) }
        if gardener.below(4) == 0 { throw RolledBack() }
        if gardener.below(2) == 0 {
          do {
            try await tx.transaction { tx in
              for _ in 0...gardener.below(4) { try await gardener.edit(tx) }
              if gardener.below(2) == 0 { throw RolledBack() }
            }
          } catch is RolledBack {}
          for _ in 0..<gardener.below(3) { try await gardener.edit(tx) }
        }
      }
    } catch is RolledBack {}
  }

  private struct RolledBack: Error {}
}

/// Edits one replica's objects, and keeps some of the instances for later.
final class Gardener {
  var chance = Seeded(0)
  var name = ""
  private var people: [Person] = []
  private var leaves: [Leaf] = []
  private var made = 0

  func below(_ bound: Int) -> Int { chance.below(bound) }

  /// One of `fresh`, or a stale one, or a new one.
  private func person(_ fresh: [Person]) -> Person {
    switch below(6) {
    case 0 where !people.isEmpty: return chance.pick(people)
    case 1: return Person("p\(below(5))", "new \(name)")
    default: return fresh.isEmpty ? Person("p\(below(5))", "first \(name)") : chance.pick(fresh)
    }
  }

  private func leaf(_ fresh: [Leaf]) -> Leaf {
    switch below(8) {
    case 0 where !leaves.isEmpty: return chance.pick(leaves)
    case 1, 2:
      made += 1
      return Leaf("leaf \(name) \(made)")
    default:
      made += 1
      return fresh.isEmpty ? Leaf("leaf \(name) \(made)") : chance.pick(fresh)
    }
  }

  nonisolated(nonsending) func edit(_ editor: some Editor) async throws {
    let freshPeople = try await editor.object(of: Person.self)
    let freshLeaves = try await editor.object(of: Leaf.self)
    if below(3) == 0, let person = freshPeople.first { people.append(person) }
    if below(3) == 0, let leaf = freshLeaves.last { leaves.append(leaf) }
    switch below(12) {
    case 0, 1, 2, 3:
      let person = person(freshPeople)
      for _ in 0...below(3) { change(person, freshPeople, freshLeaves) }
      try await editor.update(person)
    case 4, 5, 6:
      let leaf = leaf(freshLeaves)
      for _ in 0...below(3) { change(leaf, freshPeople, freshLeaves) }
      try await editor.update(leaf)
    case 7:
      let some = (0...below(4)).map { _ in person(freshPeople) }
      for person in some { change(person, freshPeople, freshLeaves) }
      try await editor.update(contentsOf: some, progress: nil)
    case 8:
      let person = person(freshPeople)
      do { try await editor.remove(person) } catch let error as MagicDataError where error.code == .notSaved { return }
      if below(3) == 0 { try await editor.update(person) }
      if below(3) == 0, let other = freshPeople.first(where: { $0.id == person.id }) {
        change(other, freshPeople, freshLeaves)
        try await editor.update(other)
      }
    case 9:
      let leaf = leaf(freshLeaves)
      do { try await editor.remove(leaf) } catch let error as MagicDataError where error.code == .notSaved { return }
      if below(3) == 0 { try await editor.update(leaf) }
    case 10:
      try await editor.update(Shelf(below(3), leaf(freshLeaves)))
      if below(2) == 0, let shelf = try await editor.object(of: Shelf.self).first {
        shelf.label = below(3)
        try await editor.update(shelf)
      }
    default:
      if below(6) == 0 { try await editor.removeAll(of: Leaf.self) }
    }
  }

  private func change(_ person: Person, _ people: [Person], _ leaves: [Leaf]) {
    switch below(12) {
    case 0: person.name = "name \(below(4))"
    case 1: person.friend = below(3) == 0 ? nil : self.person(people)
    case 2: person.friend = person
    case 3, 4: person.friends.insert(self.person(people))
    case 5: person.friends.removeAll { _ in below(2) == 0 }
    case 6, 7: person.pages.insert(leaf(leaves), at: below(person.pages.count + 1))
    case 8: if !person.pages.isEmpty { person.pages.remove(at: below(person.pages.count)) }
    case 9: person.pages.shuffle(using: &chance)
    case 10:
      if person.index == nil { person.index = [:] }
      person.index?["k\(below(3))"] = leaf(leaves)
    default:
      if below(2) == 0 { person.index = nil } else { person.index?["k\(below(3))"] = nil }
    }
  }

  private func change(_ leaf: Leaf, _ people: [Person], _ leaves: [Leaf]) {
    switch below(8) {
    case 0: leaf.count = below(4)
    case 1: leaf.next = below(3) == 0 ? nil : self.leaf(leaves)
    case 2: leaf.next = leaf
    case 3: leaf.owner = below(3) == 0 ? nil : person(people)
    case 4: leaf.others.insert(below(3) == 0 ? leaf : self.leaf(leaves))
    case 5: leaf.others.removeAll { _ in below(2) == 0 }
    case 6: leaf.people = below(3) == 0 ? nil : (leaf.people ?? []) + [person(people)]
    default: leaf.byAge[below(3)] = below(2) == 0 ? nil : person(people)
    }
  }
}

/// What a library shows of its objects and their members, by what names them on every replica: a line for each object. Leaves
/// are told by their texts, which one that was removed has in common with the one that it was saved as again.
private struct Shown {
  private var lines: [String] = []

  private mutating func add(_ object: String, _ properties: [[String]]) {
    lines.append(object + properties.map { " \($0)" }.joined())
  }

  func differences(from other: Shown) -> [String] {
    lines.sorted().difference(from: other.lines.sorted()).map { change in
      switch change {
      case .insert(_, let line, _): "shows \(line)"
      case .remove(_, let line, _): "does not show \(line)"
      }
    }
  }

  /// As it fetches them.
  init(_ magic: MagicData, _ dump: Dump) async throws {
    for person in try await magic.object(of: Person.self) {
      add(
        "Person \(person.id)",
        [
          [person.name], person.friend.map { [$0.id] } ?? [], person.friends.map(\.id).sorted(), person.pages.map(\.text),
          (person.index ?? [:]).map { "\"\($0)\" \($1.text)" }.sorted(),
        ])
    }
    for leaf in try await magic.object(of: Leaf.self) {
      add(
        "Leaf \(leaf.text)",
        [
          ["\(leaf.count)"], leaf.next.map { [$0.text] } ?? [], leaf.owner.map { [$0.id] } ?? [],
          leaf.others.map(\.text).sorted(), (leaf.people ?? []).map(\.id), leaf.byAge.map { "\($0) \($1.id)" }.sorted(),
        ])
    }
    for shelf in try await magic.object(of: Shelf.self) {
      let object = dump.objects[Dump.Object(type: "Shelf", key: .primary(.integer(Int64(shelf.number))))] ?? [:]
      // What is required and gone cannot be read.
      let hasFirst = Shown.shown(object["first reference of Leaf by 0"], of: "Leaf", dump) != []
      add("Shelf \(shelf.number)", [shelf.label.map { ["\($0)"] } ?? [], hasFirst ? [shelf.first.text] : []])
    }
  }

  /// As the state says.
  init(_ dump: Dump) {
    for (object, values) in dump.objects {
      guard let own = Shown.name(object.type, object.key, dump) else { continue }
      let properties =
        switch object.type {
        case "Person": [("name", ""), ("friend", "Person"), ("friends", "Person"), ("pages", "Leaf"), ("index", "Leaf")]
        case "Leaf":
          [("count", ""), ("next", "Leaf"), ("owner", "Person"), ("others", "Leaf"), ("people", "Person"), ("byAge", "Person")]
        default: [("label", ""), ("first", "Leaf")]
        }
      add(
        "\(object.type) \(own)",
        properties.map { name, target in
          Shown.shown(values.first { $0.key.hasPrefix(name + " ") }?.value, of: target, dump)
        })
    }
  }

  /// `nil` for an object that is not shown.
  private static func name(_ type: String, _ key: ObjectKey, _ dump: Dump) -> String? {
    guard let object = dump.objects[Dump.Object(type: type, key: key)] else { return nil }
    switch key {
    case .primary(.text(let text)): return text
    case .primary(.integer(let number)): return "\(number)"
    default:
      guard case .text(let text)? = object["text text"] else { return nil }
      return text
    }
  }

  private static func shown(_ value: Value?, of type: String, _ dump: Dump) -> [String] {
    switch value {
    case .text(let text): [text]
    case .integer(let number): ["\(number)"]
    case .reference(let key): name(type, key, dump).map { [$0] } ?? []
    case .list(let keys): keys.compactMap { name(type, $0, dump) }
    case .set(let elements): elements.compactMap { name(type, $0.key, dump) }.sorted()
    case .dictionary(let elements):
      elements.compactMap { element in
        element.key.flatMap { name(type, $0, dump) }.map { String(decoding: element.name, as: UTF8.self) + " " + $0 }
      }.sorted()
    default: []
    }
  }
}
