import Foundation
import MagicData
import MagicJournal
import MagicReplication

/// One of the two replicas of the demo.
struct DemoReplica {
  let name: String
  let magic: MagicData
  let replicator: MagicReplicator
  let replica: String

  init(_ name: String, _ folder: URL, remote: URL) async throws {
    self.name = name
    magic = try await MagicData(path: folder.appendingPathComponent(name))
    replicator = MagicReplicator(magic, remote: FolderRemote(remote))
    replica = try await magic.store.read { db in try DatabaseState(db).replica.description }
  }

  func commit(_ hash: String) async throws -> Commit {
    try await magic.object(of: Commit.self, primary: hash)
  }

  func author(_ email: String) async throws -> Author {
    try await magic.object(of: Author.self, primary: email)
  }
}
