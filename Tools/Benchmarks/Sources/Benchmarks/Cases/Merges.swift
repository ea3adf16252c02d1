import Foundation
import MagicData
import MagicReplication

/// What a merge costs by what it comes to, and what a sync costs by how large the databases are. All sides are ours.
extension Case {
  static func merges(_ sizes: Sizes) -> [Case] {
    [losing(sizes.objects), losingOneByOne(), inStep(sizes.most), tenChanges(sizes.most)] + sizes.steps.map(digest)
  }

  /// A transaction for each change: of one object, or of as many.
  private static func losingOneByOne() -> Case {
    let count = 10_000
    return Case(name: "merge changes of one object that lose", size: count, count: count) { workspace in
      let replicas = try await workspace.replicas(count)
      let fixture = try await workspace.fixture("losing-\(count)") { folder in
        for (remote, step) in [("one", 0), ("many", 1)] {
          let own = try workspace.newFolder()
          let first = try await MagicData(path: try replicas.copy("first", to: own))
          for number in 0..<count {
            let object = try await first.object(of: Specimen.self, primary: SpecimenRow(number * step).id)
            object.count += 1
            try await first.update(object)
          }
          try FileManager.default.copyItem(at: replicas.file("remote"), to: folder.file(remote))
          try await MagicReplicator(first, remote: FolderRemote(folder.file(remote))).push()
        }
        let later = try await MagicData(path: try replicas.copy("second", to: folder))
        let objects = try await later.object(of: Specimen.self)
        for object in objects { object.count = -1 }
        try await later.update(contentsOf: objects)
        try await later.close()
      }
      return [("of one object", "one"), ("of as many", "many")].map { name, remote in
        Side(name) { folder in
          let magic = try await MagicData(path: try fixture.copy("second", to: folder))
          let replicator = MagicReplicator(magic, remote: FolderRemote(fixture.file(remote)))
          return { try await replicator.pull().changes }
        }
      }
    }
  }

  /// All by a pull: reading and unpacking is in it.
  private static func losing(_ size: Int) -> Case {
    Case(name: "merge changes that lose", size: size, count: size, target: .ratio(0.33)) { workspace in
      let replicas = try await workspace.replicas(size)
      return [("losing", "late"), ("winning", "early"), ("nothing to compete with", "second")].map { name, replica in
        Side(name) { folder in
          let magic = try await MagicData(path: try replicas.copy(replica, to: folder))
          let replicator = MagicReplicator(magic, remote: FolderRemote(replicas.file("changes")))
          return { try await replicator.pull().changes }
        }
      }
    }
  }

  private static func inStep(_ most: Int) -> Case {
    Case(name: "pull what is there, against 1,000", size: most, count: 20) { workspace in
      var sides: [Side] = []
      for size in [most, 1_000] {
        let replicas = try await workspace.replicas(size)
        let magic = try await MagicData(path: replicas.file("second"))
        let replicator = MagicReplicator(magic, remote: FolderRemote(replicas.file("remote")))
        sides.append(
          Side("of \(size.grouped)") { _ in
            {
              var changes = 0
              for _ in 0..<20 { changes += try await replicator.pull().changes }
              return changes
            }
          })
      }
      return sides
    }
  }

  /// Two replicas that are in step: one of them updates ten objects, and both sync.
  private static func tenChanges(_ most: Int) -> Case {
    Case(name: "sync 10 changes, against 1,000", size: most, count: 10, target: .ratio(1.3)) { workspace in
      var sides: [Side] = []
      for size in [most, 1_000] {
        let (replicas, own) = (try await workspace.replicas(size), try workspace.newFolder())
        let remote = FolderRemote(try replicas.copy("remote", to: own))
        let first = try await MagicData(path: try replicas.copy("first", to: own))
        let second = try await MagicData(path: try replicas.copy("second", to: own))
        let ids = (0..<10).map { SpecimenRow($0 * 97).id }
        sides.append(
          Side("of \(size.grouped)") { _ in
            for id in ids {
              let object = try await first.object(of: Specimen.self, primary: id)
              object.count += 1
              try await first.update(object)
            }
            return {
              let sent = try await MagicReplicator(first, remote: remote).sync().push.changes
              let got = try await MagicReplicator(second, remote: remote).sync().pull.changes
              return sent + got
            }
          })
      }
      return sides
    }
  }

  private static func digest(_ size: Int) -> Case {
    Case(name: "digest", size: size, count: size) { workspace in
      let fixture = try await workspace.specimens(size)
      let magic = try await MagicData(path: fixture.file("ours"))
      let raw = RawSpecimens(fixture.file("raw"))
      return [
        Side("MagicData") { _ in { try await magic.digest().count / 32 } },
        Side("raw SQLite, reads all") { _ in { min(raw.fetchAll().count, 1) } },
      ]
    }
  }
}
