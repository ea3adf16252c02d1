import Foundation
import GRDB
import MagicData
import MagicReplication
import TestSupport
import Testing

/// What comes late and changes nothing stands behind what it lost to (J-18).
@Suite struct LateEntryTests {
  /// Two replicas that hold the same notes, of which the first has pushed earlier changes than the second one made.
  private func replicas(_ folder: TemporaryFolder, notes count: Int, others: Int = 0) async throws -> [Replica] {
    let world = World(seed: 1)
    let replicas = try (0..<2 + others).map { try Replica(folder["\($0)"], folder["remote"], world) }
    try await replicas[0].magic.update(contentsOf: (0..<count).map { Note("n\($0)", "a note") })
    try await settle(replicas)
    for (number, replica) in replicas.enumerated() {
      world.advance(10)
      let notes = try await replica.magic.object(of: Note.self)
      for note in notes { note.stars = number + 1 }
      try await replica.magic.update(contentsOf: notes)
    }
    return replicas
  }

  private func lasts(_ magic: MagicData) async throws -> [Int64] {
    try await magic.store.read { db in
      try Int64.fetchAll(db, sql: "SELECT magic_last FROM Note ORDER BY z_index")
    }
  }

  @Test func rowsOfWhatWinsStayAsTheyAre() async throws {
    let folder = try TemporaryFolder()
    let replicas = try await replicas(folder, notes: 300)
    try await replicas[0].replicator.push()
    let before = try await lasts(replicas[1].magic)
    let report = try await replicas[1].replicator.pull()
    #expect(report.changes == 300 && report.conflicts == 300)
    #expect(try await lasts(replicas[1].magic) == before)
    try await settle(replicas)
    try await expectEqual(replicas)
    for replica in replicas {
      #expect(try await DatabaseCheck(replica.magic).faults == [])
      let history = try await MagicHistory(replica.magic).history(of: "Note", "n7")
      #expect(history.changes.filter { $0.property == "stars" }.compactMap(\.value) == ["0", "1", "2"])
    }
  }

  @Test func manyMayStandBehindOne() async throws {
    let folder = try TemporaryFolder()
    let replicas = try await replicas(folder, notes: 40, others: 3)
    // The last one has the latest; what the others bring comes one after the other, the latest of them first.
    for replica in replicas.dropLast().reversed() {
      try await replica.replicator.push()
      try await replicas[4].replicator.pull()
    }
    #expect(try await DatabaseCheck(replicas[4].magic).faults == [])
    let last = try await replicas[4].magic.object(of: Note.self, primary: "n3")
    last.title = "another"
    try await replicas[4].magic.update(last)
    try await settle(replicas)
    try await expectEqual(replicas)
    try await replicas[4].magic.compact()
    #expect(try await DatabaseCheck(replicas[4].magic).faults == [])
    #expect(try await Dump(replicas[4].magic) == Dump(replicas[0].magic))
  }

  @Test func whereAnObjectsEntriesEndIsFoundAgain() async throws {
    let folder = try TemporaryFolder()
    let replicas = try await replicas(folder, notes: 30, others: 1)
    try await settle(replicas)
    let (magic, whole) = (replicas[2].magic, try await Dump(replicas[2].magic))
    _ = try await magic.store.change { db in
      try db.execute(sql: "UPDATE Note SET magic_last = (SELECT magic_last FROM Note WHERE id = 'n1'), stars = 17")
      return []
    }
    #expect(try await DatabaseCheck(magic).faults.count >= 29)
    _ = try await magic.repair(.journal)
    #expect(try await DatabaseCheck(magic).faults == [])
    #expect(try await Dump(magic) == whole)
  }

  @Test func aPlaceThatWasChangedLeadsNothingAstray() async throws {
    let folder = try TemporaryFolder()
    let replicas = try await replicas(folder, notes: 30)
    try await replicas[0].replicator.push()
    let magic = replicas[1].magic
    _ = try await magic.store.change { db in
      try db.execute(sql: "UPDATE Note SET magic_last = (SELECT magic_last FROM Note WHERE id = 'n1') WHERE id = 'n2'")
      return []
    }
    try await replicas[1].replicator.pull()
    // What belongs to the one was not put behind the other's.
    #expect(try await DatabaseCheck(magic).faults.allSatisfy { !$0.contains("n1 ") })
    _ = try await magic.repair(.journal)
    #expect(try await DatabaseCheck(magic).faults == [])
    try await settle(replicas)
    try await expectEqual(replicas)
  }

  /// A history of many changes at once, of which most lose somewhere.
  @Test(arguments: seeds(12)) func whateverComesWhenAllEndEqual(seed: UInt64) async throws {
    var chance = Seeded(seed)
    let (folder, world) = (try TemporaryFolder(), World(seed: seed))
    let replicas = try (0..<3).map { try Replica(folder["\($0)"], folder["remote"], world, skew: Int64($0 * 40)) }
    try await replicas[0].magic.update(contentsOf: (0..<60).map { Note("n\($0)", "a note") })
    try await settle(replicas)
    for _ in 0..<30 {
      world.advance(Int64(chance.below(30)))
      let replica = chance.pick(replicas)
      switch chance.below(8) {
      case 0: try await replica.replicator.push()
      case 1: try await replica.replicator.pull()
      case 2: _ = try await replica.magic.compact()
      case 3:
        if let note = try await replica.notes()["n\(chance.below(60))"] { try await replica.magic.remove(note) }
      default:
        let notes = try await replica.magic.object(of: Note.self)
        guard !notes.isEmpty else { continue }
        let first = chance.below(notes.count)
        let some = notes[first..<min(notes.count, first + 1 + chance.below(40))]
        let (both, value) = (chance.below(3) == 0, chance.below(100))
        for note in some {
          note.stars = value
          if both { note.mood = "\(value)" }
        }
        try await replica.magic.update(contentsOf: Array(some))
      }
    }
    try await settle(replicas)
    try await expectEqual(replicas, "seed \(seed)")
    for replica in replicas { #expect(try await DatabaseCheck(replica.magic).faults == [], "seed \(seed)") }
  }
}
