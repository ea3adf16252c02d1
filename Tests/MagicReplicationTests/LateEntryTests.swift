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

  /// Those that come one by one, too, and what they lost to may be given up before them.
  @Test func oneByOneTheyStandBehindOne() async throws {
    let (folder, world) = (try TemporaryFolder(), World(seed: 1))
    let replicas = try (0..<3).map { try Replica(folder["\($0)"], folder["remote"], world) }
    let (a, b, c) = (replicas[0], replicas[1], replicas[2])
    func set(_ stars: Int, in replica: Replica) async throws {
      world.advance(10)
      let note = try await replica.magic.object(of: Note.self, primary: "n")
      note.stars = stars
      try await replica.magic.update(note)
    }
    try await a.magic.update(Note("n", "a note"))
    try await settle(replicas)
    for stars in 1...3 { try await set(stars, in: b) }
    try await set(10, in: a)
    try await a.replicator.push()
    try await c.replicator.pull()
    let before = try await lasts(c.magic)
    try await b.replicator.push()
    #expect(try await c.replicator.pull().changes == 3)
    #expect(try await lasts(c.magic) == before)
    // Which gives up what they lost to, and not them.
    try await set(11, in: a)
    try await a.replicator.push()
    try await b.replicator.pull()
    try await b.replicator.push()
    try await c.replicator.pull()
    try await c.magic.compact()
    #expect(try await DatabaseCheck(c.magic).faults == [])
    try await settle(replicas)
    try await expectEqual(replicas)
  }

  /// Behind an entry that is too large to be written anew there stand none: they are folded at once, and each is told.
  @Test func manyMayLoseToALargeOne() async throws {
    let (folder, world) = (try TemporaryFolder(), World(seed: 1))
    let replicas = try (0..<2).map { try Replica(folder["\($0)"], folder["remote"], world) }
    let large = String(repeating: "a long text, ", count: 1_000)
    try await replicas[0].magic.update(Note("n", "a note"))
    try await settle(replicas)
    for number in 1...50 {
      world.advance(10)
      let note = try await replicas[0].magic.object(of: Note.self, primary: "n")
      note.title = "\(number)"
      try await replicas[0].magic.update(note)
    }
    world.advance(10)
    let note = try await replicas[1].magic.object(of: Note.self, primary: "n")
    note.title = large
    try await replicas[1].magic.update(note)
    try await replicas[0].replicator.push()
    let report = try await replicas[1].replicator.pull()
    #expect(report.changes == 50 && report.conflicts == 50)
    #expect(try await replicas[1].magic.object(of: Note.self, primary: "n").title == large)
    #expect(try await DatabaseCheck(replicas[1].magic).faults == [])
    try await settle(replicas)
    try await expectEqual(replicas)
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

  /// M-21, whether an object is folded for it or not.
  @Test(arguments: [false, true]) func eachValueThatComesTooLateIsTold(isFolded: Bool) async throws {
    let (folder, world) = (try TemporaryFolder(), World(seed: 1))
    let replicas = try (0..<2).map { try Replica(folder["\($0)"], folder["remote"], world) }
    try await replicas[0].magic.update(Note("n", "a note"))
    try await settle(replicas)
    for number in 1...3 {
      world.advance(10)
      let note = try await replicas[0].magic.object(of: Note.self, primary: "n")
      note.stars = number
      if isFolded { note.title = "title \(number)" }
      try await replicas[0].magic.update(note)
    }
    world.advance(10)
    let note = try await replicas[1].magic.object(of: Note.self, primary: "n")
    note.stars = 9
    try await replicas[1].magic.update(note)
    try await replicas[0].replicator.push()
    #expect(try await replicas[1].replicator.pull().conflicts == 3)
    try await settle(replicas)
    try await expectEqual(replicas)
  }

  private enum First {
    struct Page: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var title: String = "a page"
      @MagicValue var number: Int = 0
      @OptionMagicValue var parent: Page?
    }
  }

  private enum Second {
    struct Page: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var parent: Page?
      @MagicValue var number: Int = 0
      @MagicValue var title: String = "a page"
    }
  }

  /// Where an app declares its properties in another order, their fields have other numbers (J-14), and entries list them by
  /// those.
  @Test func fieldsMayHaveOtherNumbersWhereTheyLose() async throws {
    let (folder, world) = (try TemporaryFolder(), World(seed: 1))
    let replicas = try (0..<2).map { try Replica(folder["\($0)"], folder["remote"], world) }
    let own = Second.Page()
    own.id = "own"
    try await replicas[1].magic.update(own)
    try await replicas[0].magic.update(
      contentsOf: (0..<40).map {
        let page = First.Page()
        page.id = "p\($0)"
        return page
      })
    try await settle(replicas)
    world.advance(10)
    let first = try await replicas[0].magic.object(of: First.Page.self)
    for page in first {
      (page.title, page.number) = ("first", 1)
      page.parent = first[3]
    }
    try await replicas[0].magic.update(contentsOf: first)
    world.advance(10)
    let second = try await replicas[1].magic.object(of: Second.Page.self)
    for page in second {
      (page.title, page.number) = ("second", 1)
      // Of four of them another one than the first app chose.
      page.parent = second.first { $0.id == (page.id.hasSuffix("1") ? "p4" : first[3].id) }
    }
    try await replicas[1].magic.update(contentsOf: second)
    try await replicas[0].replicator.push()
    let before = try await replicas[1].magic.store.read { db in
      try Int64.fetchAll(db, sql: "SELECT magic_last FROM Page ORDER BY z_index")
    }
    let report = try await replicas[1].replicator.pull()
    #expect(report.changes == 41)
    // The title of each, and what is not the same beside it.
    #expect(report.conflicts == 41 + 4)
    let after = try await replicas[1].magic.store.read { db in
      try Int64.fetchAll(db, sql: "SELECT magic_last FROM Page ORDER BY z_index")
    }
    #expect(before == after)
    for page in try await replicas[1].magic.object(of: Second.Page.self) {
      #expect(page.title == "second" && page.number == 1 && page.parent != nil)
    }
    try await settle(replicas)
    try await expectEqual(replicas)
    for replica in replicas {
      #expect(try await DatabaseCheck(replica.magic).faults == [])
      let history = try await MagicHistory(replica.magic).history(of: "Page", "p7")
      let titles = history.changes.filter { $0.property == "title" }.compactMap(\.value)
      #expect(titles == ["\"a page\"", "\"first\"", "\"second\""])
    }
  }

  /// H-32: what stands behind what, when somebody has changed the journal.
  @Test func aJournalThatWasChangedIsReadOrRefused() async throws {
    let folder = try TemporaryFolder()
    let replicas = try await replicas(folder, notes: 20)
    try await replicas[0].replicator.push()
    let (row, bytes) = try await replicas[1].magic.store.read { db in
      let row = try Row.fetchOne(db, sql: "SELECT id, data FROM magic_journal ORDER BY id DESC LIMIT 1")
      return (row?["id"] as Int64?, [UInt8]((row?["data"] as Data?) ?? Data()))
    }
    try await replicas[1].magic.close()
    let remote = FolderRemote(folder["remote"])
    let faults = try await Fuzz("a journal that is pulled into", [bytes], inputs: 120).faults { input in
      let copy = try TemporaryFolder()
      try FileManager.default.copyItem(at: folder["1"], to: copy["1"])
      let magic = try await MagicData(path: copy["1"])
      _ = try await magic.store.change { db in
        try db.execute(sql: "UPDATE magic_journal SET data = ? WHERE id = ?", arguments: [Data(input), row])
        return []
      }
      do {
        try await MagicReplicator(magic, remote: remote).pull()
      } catch {
        try await magic.close()
        throw error
      }
      try await magic.close()
      return .read
    }
    #expect(faults == [])
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
