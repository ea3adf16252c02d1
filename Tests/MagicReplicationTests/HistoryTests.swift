import Foundation
import MagicData
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
      #expect(try await history.rebuild(into: place, until: MagicMoment(before)).isComplete)
      await #expect(throws: MagicDataError.self) { try await history.rebuild(into: place) }
      let rebuilt = try await MagicData(path: place)
      #expect(try await rebuilt.object(of: Note.self).map(\.title) == ["first"])
      try await rebuilt.close()
    }
    await #expect(throws: MagicDataError.self) { try await MagicHistory(replica.magic).history(of: "Note", "nobody") }
  }
}
