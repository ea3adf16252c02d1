import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct ObservationTests {
  private struct Line: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var text: String
    init() {}
  }

  /// H-40: a pull by another process, while an app has the database open.
  @Test func anAppSeesWhatMagicSyncPulls() async throws {
    let folder = try TemporaryFolder()
    let (app, other) = (try await MagicData(path: folder["app"]), try await MagicData(path: folder["other"]))
    var lines = app.observe(of: Line.self).makeAsyncIterator()
    var changes = try await app.changes().makeAsyncIterator()
    #expect(try await lines.next()?.isEmpty == true)
    let line = Line()
    line.text = "from afar"
    try await other.update(line)
    try await MagicReplicator(other, remote: FolderRemote(folder["remote"])).push()
    let process = try Tool.sync.start(["pull", folder["app"].path, folder["remote"].path])
    #expect(try await lines.next()?.map(\.text) == ["from afar"])
    #expect(try await changes.next()?.objects.map(\.primary) == [.text(line.id)])
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }
}
