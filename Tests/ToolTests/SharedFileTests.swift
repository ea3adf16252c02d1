import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

/// An app and `magic-sync`, two processes on one database (H-40).
@Suite(.timeLimit(.minutes(15))) struct SharedFileTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }

  /// Two apps write, and beside each of them `magic-sync sync` runs in a loop.
  @Test func anAppWritesWhileSyncRunsInALoop() async throws {
    let names = ["a", "b"]
    var apps: [MagicData] = []
    for name in names {
      apps.append(try await MagicData(path: folder[name]))
      try #require(Tool.sync.run("sync", path(name), path("remote")).status == 0)
    }
    var syncs = try names.map { try Tool.sync.start(["sync", path($0), path("remote")]) }
    var (written, rounds) = (0, 0)
    // The notes of both, and one that each writes all the time.
    while rounds < 20 {
      for (index, app) in apps.enumerated() {
        // No two writes of one moment.
        try await Task.sleep(for: .milliseconds(3))
        for note in [Note("\(names[index]) \(written)", "n"), Note("shared", "\(names[index]) \(written)")] {
          // For ten seconds a write waits for another process's, and then throws.
          try await app.update(note)
        }
        guard !syncs[index].isRunning else { continue }
        #expect(syncs[index].terminationStatus == 0)
        syncs[index] = try Tool.sync.start(["sync", path(names[index]), path("remote")])
        rounds += 1
      }
      written += 1
    }
    for sync in syncs { #expect(sync.terminationStatus == 0) }
    for app in apps {
      #expect(try await app.replicas().filter { $0.here > 0 }.count == 2)
      try await app.close()
    }
    for name in ["a", "b", "a"] { #expect(try Tool.sync.run("sync", path(name), path("remote")).status == 0) }
    #expect(try Tool.sync.run("digest", path("a")).output == Tool.sync.run("digest", path("b")).output)
    let all = Set(["shared"] + names.flatMap { name in (0..<written).map { "\(name) \($0)" } })
    for name in names {
      #expect(try Tool.sync.run("verify", path(name), path("remote")).status == 0)
      let magic = try await MagicData(path: folder[name])
      let notes = try await magic.object(of: Note.self)
      #expect(Set(notes.map(\.id)) == all)
      // Nobody wrote later than b.
      #expect(notes.first { $0.id == "shared" }?.title == "b \(written - 1)")
      try await magic.close()
    }
  }
}
