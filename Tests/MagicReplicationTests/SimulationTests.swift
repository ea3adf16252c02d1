import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

/// Random edits, pushes and pulls on three replicas; afterwards all are equal, and equal to a fold from the definition (M-5).
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
      case 7:
        if FileManager.default.fileExists(atPath: folder["remote"].path) {
          try await replica.pullAsForeseen("MAGIC_SEED=\(seed)")
        }
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
    try await expectEqualInPython(newcomer, folder["remote"], "MAGIC_SEED=\(seed)")
  }

  /// One edit, or several in a transaction, of which some are rolled back.
  nonisolated(nonsending) func edit(_ replica: Replica, _ chance: inout Seeded) async throws {
    guard chance.below(3) == 0 else { return try await edit(replica.magic, &chance) }
    var local = chance
    do {
      try await replica.magic.transaction { tx in
        for _ in 0...local.below(5) { try await edit(tx, &local) }
        if local.below(4) == 0 { throw RolledBack() }
        if local.below(3) == 0 {
          try? await tx.transaction { tx in
            for _ in 0...local.below(3) { try await edit(tx, &local) }
            if local.below(2) == 0 { throw RolledBack() }
          }
        }
      }
    } catch is RolledBack {}
    chance = local
  }

  private struct RolledBack: Error {}

  private nonisolated(nonsending) func edit(_ editor: some Editor, _ chance: inout Seeded) async throws {
    let id = "n\(chance.below(4))"
    let note = try await editor.object(of: Note.self).first { $0.id == id }
    let events = try await editor.object(of: Event.self)
    switch chance.below(8) {
    case 0, 1:
      let note = Note(id, "made \(chance.below(100))")
      if chance.below(2) == 0 { note.mood = chance.pick(["glad", "sad", nil]) }
      try await editor.update(note)
    case 2, 3:
      guard let note else { return }
      note.title = "title \(chance.below(3))"
      if chance.below(2) == 0 { note.stars = chance.below(3) }
      try await editor.update(note)
    case 4:
      guard let note else { return }
      // Sometimes a stale instance is saved after it was removed.
      try await editor.remove(Note(id, ""))
      if chance.below(2) == 0 {
        note.mood = "back"
        try await editor.update(note)
      }
    case 5:
      let event = Event("event \(chance.below(100))")
      try await editor.update(event)
      if chance.below(6) == 0 { try await editor.remove(event) }
    case 6:
      guard !events.isEmpty else { return }
      let event = chance.pick(events)
      event.weight = chance.pick([nil, 1, -0.0, .nan])
      try await editor.update(event)
    default:
      guard !events.isEmpty else { return }
      if chance.below(4) == 0 {
        try await editor.removeAll(of: Event.self)
      } else {
        try await editor.remove(chance.pick(events))
      }
    }
  }
}
