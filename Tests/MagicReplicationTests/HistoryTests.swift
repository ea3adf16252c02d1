import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// The journal as an app reads it.
@Suite(.timeLimit(.minutes(15))) struct HistoryTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test func anAppReadsAndRebuildsItsHistory() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    let note = Note("n", "first")
    try await replica.magic.update(note)
    let before = Date(timeIntervalSince1970: TimeInterval(world.milliseconds) / 1_000)
    world.advance(60_000)
    note.title = "second"
    try await replica.magic.update(note)
    try await replica.replicator.push()
    for history in [
      MagicHistory(replica.magic), MagicHistory(FolderRemote(folder["remote"])), try MagicHistory(path: folder["remote"].path),
    ] {
      let values = Locked<[String]>([])
      var selection = MagicHistory.Selection()
      selection.type = "Note"
      let report = try await history.forEachEntry(selection) { entry in
        values.withLock { $0 += entry.fields.filter { $0.name == "title" }.map(\.value) }
      }
      #expect(report.isComplete)
      #expect(values.withLock { $0 } == ["\"first\"", "\"second\""])
      #expect(try await history.statistics().total.entries == 2)
      let changes = try await history.history(of: "Note", "n").changes.filter { $0.property == "title" }
      #expect(changes.map(\.outcome) == [.replaced, .current])
      #expect(changes[0].successor == changes[1].author)
      let place = folder["rebuilt-\(UUID())"]
      #expect(try await history.rebuild(into: place, RebuildPlan(until: MagicMoment(before))).isComplete)
      await #expect(throws: MagicDataError.self) { try await history.rebuild(into: place) }
      let rebuilt = try await MagicData(path: place)
      #expect(try await rebuilt.object(of: Note.self).map(\.title) == ["first"])
      try await rebuilt.close()
    }
    await #expect(throws: MagicDataError.self) { try await MagicHistory(replica.magic).history(of: "Note", "nobody") }
  }

  /// Ids are shown in lower case, and passed on by people.
  @Test func replicasAreNamedInEitherCase() async throws {
    let a = try Replica(folder["a"], folder["remote"], world)
    let ahead = try Replica(folder["ahead"], folder["remote"], world, skew: 365 * 86_400_000)
    let before = MagicMoment(Date(timeIntervalSince1970: TimeInterval(world.milliseconds) / 1_000))
    for replica in [a, ahead] { try await replica.replicator.sync() }
    try await ahead.magic.update(Note("n", "from the future"))
    try await ahead.replicator.push()
    let waiting = try await a.replicator.pull().heldBack
    let id = try #require(waiting.first).replica.uppercased()
    // C-5.
    let pulled = try await a.replicator.pull(accepting: [id])
    #expect(pulled.heldBack.isEmpty && pulled.transactions == 1)
    try await a.magic.update(Note("own", "of another replica"))

    var selection = MagicHistory.Selection()
    selection.replicas = [id]
    let objects = Locked<[String]>([])
    try await MagicHistory(a.magic).forEachEntry(selection) { entry in objects.withLock { $0.append(entry.object) } }
    #expect(objects.withLock { $0 } == ["n"])
    var undo = UndoSelection()
    (undo.since, undo.replicas) = (before, [id])
    let plan = try await a.magic.undoing(undo)
    #expect(plan.changes.map(\.object) == ["n"])
  }

  /// M-13: that an element was taken out is in force as any write is. M-4: what was written before a removal that was undone is
  /// not.
  @Test func whatWasTakenOutIsCurrent() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    let (ann, bob) = (Person("ann", "Ann"), Person("bob", "Bob"))
    ann.friends.insert(bob)
    ann.index = ["a": Leaf("one")]
    try await replica.magic.update(ann)
    world.advance(60_000)
    ann.friends.remove(bob)
    ann.index?["a"] = nil
    try await replica.magic.update(ann)
    try await replica.replicator.push()
    for history in [MagicHistory(replica.magic), MagicHistory(FolderRemote(folder["remote"]))] {
      let ofAnn = try await history.history(of: "Person", "ann")
      for property in ["friends", "index"] {
        let changes = ofAnn.changes.filter { $0.property == property }
        #expect(changes.map(\.outcome) == [.replaced, .current], "\(property)")
        #expect(!ofAnn.blame.contains { $0.property == property })
      }
    }
    try await replica.magic.remove(ann)
    world.advance(60_000)
    try await replica.magic.update(Person("ann", "again"))
    let again = try await MagicHistory(replica.magic).history(of: "Person", "ann")
    #expect(again.changes.filter { $0.property == "friends" }.map(\.outcome) == [.void, .void])
  }

  @Test func anAppAsksWhatWasAndWhatChanged() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    let note = Note("n", "first")
    try await replica.magic.update(note)
    let before = MagicMoment(Date(timeIntervalSince1970: TimeInterval(world.milliseconds) / 1_000))
    world.advance(60_000)
    note.title = "second"
    try await replica.magic.update(note)
    try await replica.magic.update(Note("other", "new"))
    try await replica.replicator.push()
    try await MagicHistory(replica.magic).export(to: folder["lines.jsonl"])
    let found = Locked<(objects: [MagicHistory.Object], differences: [MagicHistory.Difference])>(([], []))
    for history in [
      MagicHistory(replica.magic), MagicHistory(FolderRemote(folder["remote"])),
      try MagicHistory(path: folder["lines.jsonl"].path),
    ] {
      found.withLock { $0 = ([], []) }
      try await history.forEachObject(at: before) { object in found.withLock { $0.objects.append(object) } }
      try await history.forEachDifference(from: before) { change in found.withLock { $0.differences.append(change) } }
      let (objects, differences) = found.withLock { $0 }
      #expect(objects.map(\.object) == ["n"])
      #expect(objects[0].fields.first { $0.name == "title" }?.value == "\"first\"")
      #expect(differences.map(\.kind) == [.changed, .added])
      #expect(differences[0].fields.map(\.name) == ["title"])
      #expect(differences[0].fields.map(\.before) == ["\"first\""])
      #expect(differences[0].fields.map(\.after) == ["\"second\""])
      #expect(try await history.statistics().report.isComplete)
    }
    // What is exported is the whole history.
    let imported = folder["imported"]
    #expect(try await MagicHistory(path: folder["lines.jsonl"].path).rebuild(into: imported).changes == 3)
    found.withLock { $0 = ([], []) }
    try await MagicHistory(replica.magic).forEachDifference(to: MagicHistory(path: imported.path)) { change in
      found.withLock { $0.differences.append(change) }
    }
    #expect(found.withLock(\.differences).isEmpty)
  }

  /// L-3: of two types that Swift's `String` finds equal the one that is meant is asked.
  @Test func typesAreToldApartByTheirBytes() async throws {
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    let names = ["\u{e9}", "e\u{301}"]
    let types = names.map {
      #"{"type":{"id":"\#($0)","name":"\#($0)","primary":{"name":"id","kind":"text"},"fields":[{"id":"x","name":"x","kind":"text"}]}}"#
    }
    let entries = zip(names, ["one", "two"]).map { #"{"type":"\#($0)","op":"update","object":"o","fields":{"x":"\#($1)"}}"# }
    let lines =
      [#"{"magicdata":"journal","format":1,"dataSet":"\#(id)"}"#] + types + [
        #"{"transaction":{"replica":"\#(root)","sequence":1,"stamp":"65536","tag":1,"root":"\#(root)","entries":[\#(entries.joined(separator: ","))]}}"#,
        #"{"end":{"transactions":1}}"#,
      ]
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder["export.jsonl"])
    let magic = try await MagicData(type: .temporary)
    #expect(try await magic.rebuild(from: [.export(folder["export.jsonl"])], RebuildPlan()).isComplete)
    for (name, value) in zip(names, ["one", "two"]) {
      let changes = try await MagicHistory(magic).history(of: name, "o").changes
      #expect(changes.filter { $0.property == "x" }.map(\.value) == ["\"\(value)\""])
    }
  }

  /// Whoever may not read what is replaced may not read what replaces it; a link leads where it led.
  @Test func anExportTakesThePlaceOfWhatALinkLeadsTo() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    try await replica.magic.update(Note("n", "first"))
    let (link, file) = (folder["link.jsonl"], folder["private.jsonl"])
    try Data("before".utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o660], ofItemAtPath: file.path)
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "private.jsonl")
    try await MagicHistory(replica.magic).export(to: link)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "private.jsonl")
    #expect(try await MagicHistory(path: file.path).statistics().transactions == 1)
    #expect(DurableFile.permissions(of: file) == 0o660)
  }

  /// A body may ask the database that is read.
  @Test func theDatabaseIsReadWhileItsHistoryIs() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    try await replica.magic.update(Note("n", "first"))
    let before = try MagicMoment("2026-01-01")
    try await replica.magic.update(Note("m", "second"))
    try await MagicHistory(replica.magic).export(to: folder["lines.jsonl"])
    let counts = Locked<[Int]>([])
    let count: @Sendable () throws -> Void = { [magic = replica.magic] in
      let count = try magic.blocking.count(of: Note.self)
      counts.withLock { $0.append(count) }
    }
    let history = MagicHistory(replica.magic)
    try await history.forEachObject { _ in try count() }
    try await history.forEachDifference(from: before) { _ in try count() }
    try await history.forEachEntry { _ in try count() }
    let imported = folder["imported"]
    try await MagicHistory(path: folder["lines.jsonl"].path).rebuild(into: imported)
    let elsewhere = try #require(URL(string: "https://example.org\(folder["elsewhere"].path)"))
    await #expect { try await history.rebuild(into: elsewhere) } throws: { ($0 as? MagicDataError)?.code == .notFound }
    try await replica.magic.update(Note("n", "third"))
    try await history.forEachDifference(to: MagicHistory(path: imported.path)) { _ in try count() }
    #expect(counts.withLock(\.self).count > 4 && counts.withLock(\.self).allSatisfy { $0 == 2 })
  }

  #if os(Linux) || os(macOS)
    /// A process lets go of all its locks on a file when it closes it anywhere: another one would take the database for its
    /// own, and remove the WAL that is written to.
    @Test func aDatabaseThatIsOpenKeepsItsLocks() async throws {
      let file = folder["db.sqlite"]
      let magic = try await MagicData(path: file)
      try await magic.update(Note("n", "first"))
      #expect(try await MagicHistory(path: file.path).statistics().transactions == 1)
      await #expect(processExitsWith: .success) { [path = file.path as String] in
        let queue = try DatabaseQueue(path: path)
        let mode = try? await queue.writeWithoutTransaction { db in try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
        }
        #expect(mode != "delete")
      }
      try await magic.update(Note("m", "second"))
      #expect(try await MagicData(path: file).object(of: Note.self).count == 2)
    }
  #endif

  /// K-20: what a floor stands for stands beside under another id: it was told, and nothing is missing by that.
  @Test func whatStandsBesideIsNotMissing() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    for number in 0..<3 {
      world.advance(5)
      try await replica.magic.update(Note("n", "title \(number)"))
    }
    try await replica.replicator.push()
    try await replica.replicator.compact()
    let source = JournalSource.database(replica.magic)
    let before = try await source.writeLines(LogSelection(), isJSON: true, atOnce: 1_000) { _ in }
    try await replica.magic.store.write { [store = replica.magic.store] db in
      try store.leaveReplica(from: 1, withFloor: true, db)
    }
    let after = try await source.writeLines(LogSelection(), after: before.told, isJSON: true, atOnce: 1_000) { _ in }
    #expect(after.report.isComplete, "\(after.report)")
  }

  /// K-16: what a pull has taken as a checkpoint stays missing, also once another pull has taken one.
  @Test func whatEachCheckpointStandsForStaysMissing() async throws {
    let (a, b) = (try Replica(folder["a"], folder["remote"], world), try Replica(folder["b"], folder["remote"], world))
    var number = 0
    func push(_ count: Int) async throws {
      for _ in 0..<count {
        number += 1
        world.advance(5)
        try await a.magic.update(Note("n", "title \(number)"))
      }
      try await a.replicator.push()
    }
    try await push(1)
    try await b.replicator.pull()
    let source = JournalSource.database(b.magic)
    var log = try await source.writeLines(LogSelection(), isJSON: true, atOnce: 1_000) { _ in }
    var report = log.report
    for _ in 0..<2 {
      try await push(2)
      try await a.replicator.compact()
      try await b.replicator.pull()
      try await push(1)
      try await b.replicator.pull()
      log = try await source.writeLines(LogSelection(), after: log.told, isJSON: true, atOnce: 1_000) { _ in }
      report = report.followed(by: log.report, told: log.told)
    }
    #expect(report.gaps.map(\.sequences) == [2...3, 5...6], "\(report)")
  }

  /// What nobody should ask for has an answer, and ends no program.
  @Test func oddQuestionsAreAnswered() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    for number in 0..<3 { try await replica.magic.update(Note("\(number)", "x")) }
    let history = MagicHistory(replica.magic)
    try await history.forEachDifference(to: MagicHistory(replica.magic)) { Issue.record("\($0)") }
    var selection = MagicHistory.Selection()
    selection.limit = 1
    try await history.export(to: folder["all.jsonl"], selection)
    #expect(try await MagicHistory(path: folder["all.jsonl"].path).statistics().transactions == 3)
    selection.limit = -1
    try await history.forEachEntry(selection) { Issue.record("\($0)") }
    await #expect { try await history.forEachObject(at: MagicMoment(replica: nil, sequence: 0)) { _ in } } throws: {
      ($0 as? MagicDataError)?.code == .notFound
    }
  }

  @Test func anAppUndoesAndMends() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    let note = Note("n", "first")
    try await replica.magic.update(note)
    world.advance(60_000)
    let before = MagicMoment(Date(timeIntervalSince1970: TimeInterval(world.milliseconds) / 1_000))
    note.title = "second"
    try await replica.magic.update(note)
    var selection = UndoSelection()
    selection.since = before
    let plan = try await replica.magic.undoing(selection)
    #expect(plan.changes.map(\.object) == ["n"])
    #expect(try await replica.notes()["n"]?.title == "second")
    try await replica.magic.undo(plan)
    #expect(try await replica.notes()["n"]?.title == "first")
    // What was looked at is not what it comes to any more.
    await #expect { try await replica.magic.undo(plan) } throws: { ($0 as? MagicDataError)?.code == .busy }
    _ = try await replica.magic.store.write { db in try db.execute(sql: "UPDATE Note SET title = 'by SQL'") }
    #expect(try await DatabaseCheck(replica.magic).faults.count == 1)
    #expect(try await replica.magic.repair(.tables) == 1)
    #expect(try await DatabaseCheck(replica.magic).faults == [])
    #expect(try await replica.notes()["n"]?.title == "by SQL")
  }

  /// J-3, J-31: an address is no name.
  @Test func whatIsHeldUnderTwoIdsIsOneWrite() async throws {
    let (a, b) = (try Replica(folder["a"], folder["remote"], world), try Replica(folder["b"], folder["remote"], world))
    let id = try await a.magic.statistics().replica
    let note = Note("n", "first")
    try await a.magic.update(note)
    note.title = "second"
    try await a.magic.update(note)
    try await a.replicator.push()
    try await a.magic.store.write { [store = a.magic.store] db in try store.leaveReplica(from: 2, withFloor: false, db) }
    try await Replica(a.magic, folder["branch"]).replicator.push()
    try await b.replicator.pull()
    let pulled = try await Replica(b.magic, folder["branch"]).replicator.pull()
    #expect(pulled.changes == 1)
    let changes = try await MagicHistory(b.magic).history(of: "Note", "n").changes.filter { $0.property == "title" }
    #expect(changes.map(\.value) == ["\"first\"", "\"second\""])
    #expect(changes.map(\.outcome) == [.replaced, .current])
    var selection = UndoSelection()
    selection.transactions = [MagicMoment(replica: id, sequence: 2)]
    let plan = try await b.magic.undoing(selection)
    #expect(plan.changes.map(\.object) == ["n"])
    #expect(plan.changes.flatMap(\.fields).map(\.after) == ["\"first\""])
    try await b.magic.undo(plan)
    #expect(try await b.notes()["n"]?.title == "first")
  }

  /// M-13: of a set or dictionary each element is taken back by itself, but for those that were written again.
  @Test func anUndoTakesElementsBackOneByOne() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    let (ann, bob, cat) = (Person("ann", "Ann"), Person("bob", "Bob"), Person("cat", "Cat"))
    try await replica.magic.update(contentsOf: [ann, bob, cat])
    let before = try await replica.frontier()
    let id = try #require(before.replicas.first)
    ann.friends = [bob, cat]
    ann.index = ["a": Leaf("one"), "b": Leaf("two")]
    try await replica.magic.update(ann)
    ann.friends.remove(cat)
    ann.index?["b"] = Leaf("three")
    ann.index?["c"] = Leaf("four")
    try await replica.magic.update(ann)
    var selection = UndoSelection()
    selection.transactions = [MagicMoment(replica: "\(id)", sequence: before[id] + 1)]
    selection.types = ["Person"]
    let plan = try await replica.magic.undoing(selection)
    #expect(plan.kept.map(\.property) == ["friends", "index"])
    #expect(plan.kept.allSatisfy { $0.author.sequence == before[id] + 2 })
    try await replica.magic.undo(plan)
    let found = try await replica.magic.object(of: Person.self, primary: "ann")
    #expect(found.friends.isEmpty)
    #expect(found.index?.mapValues(\.text) == ["b": "three", "c": "four"])
    let blame = try await MagicHistory(replica.magic).history(of: "Person", "ann").blame.map(\.property)
    #expect(blame.filter { ["friends", "index"].contains($0) } == ["index", "index"])
  }

  /// M-2: values compete by their fields' names. Each segment numbers those that it has anew.
  @Test func aFolderIsCountedAsItsDatabaseIs() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    let note = Note("n", "first")
    try await replica.magic.update(note)
    try await replica.replicator.push()
    note.mood = "good"
    try await replica.magic.update(note)
    try await replica.replicator.push()
    note.title = "second"
    try await replica.magic.update(note)
    try await replica.replicator.push()
    let segments = try FileManager.default.contentsOfDirectory(atPath: folder["remote"].appendingPathComponent("segments").path)
    try #require(segments.count == 3)
    let counted = try await MagicHistory(FolderRemote(folder["remote"])).statistics()
    let expected = try await MagicHistory(replica.magic).statistics()
    #expect(counted.compaction == expected.compaction)
    #expect(counted.compaction.values == 1)
  }

  /// The entries of a segment are looked at where they stand; what is said of them is what is said of entries that were made.
  @Test(arguments: [false, true]) func aSegmentTellsWhatItsFolderDoes(isJSON: Bool) async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    let (ann, leaf) = (Person("ann \"a\" \u{85}", "Änn"), Leaf("one"))
    ann.friends.insert(Person(UUID().uuidString, ""))
    (ann.pages, ann.index, ann.friend) = ([leaf, leaf], ["a \"b\"": leaf], ann)
    leaf.byAge = [-7: ann]
    let picture = Picture()
    (picture.id, picture.data) = (UUID(), Data([0, 255]))
    let event = Event("\u{0}\n")
    event.weight = -0.5
    let (claimed, shelf) = (Shelf(), Shelf(.min, leaf))
    claimed.first = leaf
    try await replica.magic.transaction { tx in
      for object in [ann, picture, event, claimed, shelf, Note("n", "")] as [any MagicObject] { try await tx.update(object) }
    }
    try await replica.magic.update(contentsOf: (0..<12_000).map { Note("note \($0)", String(repeating: "x", count: $0 % 40)) })
    for object in [event, claimed] as [any MagicObject] { try await replica.magic.remove(object) }
    event.text = "again"
    try await replica.magic.update(event)
    leaf.count = .max
    leaf.byAge = [:]
    try await replica.magic.update(leaf)
    try await replica.replicator.push()
    let files = try FileManager.default.contentsOfDirectory(
      at: folder["remote"].appendingPathComponent("segments"), includingPropertiesForKeys: nil)
    let segment = JournalSource.segment(try #require(files.first))
    #expect(files.count == 1)

    func lines(
      _ source: JournalSource, _ selection: LogSelection = .init(), pause: TimeInterval = 0
    ) async throws -> [String] {
      let text = Locked<[UInt8]>([])
      let written = try await source.writeLines(selection, isJSON: isJSON, atOnce: 1_000) { bytes in
        if text.withLock({ $0.isEmpty }) { Thread.sleep(forTimeInterval: pause) }
        text.withLock { $0 += bytes }
      }
      #expect(written.report.isComplete)
      let lines = String(decoding: text.withLock { $0 }, as: UTF8.self).split(separator: "\n").map(String.init)
      #expect(lines.count == written.count)
      return lines
    }
    let all = try await lines(.folder(FolderRemote(folder["remote"])))
    #expect(all.count > 12_010)
    #expect(try await lines(segment) == all)
    // While what is written waits, the thread that reads makes lines as well.
    #expect(try await lines(segment, pause: 0.5) == all)
    var selection = LogSelection()
    selection.limit = 7
    #expect(try await lines(segment, selection) == all.suffix(7))
    selection.filter = EntryFilter(type: "Event", operation: .update)
    #expect(try await lines(segment, selection).count == 2)

    let (counted, expected) = (
      try await MagicHistory(path: files[0].path).statistics(), try await MagicHistory(replica.magic).statistics()
    )
    #expect((counted.total, counted.types, counted.days) == (expected.total, expected.types, expected.days))
    #expect((counted.compaction.values, counted.compaction.bytes) == (expected.compaction.values, expected.compaction.bytes))
    #expect(expected.compaction.values > 0)
  }
}
