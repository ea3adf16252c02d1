import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

private struct Ticket: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var title: String
  @OptionMagicValue var parent: Ticket?
  @MagicValue var related: MagicalSet<Ticket> = []

  init() {}

  init(_ title: String) {
    self.title = title
  }

  init(_ number: Int, _ title: String) {
    self.number = number
    self.title = title
  }
}

/// Both sides of a folder hand out the same numbers (L-9, M-16 to M-20).
@Suite struct NumberTests {
  let (folder, world, a, b): (TemporaryFolder, World, Replica, Replica)

  init() throws {
    (folder, world, a, b) = try twoReplicas()
  }

  private func tickets(_ replica: Replica) async throws -> [String: Int] {
    let tickets = try await replica.magic.object(of: Ticket.self)
    return Dictionary(uniqueKeysWithValues: tickets.map { ($0.title, $0.number) })
  }

  private func settleEqual() async throws {
    try await settle([a, b])
    try await expectEqual([a, b])
  }

  private func isHash(_ number: Int?) -> Bool { number.map { Numbers.isLost(Int64($0)) } ?? false }

  @Test func theOlderClaimKeepsTheNumber() async throws {
    try await a.magic.update(Ticket("a1"))
    world.advance(5)
    try await b.magic.update(Ticket("b1"))
    try await b.magic.update(Ticket("b2"))
    world.advance(5)
    try await a.magic.update(Ticket("a2"))
    try await settleEqual()
    let tickets = try await tickets(a)
    #expect(tickets["a1"] == 1)
    #expect(tickets["b2"] == 2)
    #expect(isHash(tickets["b1"]) && isHash(tickets["a2"]))
    #expect(Set(tickets.values).count == 4)
    // Both count on above all that was claimed.
    try await a.magic.update(Ticket("a3"))
    #expect(try await self.tickets(a)["a3"] == 3)
  }

  @Test func aLookUpFindsWhoHasTheNumber() async throws {
    let loser = Ticket("a1")
    world.advance(5)
    try await b.magic.update(Ticket("b1"))
    world.advance(5)
    try await a.magic.update(loser)
    try await settleEqual()
    #expect(try await a.magic.object(of: Ticket.self, primary: 1).title == "b1")
    let number = try #require(try await tickets(a)["a1"])
    #expect(try await b.magic.object(of: Ticket.self, primary: number).title == "a1")
    // What was fetched or saved before means its object yet, whatever its number is by now.
    #expect(loser.number == 1)
    loser.title = "renamed"
    try await a.magic.update(loser)
    try await settleEqual()
    #expect(try await tickets(b) == ["b1": 1, "renamed": number])
    try await a.magic.remove(loser)
    try await settleEqual()
    #expect(try await tickets(b) == ["b1": 1])
    // By the number that it has, it comes back.
    try await b.magic.update(Ticket(number, "back"))
    try await settleEqual()
    #expect(try await tickets(a) == ["b1": 1, "back": number])
  }

  @Test func aNumberThatTheAppSetWins() async throws {
    try await a.magic.update(Ticket("claimed"))
    world.advance(5)
    try await b.magic.update(Ticket(1, "set"))
    try await settleEqual()
    let tickets = try await tickets(a)
    #expect(tickets["set"] == 1)
    #expect(isHash(tickets["claimed"]))
  }

  /// Losing is permanent, and a number is given once.
  @Test(arguments: [true, false]) func whatIsRemovedKeepsItsNumber(isSet: Bool) async throws {
    let first = isSet ? Ticket(1, "first") : Ticket("first")
    try await a.magic.update(first)
    try await a.magic.remove(first)
    world.advance(5)
    try await b.magic.update(Ticket("second"))
    try await settleEqual()
    #expect(try await isHash(tickets(b)["second"]))
    try await b.magic.update(Ticket("third"))
    #expect(try await tickets(b)["third"] == 2)
    try await settleEqual()
  }

  @Test func whatWasMadeAndRemovedAtOnceKeepsItsNumber() async throws {
    try await a.magic.transaction { tx in
      let ticket = Ticket("gone")
      try await tx.update(ticket)
      try await tx.remove(ticket)
    }
    try await settleEqual()
    try await b.magic.update(Ticket("next"))
    #expect(try await tickets(b) == ["next": 2])
    try await settleEqual()
  }

  @Test func theLoserIsRemovedAndComesBack() async throws {
    try await a.magic.update(Ticket("winner"))
    world.advance(5)
    let loser = Ticket("loser")
    try await b.magic.update(loser)
    try await settleEqual()
    let number = try #require(try await tickets(a)["loser"])
    try await a.magic.remove(try await a.magic.object(of: Ticket.self, primary: 1))
    try await a.magic.remove(try await a.magic.object(of: Ticket.self, primary: number))
    world.advance(5)
    loser.title = "back"
    try await settle([a, b])
    try await b.magic.update(loser)
    try await settleEqual()
    #expect(try await tickets(a) == ["back": number])
  }

  @Test func relationsOfALoserAreAsTheyWere() async throws {
    try await a.magic.update(Ticket("winner"))
    world.advance(5)
    let (loser, child) = (Ticket("loser"), Ticket("child"))
    child.parent = loser
    child.related = [loser, child]
    try await b.magic.update(child)
    try await settleEqual()
    for replica in [a, b] {
      let number = try #require(try await tickets(replica)["child"])
      let fetched = try await replica.magic.object(of: Ticket.self, primary: number)
      #expect(fetched.parent?.title == "loser")
      #expect(isHash(fetched.parent?.number))
      #expect(Set(fetched.related.map(\.title)) == ["loser", "child"])
    }
  }

  /// Its number is another object's by the time that it is put back.
  @Test func whatWasRemovedComesBackAsItself() async throws {
    try await a.magic.update(Ticket("winner"))
    world.advance(5)
    let (loser, gone) = (Ticket("loser"), Ticket("gone"))
    try await b.magic.update(loser)
    try await b.magic.update(gone)
    try await b.magic.remove(loser)
    try await b.magic.remove(gone)
    try await settleEqual()
    try await b.magic.remove(loser)
    #expect(try await tickets(b) == ["winner": 1])
    try await b.magic.transaction { tx in
      try await tx.update(loser)
      try await tx.update(gone)
    }
    #expect(isHash(loser.number))
    #expect(try await tickets(b) == ["winner": 1, "loser": loser.number, "gone": 2])
    try await settleEqual()
    #expect(try await tickets(a) == ["winner": 1, "loser": loser.number, "gone": 2])
  }

  /// Whoever is met first, numbers and relations end the same.
  @Test func theOrderOfMergesDoesNotMatter() async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await settle([a, b, c])
    var files: [Set<URL>] = [[]]
    for (index, replica) in [a, b, c].enumerated() {
      world.advance(5)
      try await replica.magic.transaction { tx in
        let (parent, child) = (Ticket("parent \(index)"), Ticket("child \(index)"))
        child.parent = parent
        child.related = [parent, child]
        parent.related = [child]
        if index == 1 { try await tx.update(Ticket(2, "set")) }
        try await tx.update(child)
        if index == 2 { try await tx.remove(child) }
      }
      try await replica.replicator.push()
      let all = try FileManager.default.contentsOfDirectory(at: folder["remote/segments"], includingPropertiesForKeys: nil)
      files.append(Set(all).subtracting(files.joined()))
    }
    let own = Array(files[1...])
    var newcomers: [Replica] = []
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let name = "order\(newcomers.count)"
      try FileManager.default.createDirectory(at: folder["\(name)-remote/segments"], withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: folder["remote/magicdata.json"], to: folder["\(name)-remote/magicdata.json"])
      let newcomer = try Replica(folder[name], folder["\(name)-remote"], world)
      for index in order {
        for file in own[index] {
          try FileManager.default.copyItem(at: file, to: folder["\(name)-remote/segments/\(file.lastPathComponent)"])
        }
        try await newcomer.replicator.pull()
        #expect(try await newcomer.naiveDump() == Dump(newcomer.magic))
        #expect(try await faultyPlaces(newcomer.magic) == [])
      }
      newcomers.append(newcomer)
    }
    try await settle([a, b, c])
    try await expectEqual([a, b, c] + newcomers)
    for replica in [a, b, c] + newcomers {
      let tickets = try await tickets(replica)
      #expect(tickets.count == 6)
      #expect(tickets["parent 0"] == 1)
      #expect(tickets["set"] == 2)
      #expect(isHash(tickets["parent 2"]))
      for index in 0...1 {
        let number = try #require(tickets["child \(index)"])
        #expect(index == 0 ? isHash(number) : number == 4)
        let child = try await replica.magic.object(of: Ticket.self, primary: number)
        #expect(child.parent?.title == "parent \(index)")
        #expect(Set(child.related.map(\.title)) == ["parent \(index)", "child \(index)"])
      }
    }
  }

  /// L-8: an object whose claim has not arrived is there, and not shown.
  @Test func anObjectWithoutItsClaimIsHidden() async throws {
    let ticket = Ticket("made")
    try await a.magic.update(ticket)
    try await a.replicator.push()
    try await b.replicator.pull()
    let claims = try FileManager.default.contentsOfDirectory(at: folder["remote/segments"], includingPropertiesForKeys: nil)
    let edited = try await b.magic.object(of: Ticket.self, primary: 1)
    edited.title = "edited"
    try await b.magic.update(edited)
    try await b.magic.update(Ticket(1, "edited again"))
    let holder = Ticket("holds it")
    holder.parent = edited
    try await b.magic.update(holder)
    try await b.replicator.push()
    // The first file is still on its way.
    try FileManager.default.createDirectory(at: folder["later"], withIntermediateDirectories: true)
    for file in claims { try FileManager.default.moveItem(at: file, to: folder["later/\(file.lastPathComponent)"]) }
    let c = try Replica(folder["c"], folder["remote"], world)
    try await c.replicator.pull()
    #expect(try await tickets(c) == ["holds it": 2])
    #expect(try await c.naiveDump() == Dump(c.magic))
    #expect(try await c.magic.count(of: Ticket.self) == 1)
    #expect(try await c.magic.query(of: Ticket.self).where { $0.number > 0 }.all().map(\.number) == [2])
    #expect(try await c.magic.query(of: Ticket.self).count() == 1)
    #expect(try await c.magic.object(of: Ticket.self, primary: 2).parent == nil)
    // Here 1 is free; it is not given all the same, nor does setting it do harm.
    try await c.magic.update(Ticket(1, "mine"))
    try await c.magic.update(Ticket("next"))
    #expect(try await tickets(c) == ["holds it": 2, "mine": 1, "next": 3])
    for file in claims { try FileManager.default.moveItem(at: folder["later/\(file.lastPathComponent)"], to: file) }
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
    let tickets = try await tickets(c)
    #expect(tickets["mine"] == 1)
    #expect(isHash(tickets["edited again"]))
    #expect(try await c.magic.object(of: Ticket.self, primary: 2).parent?.title == "edited again")
  }

  /// A relation may name a number that is claimed here, and that was set where it comes from.
  @Test func aRelationToANumberThatHasNotArrived() async throws {
    try await a.magic.update(Ticket(1, "set"))
    try await a.replicator.push()
    let first = try FileManager.default.contentsOfDirectory(at: folder["remote/segments"], includingPropertiesForKeys: nil)
    try await b.replicator.pull()
    let child = Ticket(50, "child")
    child.parent = try await b.magic.object(of: Ticket.self, primary: 1)
    try await b.magic.update(child)
    try await b.replicator.push()
    try FileManager.default.createDirectory(at: folder["later"], withIntermediateDirectories: true)
    for file in first { try FileManager.default.moveItem(at: file, to: folder["later/\(file.lastPathComponent)"]) }
    let c = try Replica(folder["c"], folder["remote"], world)
    try await c.magic.update(Ticket("claimed"))
    try await c.replicator.pull()
    #expect(try await tickets(c) == ["claimed": 1, "child": 50])
    for file in first { try FileManager.default.moveItem(at: folder["later/\(file.lastPathComponent)"], to: file) }
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
    #expect(try await tickets(c)["set"] == 1)
    #expect(try await isHash(tickets(c)["claimed"]))
  }

  /// M-17: a number is set where a lost claim would go.
  @Test func hashesThatMeetEndTheSameEverywhere() async throws {
    try await a.magic.update(Ticket("winner"))
    world.advance(5)
    try await b.magic.update(Ticket("loser"))
    let birth = try await b.magic.store.read { db in
      var birth: Birth?
      try JournalReader(db).forEachTransaction { if case .birth(let key) = $0.entries[0].key { birth = key } }
      return birth
    }
    let hash = Int(try #require(birth).number(attempt: 0))
    let c = try Replica(folder["c"], folder["remote"], world)
    try await c.magic.update(Ticket(hash, "in its place"))
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
    let tickets = try await tickets(b)
    #expect(tickets["in its place"] == hash)
    #expect(tickets["loser"] == Int(try #require(birth).number(attempt: 1)))
    // The other order: the loser is known to be one, then the number is set.
    let d = try Replica(folder["d"], folder["remote"], world)
    try await d.magic.update(Ticket(Int(try #require(birth).number(attempt: 1)), "and there"))
    try await settle([d, a, b, c])
    try await expectEqual([a, b, c, d])
    #expect(try await self.tickets(b)["loser"] == Int(try #require(birth).number(attempt: 2)))
  }

  private struct RolledBack: Error {}

  /// Claims, numbers that are set, edits, removes and relations on three replicas, in any order.
  @Test(arguments: seeds(16)) func replicasEndEqual(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    let world = World(seed: seed)
    var chance = Seeded(seed)
    var replicas = try (0..<3).map { number in
      try Replica(folder["db\(number)"], folder["remote"], world, skew: Int64(number) * 30)
    }
    // Instances that go stale: their numbers may be others' by the time that they are saved again.
    var held: [[Ticket]] = [[], [], []]
    for step in 0..<50 {
      world.advance(Int64(chance.pick([0, 1, 40])))
      let index = chance.below(3)
      if chance.below(12) == 0 {
        try await replicas[index].magic.close()
        replicas[index] = try Replica(folder["db\(index)"], folder["remote"], world, skew: Int64(index) * 30)
      }
      let replica = replicas[index]
      switch chance.below(10) {
      case 0..<6: try await edit(replica.magic, step, &held[index], &chance)
      case 6: try await replica.replicator.push()
      case 7: if FileManager.default.fileExists(atPath: folder["remote"].path) { try await replica.replicator.pull() }
      default: try await replica.replicator.sync()
      }
      #expect(try await replica.naiveDump() == Dump(replica.magic), "MAGIC_SEED=\(seed)")
      #expect(try await faultyPlaces(replica.magic) == [], "MAGIC_SEED=\(seed)")
    }
    try await settle(replicas)
    let newcomer = try Replica(folder["newcomer"], folder["remote"], world)
    try await newcomer.replicator.pull()
    try await expectEqual(replicas + [newcomer], "MAGIC_SEED=\(seed)")
    let highest = try await newcomer.magic.object(of: Ticket.self).map(\.number).filter { !isHash($0) }.max() ?? 0
    let next = Ticket("next")
    try await newcomer.magic.update(next)
    #expect(next.number > highest, "MAGIC_SEED=\(seed)")
  }

  /// Several edits in a transaction, of which some are rolled back, alone or within another.
  private nonisolated(nonsending) func edit(
    _ magic: MagicData, _ step: Int, _ held: inout [Ticket], _ chance: inout Seeded
  ) async throws {
    var (local, tickets) = (chance, held)
    do {
      try await magic.transaction { tx in
        for part in 0...local.below(3) { try await edit(tx, "\(step).\(part)", &tickets, &local) }
        if local.below(4) == 0 { throw RolledBack() }
        if local.below(3) == 0 {
          try? await tx.transaction { tx in
            try await edit(tx, "\(step).nested", &tickets, &local)
            if local.below(2) == 0 { throw RolledBack() }
          }
        }
      }
    } catch is RolledBack {}
    (chance, held) = (local, tickets.suffix(6))
  }

  private nonisolated(nonsending) func edit(
    _ tx: MagicTransaction, _ title: String, _ held: inout [Ticket], _ chance: inout Seeded
  ) async throws {
    let tickets = try await tx.object(of: Ticket.self)
    if !tickets.isEmpty, chance.below(3) == 0 { held.append(chance.pick(tickets)) }
    switch chance.below(10) {
    case 0, 1, 2:
      let ticket = Ticket(title)
      if !tickets.isEmpty, chance.below(2) == 0 { ticket.parent = chance.pick(tickets) }
      if !tickets.isEmpty, chance.below(2) == 0 { ticket.related = [chance.pick(tickets), ticket] }
      try await tx.update(ticket)
      held.append(ticket)
      if chance.below(5) == 0 { try await tx.remove(ticket) }
    case 3:
      try await tx.update(contentsOf: [Ticket(title), Ticket(chance.below(8) + 1, title)])
    case 4, 5:
      guard !tickets.isEmpty else { return }
      let ticket = chance.pick(tickets)
      ticket.title = title
      if chance.below(3) == 0 { ticket.related.insert(chance.pick(tickets)) }
      try await tx.update(ticket)
    case 6:
      guard !tickets.isEmpty else { return }
      let ticket = chance.pick(tickets)
      try await tx.remove(ticket)
      if chance.below(3) == 0 { try await tx.update(ticket) }
    case 7:
      guard !held.isEmpty else { return }
      let ticket = chance.pick(held)
      ticket.title = title
      try await tx.update(ticket)
    case 8:
      guard !held.isEmpty else { return }
      let ticket = chance.pick(held)
      // One that was rolled back is not known.
      do { try await tx.remove(ticket) } catch let error as MagicDataError where error.code == .notSaved {}
    default:
      let number = chance.below(8) + 1
      if try await tx.has(of: Ticket.self, primary: number) {
        try await tx.remove(Ticket(number, title))
      }
    }
  }
}
