import MagicData
import MagicReplication
import TestSupport
import Testing

private struct Pair: MagicObject {
  @PrimaryMagicValue var key: Int
  @MagicValue var value: String
  @OptionMagicValue var weight: Double?

  init() {}

  init(_ key: Int?, _ value: String) {
    if let key { self.key = key }
    self.value = value
  }
}

/// Many objects at once, whatever names them: a text, a number of the app or of the database, or their birth.
@Suite struct BulkTests {
  @Test(arguments: seeds(8)) func whatIsSavedAtOnceIsJournaled(seed: UInt64) async throws {
    var chance = Seeded(seed)
    let (folder, world) = (try TemporaryFolder(), World(seed: seed))
    let replicas = try (0..<2).map { try Replica(folder["\($0)"], folder["remote"], world, skew: Int64($0 * 7)) }
    for _ in 0..<24 {
      world.advance(Int64(chance.below(3)))
      let replica = chance.pick(replicas)
      switch chance.below(4) {
      case 0: try await replica.replicator.sync()
      case 1, 2: try await edit(replica.magic, &chance)
      default:
        var local = chance
        do {
          try await replica.magic.transaction { tx in
            for _ in 0...local.below(3) { try await edit(tx, &local) }
            if local.below(3) == 0 { throw RolledBack() }
          }
        } catch is RolledBack {}
        chance = local
      }
    }
    try await settle(replicas)
    try await expectEqual(replicas, "seed \(seed)")
    for replica in replicas { #expect(try await DatabaseCheck(replica.magic).faults == [], "seed \(seed)") }
  }

  private struct RolledBack: Error {}

  private nonisolated(nonsending) func edit(_ editor: some Editor, _ chance: inout Seeded) async throws {
    switch chance.below(3) {
    case 0:
      try await edit(Note.self, editor, &chance) {
        Note("n\($0.below(9))", "made \($0.below(100))")
      } change: {
        $0.title = "title \($1.below(100))"
      }
    case 1:
      try await edit(Event.self, editor, &chance) {
        Event("made \($0.below(100))")
      } change: {
        if $1.below(2) == 0 { $0.text = "changed \($1.below(100))" } else { $0.weight = $1.pick([nil, 1, 2]) }
      }
    default:
      try await edit(Pair.self, editor, &chance) { chance in
        Pair(chance.below(3) == 0 ? nil : 1 + chance.below(12), "made \(chance.below(100))")
      } change: {
        if $1.below(2) == 0 { $0.value = "changed \($1.below(100))" } else { $0.weight = $1.pick([nil, 1, 2]) }
      }
    }
  }

  /// New objects, those that are there, changed or not, and some that were removed, in any order and some twice.
  private nonisolated(nonsending) func edit<Object: MagicObject>(
    _ type: Object.Type, _ editor: some Editor, _ chance: inout Seeded, make: (inout Seeded) -> Object,
    change: (Object, inout Seeded) -> Void
  ) async throws {
    var objects: [Object] = []
    for object in try await editor.object(of: type) where chance.below(2) == 0 {
      if chance.below(5) == 0 { try await editor.remove(object) }
      if chance.below(3) > 0 { change(object, &chance) }
      objects.append(object)
      if chance.below(8) == 0 { objects.append(object) }
    }
    for _ in 0..<chance.below(8) { objects.insert(make(&chance), at: chance.below(objects.count + 1)) }
    try await editor.update(contentsOf: objects, progress: nil)
    for object in objects where chance.below(4) == 0 { change(object, &chance) }
    if chance.below(2) == 0 { try await editor.update(contentsOf: objects, progress: nil) }
  }
}
