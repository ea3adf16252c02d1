import Foundation
import MagicData
import MagicReplication

/// A database rebuilt from a journal, against a pull of the same.
extension Case {
  static func replays(_ sizes: Sizes) -> [Case] {
    sizes.steps.map { size in
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
  }
}
