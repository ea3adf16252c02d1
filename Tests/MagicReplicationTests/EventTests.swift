import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct EventTests {
  let (folder, world, a, b): (TemporaryFolder, World, Replica, Replica)

  init() throws {
    (folder, world, a, b) = try twoReplicas()
  }

  /// What a replicator tells while `body` runs.
  private func events(
    of replica: Replica, _ body: (MagicReplicator) async throws -> Void
  ) async throws -> [MagicReplicationEvent] {
    let events: AsyncStream<MagicReplicationEvent>
    do {
      // A replicator of its own: its end is the end of the sequence.
      let replicator = MagicReplicator(replica.magic, remote: FolderRemote(folder["remote"]))
      events = replicator.events
      try await body(replicator)
    }
    var all: [MagicReplicationEvent] = []
    for await event in events { all.append(event) }
    return all
  }

  private func write(_ title: String, by replica: Replica) async throws {
    world.advance(10)
    let note = try await replica.notes()["n"] ?? Note("n", title)
    note.title = title
    try await replica.magic.update(note)
  }

  private func conflicts(_ replica: Replica) async throws -> [String] {
    try await events(of: replica) { try await $0.sync() }.compactMap { event in
      guard case .conflict(let conflict) = event else { return nil }
      return
        "\(conflict.property ?? conflict.removal?.rawValue ?? ""): \(conflict.lost.value ?? "") < \(conflict.won.value ?? "")"
    }
  }

  @Test func anExchangeTellsWhatItMovedAndThatItIsInStep() async throws {
    try await write("x", by: a)
    var told = try await events(of: a) { try await $0.sync() }.map { "\($0)".prefix { $0 != "(" } }
    #expect(told == ["progress", "sent", "inStep"])
    told = try await events(of: b) { try await $0.sync() }.map { "\($0)".prefix { $0 != "(" } }
    #expect(told == ["progress", "applied", "inStep"])
    told = try await events(of: b) { try await $0.sync() }.map { "\($0)".prefix { $0 != "(" } }
    #expect(told == ["inStep"])
  }

  /// A push reads a large transaction in parts, which are none of their own.
  @Test func aLargeTransactionCountsOnceOnItsWay() async throws {
    try await a.magic.update(contentsOf: (0..<2_000).map { Note("\($0)", "title \($0)") })
    for replica in [a, b] {
      let moved = try await events(of: replica) { try await $0.sync() }.compactMap { event in
        if case .progress(let progress) = event { progress } else { nil }
      }
      #expect(moved.allSatisfy { $0.totalTransactions == 1 && $0.transactions <= 1 })
      #expect(moved.last?.transactions == 1 && moved.last?.changes == 2_000)
      #expect(moved.map(\.changes) == moved.map(\.changes).sorted())
    }
    try await expectEqual([a, b])
  }

  /// H-44, M-21: what lost is told, with what it lost to.
  @Test func whatWasWrittenApartIsAConflictOnBothSides() async throws {
    try await write("first", by: a)
    try await a.replicator.sync()
    try await b.replicator.sync()
    try await write("a's", by: a)
    try await write("b's", by: b)
    #expect(try await conflicts(b) == [])
    // b's is later, and a's was not in the remote when b wrote.
    #expect(try await conflicts(a) == [#"title: "a's" < "b's""#])
    #expect(try await conflicts(b) == [#"title: "a's" < "b's""#])
    #expect(try await conflicts(a) == [])
    try await expectEqual([a, b])
  }

  /// M-21: all that lost is counted; of values that are too much some are not told, and none is made where nobody listens.
  @Test(arguments: [false, true]) func ofLargeValuesThatLostSomeAreTold(withOthers: Bool) async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await write("first", by: a)
    try await settle([a, b, c])
    let note = try #require(try await a.notes()["n"])
    for number in 0..<200 {
      world.advance(1)
      note.title = String(repeating: "\(number % 10)", count: 1 << 16)
      // What the later write does not set has to be folded.
      if withOthers { note.stars = number }
      try await a.magic.update(note)
    }
    try await a.replicator.push()
    try await write("b's", by: b)
    try await write("c's", by: c)
    #expect(try await c.replicator.pull().conflicts == 200)
    var (told, counted) = ([MagicConflict](), 0)
    for event in try await events(of: b, { _ = try await $0.pull() }) {
      switch event {
      case .conflict(let conflict): told.append(conflict)
      case .applied(let report): counted = report.conflicts
      default: break
      }
    }
    #expect((counted, told.count) == (200, 200))
    #expect(told.allSatisfy { $0.property == "title" })
    let bytes = told.flatMap { [$0.lost.value, $0.won.value] }.map { $0?.utf8.count ?? 0 }.reduce(0, +)
    #expect(bytes <= 8 << 20 && bytes > 7 << 20)
    #expect(told.contains { $0.lost.value == nil })
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
  }

  @Test func whoeverKnewOfAValueIsInNoConflictWithIt() async throws {
    for (title, writer, reader) in [("1", a, b), ("2", b, a), ("3", a, b)] {
      try await write(title, by: writer)
      #expect(try await conflicts(writer) == [])
      #expect(try await conflicts(reader) == [])
    }
    let c = try Replica(folder["c"], folder["remote"], world)
    #expect(try await conflicts(c) == [])
    // The journal does not tell who knew what.
    #expect(try await c.magic.conflicts().map(\.won.value) == ["\"2\"", "\"3\""])
  }

  private func retitle(_ title: String, by replica: Replica) async throws {
    world.advance(10)
    let notes = try await replica.magic.object(of: Note.self)
    for note in notes { note.title = title }
    try await replica.magic.update(contentsOf: notes)
  }

  /// M-21, H-28: files come in another order, or over a link that broke, so that what was overwritten comes after what its
  /// writer put in its place.
  @Test(arguments: [false, true]) func whatOthersKnewIsNoConflictInWhateverOrderItComes(isEdited: Bool) async throws {
    try await a.magic.update(contentsOf: (0..<20).map { Note("\($0)", "first") })
    try await a.replicator.push()
    if isEdited {
      try await retitle("a's", by: a)
      try await a.replicator.push()
    }
    try await b.replicator.pull()
    try await retitle("b's", by: b)
    try await b.replicator.push()
    try FileManager.default.copyItem(at: folder["remote"], to: folder["part"])
    let writer = try await a.magic.statistics().replica
    let segments = try FileManager.default.contentsOfDirectory(atPath: folder["part/segments"].path)
    let last = try #require(segments.filter { $0.hasPrefix(writer) }.max())
    try FileManager.default.removeItem(at: folder["part/segments/" + last])
    let part = try Replica(folder["c"], folder["part"], world)
    try await part.replicator.pull()
    let c = Replica(part.magic, folder["remote"])
    let report = try await c.replicator.pull()
    #expect((report.changes, report.conflicts) == (20, 0))
    #expect(try await c.notes().values.allSatisfy { $0.title == "b's" })
    try await expectEqual([b, c])
    // Its own write is another matter: whoever comes later has not known of that.
    try await retitle("a's later", by: a)
    try await a.replicator.push()
    try await retitle("c's", by: c)
    #expect(try await c.replicator.pull().conflicts == 20)
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
  }

  /// M-21: what others wrote is read in the order of their ids, and tells the same in either.
  @Test(arguments: [false, true]) func whatLostToTheOwnIsToldBesideWhatCameOverIt(isLateFirst: Bool) async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await write("first", by: a)
    try await settle([a, b, c])
    let (one, other) = (try await b.magic.statistics().replica, try await c.magic.statistics().replica)
    let (late, later) = (one < other) == isLateFirst ? (b, c) : (c, b)
    try await write("late", by: late)
    try await write("a's", by: a)
    try await a.replicator.sync()
    try await later.replicator.pull()
    try await write("later", by: later)
    try await later.replicator.push()
    try await late.replicator.push()
    #expect(try await conflicts(a) == [#"title: "late" < "a's""#])
    #expect(try await conflicts(a) == [])
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
  }

  /// M-21, J-31: who wrote over what a transaction brought has known it, whatever id it comes under once more.
  @Test(arguments: [false, true]) func whatComesUnderAnotherIdIsNoConflict(isBranchFirst: Bool) async throws {
    try await write("first", by: b)
    try await write("b's", by: b)
    try await b.replicator.push()
    try await b.magic.store.write { [store = b.magic.store] db in try store.leaveReplica(from: 2, withFloor: false, db) }
    try await Replica(b.magic, folder["branch"]).replicator.push()
    let remotes = isBranchFirst ? [folder["branch"], folder["remote"]] : [folder["remote"], folder["branch"]]
    let c = try Replica(folder["c"], remotes[0], world)
    try await c.replicator.pull()
    try await write("c's", by: c)
    try await c.replicator.push()
    let report = try await Replica(c.magic, remotes[1]).replicator.pull()
    #expect((report.changes, report.conflicts) == (1, 0))
    #expect(try await c.notes()["n"]?.title == "c's")
    #expect(try await c.naiveDump() == Dump(c.magic))
  }

  /// M-21: who was expired, and comes back to a checkpoint, has written over what that brings with its eyes open, but for what
  /// was written meanwhile.
  @Test func whatACheckpointBringsAgainIsNoConflict() async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await a.magic.update(contentsOf: (0..<20).map { Note("\($0)", "first") })
    try await settle([a, b, c])
    try await retitle("b's", by: b)
    try await settle([b, a, c])
    world.advance(10)
    let note = try await b.magic.object(of: Note.self, primary: "3")
    note.title = "not seen by c"
    try await b.magic.update(note)
    try await retitle("c's", by: c)
    for replica in [b, a, b, a] { try await replica.replicator.sync() }
    try await a.replicator.expire(c.magic.statistics().replica)
    try await a.replicator.compact()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["remote/segments"].path).isEmpty)
    let report = try await c.replicator.pull()
    #expect((report.checkpoints, report.conflicts) == (1, 1))
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
    #expect(try await a.notes().values.allSatisfy { $0.title == "c's" })
  }

  /// M-21, H-44, J-30, J-31: who was copied, or put back from a backup, has written what it wrote before it had a fresh id,
  /// also once that was sent.
  @Test(arguments: [false, true], [false, true]) func aCopyTellsWhatLostToWhatItWroteUnderAnotherId(
    isNoticed: Bool, isSent: Bool
  ) async throws {
    try await write("first", by: b)
    try await settle([b, a])
    try await write("b's", by: b)
    try await b.replicator.push()
    if isNoticed { try await write("copy's", by: a) }
    try await a.magic.close()
    if isNoticed {
      try FileManager.default.copyItem(at: folder["a"], to: folder["copy"])
    } else {
      try copyUnnoticed(folder["a"], to: folder["copy"])
      let original = try Replica(folder["a"], folder["remote"], world)
      try await original.magic.update(Note("other", "the original's"))
      try await original.replicator.push()
    }
    let copy = try Replica(folder["copy"], folder["remote"], world)
    if !isNoticed { try await write("copy's", by: copy) }
    if isSent { try await copy.replicator.push() }
    #expect(try await conflicts(copy) == [#"title: "b's" < "copy's""#])
    #expect(try await conflicts(copy) == [])
    try await settle([copy, b])
    try await expectEqual([copy, b])
  }

  /// M-21, H-44, J-30.
  @Test func aCopyTellsWhatItWroteUnderAnotherIdAndLost() async throws {
    try await write("first", by: b)
    try await settle([b, a])
    try await write("copy's", by: a)
    try await write("b's", by: b)
    try await b.replicator.push()
    try await a.magic.close()
    try FileManager.default.copyItem(at: folder["a"], to: folder["copy"])
    let copy = try Replica(folder["copy"], folder["remote"], world)
    #expect(try await conflicts(copy) == [#"title: "copy's" < "b's""#])
    #expect(try await conflicts(copy) == [])
    try await settle([copy, b])
    try await expectEqual([copy, b])
  }

  @Test func aRemoveAgainstAnEditIsAConflict() async throws {
    try await write("first", by: a)
    try await a.replicator.sync()
    try await b.replicator.sync()
    world.advance(10)
    try await a.magic.remove(a.notes()["n"].unsafelyUnwrapped)
    try await write("kept", by: b)
    try await b.replicator.sync()
    #expect(try await conflicts(a) == ["lost:  < "])
    #expect(try await conflicts(b) == ["lost:  < "])
    // Removed by somebody who saw all of it, and made again by somebody who saw that.
    world.advance(10)
    try await a.magic.remove(a.notes()["n"].unsafelyUnwrapped)
    #expect(try await conflicts(a) == [])
    #expect(try await conflicts(b) == [])
    try await write("again", by: b)
    #expect(try await conflicts(b) == [])
    #expect(try await conflicts(a) == [])
    try await expectEqual([a, b])
  }

  @Test func equalValuesAndOtherFieldsAreNoConflict() async throws {
    try await write("first", by: a)
    try await a.replicator.sync()
    try await b.replicator.sync()
    try await write("same", by: a)
    try await write("same", by: b)
    let note = try #require(try await b.notes()["n"])
    note.stars = 9
    world.advance(10)
    try await b.magic.update(note)
    for replica in [b, a, b] { #expect(try await conflicts(replica) == []) }
    try await expectEqual([a, b])
  }

  @Test func twoThatRunAreKeptInStep() async throws {
    let tasks = [a, b].map { replica in Task { try await replica.replicator.run(every: .milliseconds(20)) } }
    try await write("from a", by: a)
    for try await notes in b.magic.observe(of: Note.self) where notes.map(\.title) == ["from a"] { break }
    try await write("from b", by: b)
    for try await notes in a.magic.observe(of: Note.self) where notes.map(\.title) == ["from b"] { break }
    for task in tasks { task.cancel() }
    for task in tasks { try await task.value }
    try await settle([a, b])
    try await expectEqual([a, b])
  }

  /// H-9, and a share that is not there for a while (H-33, F-24: what may pass is tried again, and nothing is taken for done
  /// before it is).
  @Test func aRemoteThatIsGoneIsTriedAgain() async throws {
    let away = FolderRemote(folder["share/remote"])
    let replicator = MagicReplicator(a.magic, remote: away)
    var events = replicator.events.makeAsyncIterator()
    let task = Task { try await replicator.run(every: .milliseconds(20)) }
    try await write("x", by: a)
    guard case .retrying(let error, _) = await events.next() else {
      Issue.record("nothing was tried again")
      return
    }
    #expect(error.code == .notFound)
    try FileManager.default.createDirectory(at: folder["share"], withIntermediateDirectories: false)
    while let event = await events.next() {
      if case .inStep = event { break }
    }
    // Wiped while it runs: written anew.
    try FileManager.default.removeItem(at: away.folder.appendingPathComponent("segments"))
    while let event = await events.next() {
      if case .sent = event { break }
    }
    task.cancel()
    try await task.value
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["share/remote/segments"].path).count == 1)
  }

  /// F-24: what no other try mends ends it.
  @Test func whatWillNotPassEndsTheRun() async throws {
    try await write("ours", by: a)
    try await a.replicator.sync()
    let other = try Replica(folder["other"], folder["elsewhere"], world)
    try await other.magic.update(Note("x", "theirs"))
    try await other.replicator.sync()
    let stray = MagicReplicator(other.magic, remote: FolderRemote(folder["remote"]))
    var events = stray.events.makeAsyncIterator()
    await #expect { try await stray.run(every: .milliseconds(20)) } throws: {
      ($0 as? MagicDataError)?.code == .incompatible
    }
    // Who only listens hears of it as well.
    guard case .stopped(let error)? = await events.next() else { throw NobodyTold() }
    #expect((error as? MagicDataError)?.code == .incompatible)
    #expect(try await other.notes().keys.sorted() == ["x"])
  }

  @Test func closingTheDatabaseEndsTheRun() async throws {
    var events = a.replicator.events.makeAsyncIterator()
    let task = Task { [a] in try await a.replicator.run() }
    while let event = await events.next() {
      if case .inStep = event { break }
    }
    try await a.magic.close()
    try await task.value
    while let event = await events.next() {
      if case .stopped(nil) = event { return }
    }
    throw NobodyTold()
  }

  private struct NobodyTold: Error {}

  /// M-10: cancelled at any moment, both sides are whole, and the next exchange goes on.
  @Test(arguments: seeds(12)) func whatWasCancelledIsWhole(seed: UInt64) async throws {
    var chance = Seeded(seed)
    for number in 0..<400 {
      world.advance(2)
      try await a.magic.update(Note("n\(number)", "title \(number)"))
    }
    try await a.replicator.sync()
    for number in 0..<200 {
      world.advance(2)
      try await b.magic.update(Note("n\(number)", "b's \(number)"))
    }
    let before = try await b.frontier()
    let task = Task { [b] in _ = try await b.replicator.sync() }
    try await Task.sleep(for: .microseconds(chance.below(30_000)))
    task.cancel()
    let result = await task.result
    let after = try await b.frontier()
    if case .failure(let error) = result {
      #expect(error is CancellationError, "MAGIC_SEED=\(seed)")
      // Of the pull, all or nothing.
      #expect(after == before || after.replicas.reduce(0) { $0 + after[$1] } == 600, "MAGIC_SEED=\(seed)")
    }
    #expect(try await b.naiveDump() == Dump(b.magic), "MAGIC_SEED=\(seed)")
    try await settle([b, a])
    try await expectEqual([a, b], "MAGIC_SEED=\(seed)")
  }
}
