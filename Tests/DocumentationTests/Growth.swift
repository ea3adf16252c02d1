import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

/// The examples of how history is given up.
@Suite struct Growth {
  @Test func historyIsGivenUp() async throws {
    let temporary = try TemporaryFolder()
    let magic = try await MagicData(path: temporary["app"])
    let replicator = MagicReplicator(magic, remote: FolderRemote(temporary["shared"]))
    try await replicator.sync()

    let (history, files) = try await replicator.compact(keeping: .seconds(90 * 86_400))
    print(history.freedBytes, "bytes of history less;", files.newSegments, "files; waits for", history.waitsFor)

    #expect(history.waitsFor.isEmpty)
    try await magic.close()
  }
}
