import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// L-25: replicas that hold the same and are not equal are told so, and nothing is changed.
@Suite struct DifferingTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func replica(_ name: String) throws -> Replica {
    try Replica(folder[name], folder["remote"], world)
  }

  /// Changes a value in a journal by hand, in as many bytes.
  private func change(_ text: String, to other: String, in replica: Replica) async throws {
    _ = try await replica.magic.store.write { db in
      try db.execute(
        sql: "UPDATE magic_journal SET data = CAST(replace(CAST(data AS TEXT), '\(text)', '\(other)') AS BLOB)")
    }
  }

  private static let month: Int64 = 31 * 86_400_000
  private static let day: Int64 = 86_400_000

  private func expectAlarm(_ replica: Replica, from other: Replica) async throws {
    let id = try await other.magic.statistics().replica
    let error = await #expect(throws: MagicDataError.self) { try await replica.replicator.sync() }
    #expect(error?.code == .failed)
    #expect(error?.message.contains(id) == true, "\(error?.message ?? "")")
  }

  /// H-43, K-22: both sides hear of it, at each exchange, after everything was exchanged.
  @Test func whatHoldsTheSameAndDiffersIsAnAlarm() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.sync()
    try await b.replicator.pull()
    try await change("one", to: "two", in: b)
    try await b.magic.update(Note("2", "other"))
    // A has not come to what B says.
    try await b.replicator.sync()
    try await expectAlarm(a, from: b)
    try await expectAlarm(b, from: a)
    try await expectAlarm(a, from: b)
    #expect(try await a.notes().values.map(\.title).sorted() == ["one", "other"])
    #expect(try await b.notes()["2"]?.title == "other")
    // Nobody gives up what may tell which is right.
    let segments = try FileManager.default.subpathsOfDirectory(atPath: folder["remote"].path).filter {
      $0.hasSuffix(".segment")
    }
    for isDryRun in [true, false] {
      let error = await #expect(throws: MagicDataError.self) { try await a.replicator.compact(isDryRun: isDryRun) }
      #expect(error?.code == .failed && error?.message.contains("magic-replay diff") == true)
    }
    await #expect(throws: MagicDataError.self) { try await a.magic.compact() }
    #expect(try await a.magic.store.read { db in try JournalReader(db).floor().isEmpty })
    let left = try FileManager.default.subpathsOfDirectory(atPath: folder["remote"].path).filter { $0.hasSuffix(".segment") }
    #expect(left == segments)
    // It goes with what is written, and comes again after a day.
    try await a.magic.update(Note("3", "three"))
    for replica in [a, b, a] { try await replica.replicator.sync() }
    world.advance(DifferingTests.day + 1)
    try await a.replicator.sync()
    try await expectAlarm(b, from: a)
    try await expectAlarm(a, from: b)
    // What the error advises.
    let c = try replica("c")
    try await c.replicator.pull()
    try await c.replicator.expire(b.magic.statistics().replica)
    for replica in [c, a, c] { try await replica.replicator.sync() }
    try await expectEqual([a, c])
  }

  /// K-21: after a month a database looks again, and then all look that hold the same, once each.
  @Test func whatWasEqualIsLookedAtAgain() async throws {
    let replicas = [try replica("a"), try replica("b"), try replica("c")]
    try await replicas[0].magic.update(Note("1", "one"))
    for replica in replicas { try await replica.replicator.sync() }
    try await change("one", to: "two", in: replicas[1])
    // What was said of the same frontier goes on to be said.
    for replica in replicas { try await replica.replicator.sync() }
    world.advance(DifferingTests.month)
    try await expectAlarm(replicas[1], from: replicas[0])
    try await expectAlarm(replicas[2], from: replicas[1])
    try await expectAlarm(replicas[0], from: replicas[1])
  }

  /// A journal that cannot be read is said when it is looked at, once a day, and what is new gets away all the same.
  @Test func aJournalThatCannotBeReadIsSaid() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("1", "one"))
    try await a.magic.update(Note("2", "two"))
    for replica in [a, b] { try await replica.replicator.sync() }
    _ = try await a.magic.store.write { db in try db.execute(sql: "UPDATE magic_journal SET data = x'ff' WHERE id = 1") }
    world.advance(DifferingTests.month)
    let error = await #expect(throws: MagicDataError.self) { try await a.replicator.sync() }
    #expect(error?.code == .notADatabase)
    try await a.magic.update(Note("3", "three"))
    try await a.replicator.sync()
    world.advance(DifferingTests.day + 1)
    var events = a.replicator.events.makeAsyncIterator()
    let running = Task { try await a.replicator.run(every: .milliseconds(10)) }
    while let event = await events.next() {
      if case .retrying(let error, _) = event {
        #expect(error.code == .notADatabase)
        break
      }
    }
    try await a.magic.update(Note("4", "four"))
    while let event = await events.next() {
      if case .sent = event { break }
    }
    running.cancel()
    try await running.value
    try await b.replicator.pull()
    #expect(try await b.notes().count == 4)
  }

  /// An app that keeps in step hears of it, and goes on.
  @Test func runTellsAndGoesOn() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.sync()
    try await b.replicator.pull()
    try await change("one", to: "two", in: b)
    var events = b.replicator.events.makeAsyncIterator()
    let running = Task { try await b.replicator.run(every: .milliseconds(10)) }
    let id = try await a.magic.statistics().replica
    while let event = await events.next() {
      if case .differed(let other) = event {
        #expect(other == id)
        break
      }
    }
    try await a.magic.update(Note("2", "other"))
    try await a.replicator.push()
    while let event = await events.next() {
      if case .applied = event { break }
    }
    running.cancel()
    try await running.value
    #expect(try await b.notes()["2"]?.title == "other")
  }

  /// K-21: a digest that is none makes an acknowledgement one that cannot be read.
  @Test func anAcknowledgementSaysADigestOrNone() async throws {
    let a = try replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.sync()
    let id = try await a.magic.statistics().replica
    let file = folder["remote/acks/\(id).json"]
    let text = try String(contentsOf: file, encoding: .utf8)
    let digest = try await a.magic.digest()
    #expect(text.contains("\"digest\":\"\(digest)\""))
    let b = try replica("b")
    try text.replacingOccurrences(of: digest, with: digest.uppercased() + "!").write(
      to: file, atomically: true, encoding: .utf8)
    try await b.replicator.sync()
    #expect(try await b.magic.store.read { db in try MemberReplica.all(db) }.count == 1)
    try text.write(to: file, atomically: true, encoding: .utf8)
    try await b.replicator.sync()
    #expect(try await b.magic.store.read { db in try MemberReplica.all(db) }.count == 2)
  }
}
