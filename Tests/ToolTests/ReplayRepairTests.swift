import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

private struct Member: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var name: String
  init() {}
}

private struct Team: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String
  @MagicValue var members: MagicalSet<Member> = []
  init() {}
}

private struct Ticket: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var title: String
  init() {}
  init(_ title: String) { self.title = title }
}

@Suite(.timeLimit(.minutes(15))) struct ReplayRepairTests {
  let fixture: ReplayFixture

  init() throws {
    fixture = try ReplayFixture()
  }

  private func path(_ name: String) -> String { fixture.path(name) }
  private func digest(_ name: String) throws -> String { try Tool.sync.run("digest", path(name)).output }

  private func titles(_ name: String) async throws -> [String: String] {
    let magic = try await MagicData(path: fixture.folder[name])
    let titles = try await magic.object(of: Note.self).map { ($0.id, $0.title) }
    try await magic.close()
    return Dictionary(uniqueKeysWithValues: titles)
  }

  // MARK: Verifying

  /// Behind the journal's back: a value, a row that goes, a row that comes, one that comes back.
  private func tamper() async throws {
    for id in ["changed", "deleted", "kept", "removed"] { try await fixture.write(id, to: "a", id: id) }
    try await fixture.remove("removed", from: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
    try fixture.sql(
      "UPDATE Note SET title = 'by SQL' WHERE id = 'changed'", "DELETE FROM Note WHERE id = 'deleted'",
      "INSERT INTO Note (id, title, magic_last) VALUES ('inserted', 'new', 0)", in: "a")
    let result = try Tool.replay.run("verify", path("a"))
    #expect(result.status == 4)
    #expect(result.output.contains("Note changed shows other values than its journal folds to: title"))
    #expect(result.output.contains("Note deleted has entries, and no place"))
    #expect(result.output.contains("Note inserted has a row, against its journal"))
  }

  /// What a repair would bring back is not given up, and no checkpoint is written without it.
  @Test func aJournalThatObjectsDoNotLeadToIsNotCompacted() async throws {
    for id in ["deleted", "kept"] { try await fixture.write(id, to: "a", id: id) }
    try Tool.sync.run("push", path("a"), path("remote"))
    try fixture.sql("DELETE FROM Note WHERE id = 'deleted'", in: "a")
    for arguments in [[], ["--dry-run"], [path("remote")], [path("remote"), "--dry-run"]] {
      let result = try Tool.sync.run(arguments: ["compact", path("a")] + arguments)
      #expect(result.status == 1 && result.errors.contains("objects lead to 1"), "\(arguments): \(result)")
    }
    #expect(try Tool.replay.run("verify", path("a"), "--repair", "journal").status == 0)
    #expect(try Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    #expect(try Tool.replay.run("state", path("a"), "--csv").output.contains("deleted"))
    // The same of what is kept of a history that was given up.
    try fixture.sql("DELETE FROM Note WHERE id = 'deleted'", in: "a")
    let before = try Tool.sync.run("log", path("remote"), "--json").output
    #expect(try Tool.sync.run("compact", path("a"), path("remote")).status == 1)
    #expect(try Tool.sync.run("log", path("remote"), "--json").output == before)
  }

  /// What is lost of the journal is said, the rest is shown, and nothing is settled by what is left.
  @Test func aJournalThatLacksRowsIsReadAsFarAsItGoes() async throws {
    for id in ["x", "y", "z"] { try await fixture.write(id, to: "a", id: id) }
    try fixture.sql("DELETE FROM magic_journal WHERE id = 2", in: "a")
    let verified = try Tool.replay.run("verify", path("a"))
    #expect(verified.status == 4, "\(verified)")
    #expect(verified.output.contains("the journal lacks rows") && verified.output.contains("Note y has an entry"))
    for command in [["state"], ["diff", "--from", "2025-01-01"]] {
      let lines = try fixture.json(command[0], [path("a")] + command.dropFirst(), status: 3)
      #expect(lines.dropLast().texts("object") == ["x", "z"], "\(lines)")
      #expect(lines.events("unread").texts("message").first?.contains("Note y") == true, "\(lines)")
    }
    for side in ["journal", "tables"] {
      let repaired = try Tool.replay.run("verify", path("a"), "--repair", side)
      #expect(repaired.status == 1 && repaired.errors.contains("the journal lacks rows"), "\(repaired)")
    }
    #expect(try await titles("a") == ["x": "x", "y": "y", "z": "z"])
  }

  @Test func theJournalSettlesWhatSQLChanged() async throws {
    try await tamper()
    #expect(try Tool.replay.run("verify", path("a"), "--repair", "journal").output.hasPrefix("settled 3 objects"))
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
    #expect(try await titles("a") == ["changed": "changed", "deleted": "deleted", "kept": "kept"])
    // Nothing was written for others.
    #expect(try Tool.sync.run("status", path("a"), path("remote"), "--check").status == 0)
    try await fixture.write("later", to: "a", id: "deleted")
    try await fixture.write("made", to: "a", id: "inserted")
    // SQL gives a row what the object had that is removed.
    try await fixture.write("back", to: "a", id: "removed")
    #expect(try await titles("a").count == 5)
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  /// What is written is named, and never by what was set for another database.
  @Test(arguments: ["journal", "tables", "neither"]) func nothingIsSettledByAVariable(side: String) async throws {
    try await tamper()
    for _ in 0..<2 {
      let verified = try Tool.replay.run("verify", path("a"), environment: ["MAGIC_REPLAY_REPAIR": side])
      #expect(verified.status == 4 && !verified.output.contains("settled"), "\(verified)")
    }
  }

  @Test func theTablesSettleWhatSQLChanged() async throws {
    try await tamper()
    #expect(try Tool.replay.run("verify", path("a"), "--repair", "tables").output.hasPrefix("settled 3 objects"))
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
    let expected = ["changed": "by SQL", "inserted": "new", "kept": "kept"]
    #expect(try await titles("a") == expected)
    // They are changes like any other, which others merge.
    #expect(try Tool.sync.run("push", path("a"), path("remote")).status == 0)
    #expect(try Tool.sync.run("clone", path("remote"), path("b")).status == 0)
    #expect(try await titles("b") == expected)
    #expect(try digest("a") == digest("b"))
    try await fixture.write("later", to: "a", id: "inserted")
    try await fixture.write("again", to: "a", id: "deleted")
    try await fixture.write("back", to: "a", id: "removed")
    #expect(try await titles("a").count == 5)
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
    #expect(try Tool.replay.run("verify", path("remote"), "--repair", "journal").status == 64)
  }

  @Test(arguments: ["journal", "tables"]) func aPlaceThatLeadsAstrayIsFound(side: String) async throws {
    for id in ["x", "y"] {
      try await fixture.write(id, to: "a", id: id)
      try await fixture.write(id + " again", to: "a", id: id)
    }
    try fixture.sql("UPDATE Note SET magic_last = (SELECT magic_last FROM Note WHERE id = 'y') WHERE id = 'x'", in: "a")
    #expect(try Tool.replay.run("verify", path("a")).status == 4)
    #expect(try Tool.replay.run("verify", path("a"), "--repair", side).status == 0)
    #expect(try await titles("a") == ["x": "x again", "y": "y again"])
    try await fixture.write("later", to: "a", id: "x")
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  /// One with two members.
  private func writeTeam(_ name: String = "a") async throws {
    try await fixture.work(name) { magic in
      let team = Team()
      (team.id, team.title) = ("t", "T")
      for name in ["A", "B"] {
        let member = Member()
        (member.id, member.name) = (name, name)
        team.members.insert(member)
      }
      try await magic.update(team)
    }
  }

  @Test(arguments: ["journal", "tables"]) func linksAreSettledToo(side: String) async throws {
    try await writeTeam()
    try fixture.sql(
      "DELETE FROM \"Team.members\" WHERE target = (SELECT z_index FROM Member WHERE id = 'A')",
      "INSERT INTO \"Team.members\" (owner, target) VALUES (77, 1)", in: "a")
    let result = try Tool.replay.run("verify", path("a"))
    #expect(result.status == 4)
    #expect(result.output.contains("Team t shows other values than its journal folds to: members"))
    #expect(result.output.contains("Team.members has 1 links of owners that have no row"))
    #expect(try Tool.replay.run("verify", path("a"), "--repair", side).status == 0)
    let magic = try await MagicData(path: fixture.folder["a"])
    let names = try #require(try await magic.object(of: Team.self).first).members.map(\.name).sorted()
    #expect(names == (side == "journal" ? ["A", "B"] : ["B"]))
    try await magic.close()
  }

  private func members(_ name: String) async throws -> [String: String] {
    let magic = try await MagicData(path: fixture.folder[name])
    let members = try #require(try await magic.object(of: Team.self).first).members.map { ($0.id, $0.name) }
    try await magic.close()
    return Dictionary(uniqueKeysWithValues: members)
  }

  /// A row that SQL replaces has another z index and no entries, and one under another name is another object.
  @Test(arguments: ["journal", "tables"]) func rowsThatSQLReplacesOrRenamesAreSettled(side: String) async throws {
    let cases: [(String, [String: String]?)] = [
      ("REPLACE INTO Member (id, name, magic_last) VALUES ('A', 'replaced', 0)", ["A": "replaced", "B": "B"]),
      ("UPDATE Member SET id = 'C' WHERE id = 'A'", ["B": "B", "C": "A"]),
      ("UPDATE Member SET magic_last = 0", ["A": "A", "B": "B"]),
      // Of what the team holds in its place no table tells.
      ("UPDATE Member SET z_index = z_index + 100 WHERE id = 'B'", nil),
    ]
    for (number, (tampering, after)) in cases.enumerated() {
      let (name, anew) = ("a\(number)", "anew\(number)")
      try await writeTeam(name)
      let before = try digest(name)
      try fixture.sql(tampering, in: name)
      #expect(try Tool.replay.run("verify", path(name)).status == 4, "\(tampering)")
      let repaired = try Tool.replay.run("verify", path(name), "--repair", side)
      guard let after = side == "journal" ? ["A": "A", "B": "B"] : after else {
        #expect(repaired.status == 1, "\(repaired)")
        #expect(repaired.errors.contains("Team t refers to an object that nothing names"), "\(repaired)")
        continue
      }
      #expect(repaired.status == 0, "\(tampering): \(repaired)")
      #expect(try await members(name) == after, "\(tampering)")
      if side == "journal" { #expect(try digest(name) == before, "\(tampering)") }
      // Its journal alone makes the same of it.
      #expect(try Tool.replay.run("apply", path(name), "--into", path(anew)).status == 0, "\(tampering)")
      #expect(try digest(anew) == digest(name), "\(tampering)")
    }
  }

  /// A row of an object that no transaction made has no name that others could read.
  @Test(arguments: ["zeroblob(16)", "x'00'", "x'ffffffffffffffffffffffffffffffff'"])
  func aBirthThatNoTransactionGaveIsNotJournaled(birth: String) async throws {
    try await fixture.work("a") { magic in try await magic.update(Remark("first")) }
    try Tool.sync.run("push", path("a"), path("remote"))
    let before = try digest("a")
    try fixture.sql("INSERT INTO Remark (magic_birth, title, magic_last) VALUES (\(birth), 'by SQL', 0)", in: "a")
    #expect(try Tool.replay.run("verify", path("a")).status == 4)
    let refused = try Tool.replay.run("verify", path("a"), "--repair", "tables")
    #expect(refused.status == 1, "\(refused)")
    #expect(try Tool.replay.run("verify", path("a"), "--repair", "journal").status == 0)
    #expect(try digest("a") == before)
    // Nothing was written for others.
    #expect(try Tool.sync.run("status", path("a"), path("remote"), "--check").status == 0)
  }

  /// The object is named as a log names it (J-7).
  @Test func aValueThatItsPropertyCannotHaveIsNotJournaled() async throws {
    try await fixture.write("title", to: "a", id: "n")
    try fixture.sql("UPDATE Note SET title = x'00'", in: "a")
    let refused = try Tool.replay.run("verify", path("a"), "--repair", "tables")
    #expect(refused.status == 1, "\(refused)")
    #expect(refused.errors.contains("Note n has a value that property title cannot have"), "\(refused)")
    #expect(try Tool.replay.run("verify", path("a"), "--repair", "journal").status == 0)
  }

  /// Places that lead to others' entries, and a row that took a name which others refer to already.
  @Test func theJournalSettlesPlacesThatAreOthers() async throws {
    try await fixture.work("a") { magic in
      let team = Team()
      (team.id, team.title) = ("t", "team")
      for name in ["A", "B"] {
        let member = Member()
        (member.id, member.name) = (name, name)
        team.members.insert(member)
      }
      try await magic.update(team)
      try await magic.remove(try await magic.object(of: Member.self, primary: "A"))
    }
    let before = try digest("a")
    for tampering in [
      "UPDATE Member SET magic_last = (SELECT magic_last FROM Team)",
      "UPDATE Member SET magic_last = 9223372036854775807",
      "UPDATE Member SET id = 'A'",
      "INSERT INTO Member (id, name, magic_last) VALUES ('A', 'again', 0)",
      "UPDATE magic_absent SET magic_last = 0",
      "DELETE FROM magic_absent",
    ] {
      try fixture.sql(tampering, in: "a")
      #expect(try Tool.replay.run("verify", path("a")).status == 4, "\(tampering)")
      let repaired = try Tool.replay.run("verify", path("a"), "--repair", "journal")
      #expect(repaired.status == 0, "\(tampering): \(repaired)")
      #expect(try await members("a") == ["B": "B"], "\(tampering)")
      #expect(try digest("a") == before, "\(tampering)")
    }
  }

  @Test func aNameThatCannotBeReadIsFoundAndGoes() async throws {
    try await writeTeam()
    let before = try digest("a")
    try fixture.sql("UPDATE Member SET id = x'fffe' WHERE id = 'A'", in: "a")
    let found = try Tool.replay.run("verify", path("a"))
    #expect(found.status == 4 && found.output.contains("Member has a name that cannot be read"), "\(found)")
    let refused = try Tool.replay.run("verify", path("a"), "--repair", "tables")
    #expect(refused.status == 1 && refused.errors.contains("name that no journal can hold"), "\(refused)")
    #expect(try Tool.replay.run("verify", path("a"), "--repair", "journal").status == 0)
    #expect(try await members("a") == ["A": "A", "B": "B"])
    #expect(try digest("a") == before)
  }

  @Test func aTableThatIsNotThereIsSaidAndMadeAnewFromTheJournal() async throws {
    try await writeTeam()
    let before = try digest("a")
    try fixture.sql("DROP TABLE Member", in: "a")
    let found = try Tool.replay.run("verify", path("a"))
    #expect(found.status == 4 && found.output.contains("the table Member is not there"), "\(found)")
    for side in ["journal", "tables"] {
      let refused = try Tool.replay.run("verify", path("a"), "--repair", side)
      #expect(refused.status == 1 && refused.errors.contains("magic-replay apply"), "\(refused)")
    }
    #expect(try Tool.replay.run("apply", path("a"), "--into", path("anew")).status == 0)
    #expect(try digest("anew") == before)
  }

  private func tickets(_ name: String) async throws -> [Int: String] {
    let magic = try await MagicData(path: fixture.folder[name])
    let tickets = try await magic.object(of: Ticket.self).map { ($0.number, $0.title) }
    try await magic.close()
    return Dictionary(uniqueKeysWithValues: tickets)
  }

  /// Tickets 1 to 5 of two replicas, both of which made a ticket 2; of these 4 is removed.
  private func makeTickets() async throws {
    try await fixture.work("a") { magic in
      for title in ["one", "two", "three", "four", "five"] { try await magic.update(Ticket(title)) }
      try await magic.remove(try await magic.object(of: Ticket.self, primary: 4))
    }
    try await fixture.work("b") { magic in for title in ["b's one", "b's two"] { try await magic.update(Ticket(title)) } }
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("sync", path("b"), path("remote"))
    try Tool.sync.run("pull", path("a"), path("remote"))
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  /// What numbers claims come to follows from the journal: SQL cannot say otherwise, whichever side is right about the rest
  /// (M-16).
  @Test(arguments: ["journal", "tables"]) func numbersAreWhatTheirClaimsComeTo(side: String) async throws {
    try await makeTickets()
    let before = try await tickets("a")
    try #require(before.count == 6)
    for tampering in [
      "UPDATE Ticket SET number = 50 WHERE number = 1", "DELETE FROM magic_claim WHERE shown = 2",
      "UPDATE magic_claim SET shown = 77 WHERE shown = 3", "UPDATE magic_claim SET number = 9 WHERE shown = 5",
      "UPDATE Ticket SET number = NULL; UPDATE Ticket SET number = 6 - z_index WHERE z_index < 4",
      "INSERT INTO magic_claim (type, shown, birth, number) SELECT type, 99, zeroblob(16), 99 FROM magic_claim LIMIT 1",
    ] {
      try fixture.sql(tampering, in: "a")
      let found = try Tool.replay.run("verify", path("a"))
      #expect(found.status == 4 && found.output.contains("fault: Ticket "), "\(tampering): \(found.output)")
      #expect(try Tool.replay.run("verify", path("a"), "--repair", side).status == 0, "\(tampering)")
      #expect(try await tickets("a") == before, "\(tampering)")
    }
    // Nothing was written for others, and the next number is the next.
    #expect(try Tool.sync.run("status", path("a"), path("remote"), "--check").status == 0)
    try await fixture.work("a") { magic in try await magic.update(Ticket("six")) }
    #expect(try await tickets("a")[6] == "six")
  }

  /// Behind the journal's back: a value, a row that goes, a row that comes, and rows under the numbers of one that goes and of
  /// one that is removed.
  @Test func theTablesSettleWhatSQLChangedOfNumbers() async throws {
    try await makeTickets()
    try fixture.sql(
      "UPDATE Ticket SET title = 'by SQL' WHERE number = 1", "DELETE FROM Ticket WHERE number IN (2, 3)",
      "INSERT INTO Ticket (number, title, magic_last) VALUES (3, 'new three', 0), (4, 'new four', 0), (70, 'new', 0)", in: "a")
    #expect(try Tool.replay.run("verify", path("a")).status == 4)
    let result = try Tool.replay.run("verify", path("a"), "--repair", "tables")
    #expect(result.status == 0, "\(result.output) \(result.errors)")
    let tickets = try await tickets("a")
    #expect(tickets.filter { $0.key < 100 } == [1: "by SQL", 3: "new three", 4: "new four", 5: "five", 70: "new"])
    #expect(Set(tickets.filter { $0.key > 100 }.values) == ["b's one", "b's two"])
    #expect(try Tool.sync.run("push", path("a"), path("remote")).status == 0)
    #expect(try Tool.sync.run("clone", path("remote"), path("c")).status == 0)
    #expect(try Tool.sync.run("sync", path("b"), path("remote")).status == 0)
    for other in ["b", "c"] {
      #expect(try await self.tickets(other) == tickets)
      #expect(try digest(other) == digest("a"))
      #expect(try Tool.replay.run("verify", path(other)).status == 0)
    }
  }

  @Test func theJournalSettlesWhatSQLChangedOfNumbers() async throws {
    try await makeTickets()
    let before = try await tickets("a")
    try fixture.sql(
      "UPDATE Ticket SET title = 'by SQL' WHERE number = 1", "DELETE FROM Ticket WHERE number IN (2, 3)",
      "INSERT INTO Ticket (number, title, magic_last) VALUES (3, 'new three', 0), (4, 'new four', 0), (70, 'new', 0)", in: "a")
    let result = try Tool.replay.run("verify", path("a"), "--repair", "journal")
    #expect(result.status == 0, "\(result.output) \(result.errors)")
    #expect(try await tickets("a") == before)
    #expect(try digest("a") == digest("b"))
  }

  @Test func aDamagedRemoteIsFound() async throws {
    try await fixture.write("x", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    #expect(try Tool.replay.run("verify", path("remote")).status == 0)
    let file = URL(fileURLWithPath: try fixture.segments("remote")[0])
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count - 2] ^= 1
    try bytes.write(to: file)
    #expect(try Tool.replay.run("verify", path("remote")).status == 3)
  }

  /// The contents of assets are part of what a folder or a bundle keeps.
  @Test func damagedAndMissingContentsOfARemoteAreFound() async throws {
    try await fixture.work("a") { magic in
      for name in ["one", "two"] {
        let guild = Guild(name)
        guild.badge = .init(value: "badge of \(name)")
        try await magic.update(guild)
      }
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("push", path("a"), path("all.magicbundle"))
    for place in ["remote", "all.magicbundle"] {
      let well = try #require(try fixture.json("verify", path(place)).last)
      #expect(well["assets"] as? Int == 2)
      #expect(try well["digest"] as? String == digest("a").trimmingCharacters(in: .newlines))
    }
    let assets = URL(fileURLWithPath: path("remote/assets"))
    let files = try #require(FileManager.default.enumerator(atPath: assets.path)?.allObjects as? [String])
      .filter { $0.count > 64 }.sorted()
    #expect(files.count == 2)
    try Data("something else".utf8).write(to: assets.appendingPathComponent(files[0]))
    try FileManager.default.removeItem(at: assets.appendingPathComponent(files[1]))
    let found = try #require(try fixture.json("verify", path("remote"), status: 3).last)
    #expect(found["damagedAssets"] as? [String] == [String(files[0].suffix(64))])
    #expect(found["missingAssets"] as? [String] == [String(files[1].suffix(64))])
  }

  /// What cannot be looked at may be whole: why is told, and it is called neither damaged nor missing.
  @Test func contentsThatCannotBeReadAreToldWithTheReason() async throws {
    try await fixture.work("a") { magic in
      let guild = Guild("one")
      guild.badge = .init(value: "badge")
      try await magic.update(guild)
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    let assets = path("remote/assets")
    let start = try #require(FileManager.default.contentsOfDirectory(atPath: assets).first { $0.count == 2 })
    try FileManager.default.moveItem(atPath: "\(assets)/\(start)", toPath: path("outside"))
    try FileManager.default.createSymbolicLink(atPath: "\(assets)/\(start)", withDestinationPath: path("outside"))
    let verified = try Tool.replay.run("verify", path("remote"))
    #expect(verified.status == 3 && verified.errors.contains("is a link, or no folder"), "\(verified)")
    #expect(!verified.output.contains("missing asset") && !verified.output.contains("damaged asset"), "\(verified)")
  }

  // MARK: Undoing

  private func replicas() throws -> [String] { try fixture.json("log", path("a")).events("entry").texts("replica") }

  @Test func transactionsAreUndoneByNewOnes() async throws {
    let f = fixture
    try await f.write("first", to: "a", id: "changed")  // 1
    try await f.write("x", to: "a", id: "gone")  // 2
    try await f.work("a") { magic in  // 3
      try await magic.transaction { transaction in
        let note = try await transaction.object(of: Note.self, primary: "changed")
        note.title = "second"
        try await transaction.update(note)
        try await transaction.remove(transaction.object(of: Note.self, primary: "gone"))
        try await transaction.update(Note("made", "made"))
      }
    }
    let log = try Tool.replay.run("log", path("a")).output
    let shown = try Tool.replay.run("undo", path("a"), "--transaction", "3", "--dry-run")
    #expect(shown.status == 0, "\(shown.errors)")
    #expect(shown.output.contains("change Note changed\n  title: \"second\" → \"first\"\n"))
    #expect(shown.output.contains("revive Note gone\n") && shown.output.contains("remove Note made\n"))
    #expect(try Tool.replay.run("log", path("a")).output == log)
    #expect(try Tool.replay.run("undo", path("a"), "--transaction", "\(replicas()[0]):3").output.hasSuffix("wrote 3 changes\n"))
    #expect(try await titles("a") == ["changed": "first", "gone": "x"])
    // History is never rewritten, and what was undone can be undone.
    #expect(try Tool.replay.run("log", path("a")).output.hasPrefix(log))
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
    #expect(try Tool.replay.run("undo", path("a"), "--transaction", "4", "--yes").status == 0)
    #expect(try await titles("a") == ["changed": "second", "made": "made"])
    #expect(try Tool.replay.run("undo", path("a"), "--transaction", "99").status == 1)
    #expect(try Tool.replay.run("undo", path("a")).status == 64)
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  @Test func whatOthersChangedSinceIsLeftAndListed() async throws {
    let f = fixture
    try await f.write("first", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await f.write("a's", to: "a", id: "n")  // a:2
    try await f.write("a's", to: "a", id: "m")  // a:3
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("pull", path("b"), path("remote"))
    try await f.write("b's", to: "b", id: "n")
    try await f.write("b's", to: "b", id: "m")
    try Tool.sync.run("push", path("b"), path("remote"))
    try Tool.sync.run("pull", path("a"), path("remote"))
    let replica = try replicas()[0]
    let lines = try f.json("undo", path("a"), "--since", "\(replica.prefix(8)):2", "--replica", String(replica.prefix(8)))
    #expect(lines.events("undo").isEmpty)
    #expect(lines.events("kept").texts("object").sorted() == ["m", "n"])
    #expect(lines.events("kept").compactMap { $0["property"] as? String } == ["title"])
    #expect(try await titles("a") == ["n": "b's", "m": "b's"])
    // All that everybody did since then.
    #expect(try Tool.replay.run("undo", path("a"), "--since", "\(replica.prefix(8)):2").status == 0)
    #expect(try await titles("a") == ["n": "first"])
    #expect(
      try Tool.replay.run("undo", path("a"), "--since", "1h ago", "--type", "Else").output == "there is nothing to undo\n")
  }

  /// An object that was removed and made again is that one to whoever goes on with it, and not the one that was removed.
  @Test func whatOthersMadeOfAnObjectThatWasMadeAgainIsLeft() async throws {
    struct Song: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var title: String
      @OptionMagicValue var stars: Int?
      init() {}
      init(_ title: String) { (id, self.title) = ("n", title) }
    }
    let f = fixture
    try await f.work("a") { magic in
      let song = Song("old")
      try await magic.update(song)
      try await magic.remove(song)
      try await magic.update(Song("new"))  // a:3
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await f.work("b") { magic in
      let song = try await magic.object(of: Song.self, primary: "n")
      song.stars = 4
      try await magic.update(song)
    }
    try Tool.sync.run("push", path("b"), path("remote"))
    try Tool.sync.run("pull", path("a"), path("remote"))
    let a = String(try replicas()[0].prefix(8))
    let lines = try f.json("undo", path("a"), "--transaction", "\(a):3")
    #expect(lines.events("undo").isEmpty)
    #expect(lines.events("kept").texts("object") == ["n"])
    try await f.work("a") { magic in
      let song = try await magic.object(of: Song.self, primary: "n")
      #expect(song.title == "new")
    }
    // Without the remove it would be the old one.
    #expect(try Tool.replay.run("undo", path("a"), "--since", "\(a):2", "--replica", a).status == 0)
    try await f.work("a") { magic in
      let song = try await magic.object(of: Song.self, primary: "n")
      #expect((song.title, song.stars) == ("old", 4))
    }
  }

  @Test func membersOfASetAreUndoneOneByOne() async throws {
    try await writeTeam()
    try await fixture.work("a") { magic in
      let team = try #require(try await magic.object(of: Team.self).first)
      let member = try #require(try await magic.object(of: Member.self).first { $0.id == "A" })
      team.members.remove(member)
      try await magic.update(team)
    }
    #expect(try Tool.replay.run("undo", path("a"), "--transaction", "2").output.contains(#"members: ["B"] → ["A","B"]"#))
    let magic = try await MagicData(path: fixture.folder["a"])
    #expect(try #require(try await magic.object(of: Team.self).first).members.map(\.name).sorted() == ["A", "B"])
    try await magic.close()
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  @Test func aTerminalIsAskedFirst() async throws {
    try await fixture.write("first", to: "a", id: "n")
    try await fixture.write("second", to: "a", id: "n")
    let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("magic-replay")
      .path
    let terminal = """
      import os,pty,sys
      r, w = os.pipe(); os.write(w, sys.argv[1].encode() + b"\\n"); os.close(w); os.dup2(r, 0)
      sys.exit(pty.spawn(sys.argv[2:]) >> 8)
      """
    #expect(
      try Tool.python.run("-c", terminal, "n", tool, "undo", path("a"), "--transaction", "2").output.contains(
        "nothing was written"))
    #expect(try await titles("a") == ["n": "second"])
    #expect(
      try Tool.python.run("-c", terminal, "y", tool, "undo", path("a"), "--transaction", "2").output.contains("wrote 1 change"))
    #expect(try await titles("a") == ["n": "first"])
  }

  // MARK: Bisecting

  @Test func theTransactionThatBrokeItIsFound() async throws {
    for number in 1...9 { try await fixture.write(number == 6 ? "broken" : "fine", to: "a", id: "\(number)") }
    try Tool.sync.run("push", path("a"), path("remote"))
    let sql =
      "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]+'/default.sqlite3'); n=c.execute(\\\"SELECT count(*) FROM sqlite_master WHERE name='Note'\\\").fetchone()[0]; sys.exit(1 if n and c.execute(\\\"SELECT count(*) FROM Note WHERE title='broken'\\\").fetchone()[0] else 0)"
    let test = "python3 -c \"\(sql)\" \"$1\""
    for source in ["a", "remote"] {
      let summary = try #require(fixture.json("bisect", path(source), "--test", test).last)
      #expect(summary["sequence"] as? Int == 6)
      #expect((summary["tries"] as? Int ?? 99) <= 6)
    }
    let text = try Tool.replay.run("bisect", path("a"), "--test", test)
    #expect(text.output.contains(":6 is the first after which the command fails\n  update Note 6\n"))
    #expect(try Tool.replay.run("bisect", path("a"), "--test", "true").status == 1)
    #expect(try Tool.replay.run("bisect", path("a"), "--test", "false").errors.contains("empty database"))
    #expect(try Tool.replay.run("bisect", path("a"), "--test", "no-such-command").errors.contains("could not be run"))
    // What was given up cannot be tried.
    try Tool.sync.run("sync", path("a"), path("remote"))
    #expect(try Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    let compacted = try Tool.replay.run("bisect", path("a"), "--test", "echo tried; false")
    #expect(compacted.errors.contains("was given up") && !compacted.errors.contains("empty database"), "\(compacted.errors)")
    #expect(compacted.errors.components(separatedBy: "tried").count == 2)
  }
}
