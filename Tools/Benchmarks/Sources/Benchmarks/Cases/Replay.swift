import Foundation
import MagicData
import MagicReplication

/// A database rebuilt from a journal, against a pull of the same.
extension Case {
  static func replays(_ sizes: Sizes) -> [Case] {
    sizes.steps.map { rebuild($0, sizes) } + sizes.steps.map(rebuildToMoment)
  }

  private static func rebuild(_ size: Int, _ sizes: Sizes) -> Case {
    Case(name: "rebuild from a folder", size: size, count: size, target: sizes.target(1.2, at: size)) { workspace in
      let replicas = try await workspace.replicas(size)
      return [
        Side("MagicData, replay") { folder in
          let history = MagicHistory(FolderRemote(replicas.file("remote")))
          return {
            guard try await history.rebuild(into: folder.file("rebuilt")).isComplete else { return 0 }
            return size
          }
        },
        Side("MagicData, pull") { folder in
          return {
            let magic = try await MagicData(path: folder.file("pulled"))
            let changes = try await MagicReplicator(magic, remote: FolderRemote(replicas.file("remote"))).pull().changes
            try await magic.close()
            return changes
          }
        },
      ]
    }
  }

  /// From a journal of inserts and an update of each: as it was between them.
  private static func rebuildToMoment(_ size: Int) -> Case {
    Case(name: "rebuild as it was at a moment", size: size, count: size) { workspace in
      let replicas = try await workspace.replicas(size)
      let history = MagicHistory(FolderRemote(replicas.file("changes")))
      let inserted = try await MagicHistory(FolderRemote(replicas.file("remote"))).statistics()
      let last = MagicMoment(replica: inserted.replicas.keys.first, sequence: UInt64(inserted.transactions))
      return [("before the updates", last), ("whole", nil)].map { name, moment in
        Side(name) { folder in
          {
            guard try await history.rebuild(into: folder.file("rebuilt"), RebuildPlan(until: moment)).isComplete else {
              return 0
            }
            return size
          }
        }
      }
    }
  }
}
