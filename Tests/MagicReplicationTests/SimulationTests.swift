import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

/// Random edits, pushes and pulls on three replicas; afterwards all are equal, and equal to a fold from the definition.
@Suite struct SimulationTests {
  @Test(arguments: seeds(12)) func replicasEndEqual(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    let world = World(seed: seed)
    var chance = Seeded(seed)
    let replicas = try (0..<3).map { number in
      try Replica(folder["db\(number)"], folder["remote"], world, skew: Int64(number) * 40)
    }
    for _ in 0..<60 {
      world.advance(Int64(chance.pick([0, 0, 1, 3, 40])))
      let replica = chance.pick(replicas)
      switch chance.below(10) {
      case 0..<6: try await edit(replica, &chance)
      case 6: try await replica.replicator.push()
      case 7: if FileManager.default.fileExists(atPath: folder["remote"].path) { try await replica.replicator.pull() }
      default: try await replica.replicator.sync()
      }
      #expect(try await replica.naiveDump() == Dump(replica.magic), "MAGIC_SEED=\(seed)")
    }
    try await settle(replicas)
    try await expectEqual(replicas, "MAGIC_SEED=\(seed)")
    // A newcomer, who gets everything at once, sees the same.
    let newcomer = try Replica(folder["newcomer"], folder["remote"], world)
    try await newcomer.replicator.pull()
    try await expectEqual(replicas + [newcomer], "MAGIC_SEED=\(seed)")
  }

  private func edit(_ replica: Replica, _ chance: inout Seeded) async throws {
    let id = "n\(chance.below(4))"
    let notes = try await replica.notes()
    let events = try await replica.magic.object(of: Event.self)
    switch chance.below(8) {
    case 0, 1:
      let note = Note(id, "made \(chance.below(100))")
      if chance.below(2) == 0 { note.mood = chance.pick(["glad", "sad", nil]) }
      try await replica.magic.update(note)
    case 2, 3:
      guard let note = notes[id] else { return }
      note.title = "title \(chance.below(3))"
      if chance.below(2) == 0 { note.stars = chance.below(3) }
      try await replica.magic.update(note)
    case 4:
      guard let note = notes[id] else { return }
      // Sometimes a stale instance is saved after it was removed.
      try await replica.magic.remove(Note(id, ""))
      if chance.below(2) == 0 {
        note.mood = "back"
        try await replica.magic.update(note)
      }
    case 5:
      try await replica.magic.update(Event("event \(chance.below(100))"))
    case 6:
      guard !events.isEmpty else { return }
      let event = chance.pick(events)
      event.weight = chance.pick([nil, 1, -0.0, .nan])
      try await replica.magic.update(event)
    default:
      guard !events.isEmpty else { return }
      if chance.below(4) == 0 {
        try await replica.magic.removeAll(of: Event.self)
      } else {
        try await replica.magic.remove(chance.pick(events))
      }
    }
  }
}
