import Foundation
import GRDB
import MagicData
import MagicReplication
import TestSupport
import Testing

/// A pull of which nothing is to stay says what one does, and leaves the database as it was (M-21).
@Suite(.timeLimit(.minutes(15))) struct DryRunTests {
  let (folder, world, a, b): (TemporaryFolder, World, Replica, Replica)

  init() throws {
    (folder, world, a, b) = try twoReplicas()
  }

  /// All that the file holds: its tables by their SQL, and their rows.
  private func contents(of replica: Replica) async throws -> [String] {
    try await replica.magic.store.read { db in
      try Row.fetchAll(db, sql: "SELECT type, name, sql FROM sqlite_master ORDER BY name").flatMap { element in
        let rows =
          element["type"] == "table"
          ? try Row.fetchAll(db, sql: "SELECT * FROM \(String(element["name"]).quotedDatabaseIdentifier)") : []
        return ["\(element)"] + rows.map(\.description)
      }
    }
  }

  private func write(_ title: String, to id: String = "n", by replica: Replica) async throws {
    world.advance(10)
    let note = try await replica.notes()[id] ?? Note(id, title)
    note.title = title
    try await replica.magic.update(note)
  }

  /// What is of a type that the database has never met makes tables and columns, and they go again.
  @Test func itSaysWhatComesAndLeavesNothing() async throws {
    try await write("x", by: a)
    try await a.magic.update(Event("of another type"))
    try await a.replicator.push()
    try await write("b's", to: "own", by: b)
    let before = try await contents(of: b)
    for _ in 0..<2 {
      let foreseen = try await b.replicator.pull(isDryRun: true)
      #expect((foreseen.transactions, foreseen.changes, foreseen.segments) == (2, 2, 1))
      #expect(try await contents(of: b) == before)
    }
    // What was met in it is not taken for what is there.
    try await b.magic.update(Event("b's own"))
    try await write("b's again", to: "own", by: b)
    let foreseen = try await b.replicator.pull(isDryRun: true)
    #expect(try await b.replicator.pull() == foreseen)
    #expect(try await b.replicator.pull(isDryRun: true) == PullReport())
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await faultyPlaces(b.magic) == [])
  }

  /// H-44: whoever looks beforehand sees which of his values would lose.
  @Test func itTellsWhatWouldLose() async throws {
    try await write("first", by: a)
    try await settle([a, b])
    try await write("b's", by: b)
    try await write("a's", by: a)
    try await a.replicator.push()
    let events = b.replicator.events
    #expect(try await b.replicator.pull(isDryRun: true).conflicts == 1)
    #expect(try await b.notes()["n"]?.title == "b's")
    b.replicator.finishEvents()
    var told: [String] = []
    for await event in events {
      switch event {
      case .conflict(let conflict): told.append("\(conflict.lost.value ?? "") < \(conflict.won.value ?? "")")
      case .progress: break
      default: told.append("\(event)")
      }
    }
    #expect(told == [#""b's" < "a's""#])
  }

  /// C-5: what waits for its time comes with the id of its replica, also in a dry run, and the clock stays where it was.
  @Test func whatIsAheadIsAcceptedForTheTime() async throws {
    let ahead = try Replica(folder["ahead"], folder["remote"], world, skew: 172_800_000)
    try await write("x", by: ahead)
    try await ahead.replicator.push()
    let before = try await contents(of: b)
    let waiting = try await b.replicator.pull(isDryRun: true)
    let replica = try #require(waiting.heldBack.first).replica
    #expect(waiting.transactions == 0)
    #expect(try await b.replicator.pull(accepting: [replica], isDryRun: true).transactions == 1)
    #expect(try await contents(of: b) == before)
    #expect(try await b.replicator.pull(isDryRun: true) == waiting)
  }

  /// A checkpoint is taken as a whole, and what lies below it again given up.
  @Test func aCheckpointIsTakenAndGivenBack() async throws {
    for title in ["x", "y", "z"] { try await write(title, by: a) }
    try await a.replicator.sync()
    try await b.replicator.sync()
    try await a.replicator.sync()
    try await a.replicator.compact()
    let c = try Replica(folder["c"], folder["remote"], world)
    try await write("c's", to: "own", by: c)
    let before = try await contents(of: c)
    let foreseen = try await c.replicator.pull(isDryRun: true)
    #expect(foreseen.checkpoints == 1)
    #expect(try await contents(of: c) == before)
    #expect(try await c.replicator.pull() == foreseen)
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
  }

  /// Who looks is no member, and his looking binds no new database to the remote (F-11).
  @Test func itBindsNothing() async throws {
    try await write("x", by: a)
    try await a.replicator.push()
    _ = try await b.replicator.pull(isDryRun: true)
    // Another remote, of another data set.
    let other = try Replica(folder["other"], folder["elsewhere"], world)
    try await write("y", by: other)
    try await other.replicator.push()
    try await MagicReplicator(b.magic, remote: FolderRemote(folder["elsewhere"])).pull()
    #expect(try await b.notes().keys.sorted() == ["n"])
    #expect(try await b.notes()["n"]?.title == "y")
    await #expect(throws: MagicDataError.self) { try await b.replicator.pull(isDryRun: true) }
  }

  /// J-33: a pull closes an id under which two databases have written; who only looks hears of the fork.
  @Test func aForkIsToldAndClosesNothing() async throws {
    try await write("x", by: a)
    try await a.replicator.push()
    try await b.replicator.sync()
    try await a.magic.close()
    try copyUnnoticed(folder["a"], to: folder["twin"])
    let a = try Replica(folder["a"], folder["remote"], world)
    let twin = try Replica(folder["twin"], folder["remote"], world)
    try await write("a's", by: a)
    try await write("twin's", by: twin)
    try await a.replicator.push()
    try await b.replicator.pull()
    let elsewhere = MagicReplicator(twin.magic, remote: FolderRemote(folder["elsewhere"]))
    try await elsewhere.push()
    let before = try await contents(of: b)
    let other = MagicReplicator(b.magic, remote: FolderRemote(folder["elsewhere"]))
    await #expect { _ = try await other.pull(isDryRun: true) } throws: { ($0 as? MagicDataError)?.code == .fork }
    #expect(try await contents(of: b) == before)
    // The pull itself does.
    try await other.pull()
    #expect(try await other.pull(isDryRun: true) == PullReport())
  }
}
