import Foundation
import MagicData
import MagicReplication

/// Push and pull through a folder, against SQLite's session extension: a changeset, packed, put into a file, unpacked and
/// applied. It keeps no history, has no clock and merges nothing.
extension Case {
  static func exchange(_ sizes: Sizes) -> [Case] {
    sizes.steps.flatMap { size in
      Changes.allCases.flatMap { changes in
        [
          push(changes, size), read(changes, size), pull(changes, size), pushAndPull(changes, size, sizes),
          onTheWire(changes, size, sizes),
        ]
      }
    }
  }

  /// What is sent.
  enum Changes: String, CaseIterable {
    case inserts
    case updates

    /// The replica that has something to send.
    func sender(_ replicas: URL, _ specimens: URL, in folder: URL) async throws -> MagicData {
      try await MagicData(path: self == .inserts ? specimens.copy("ours", to: folder) : replicas.copy("changed", to: folder))
    }

    /// The remote as it is before that; none before the first push.
    func remote(_ replicas: URL, in folder: URL) throws -> URL {
      self == .inserts ? folder.file("remote") : try replicas.copy("remote", to: folder)
    }

    /// The replica that gets it.
    func receiver(_ replicas: URL, in folder: URL) async throws -> MagicData {
      try await MagicData(path: self == .inserts ? folder.file("empty") : replicas.copy("second", to: folder))
    }

    /// The remote that holds it.
    func sent(_ replicas: URL) -> URL { replicas.file(self == .inserts ? "remote" : "changes") }
  }

  private static func push(_ changes: Changes, _ size: Int) -> Case {
    Case(name: "push \(changes)", size: size, count: size) { workspace in
      let (replicas, changesets) = (try await workspace.replicas(size), try await workspace.changesets(size))
      let specimens = try await workspace.specimens(size)
      return [
        Side("MagicData") { folder in
          let sender = MagicReplicator(
            try await changes.sender(replicas, specimens, in: folder),
            remote: FolderRemote(try changes.remote(replicas, in: folder)))
          return { try await sender.push().changes }
        },
        Side("session, zlib") { folder in
          let recording = try changes.recording(changesets, size, in: folder)
          return {
            _ = try PackedFile.write(recording.session.changeset(), to: folder.file("changeset"))
            return size
          }
        },
      ]
    }
  }

  /// Segments unpacked and decoded, and their entries counted, as programs can: to write them is what a push does.
  private static func read(_ changes: Changes, _ size: Int) -> Case {
    Case(name: "read segments of \(changes)", size: size, count: size) { workspace in
      let (replicas, changesets) = (try await workspace.replicas(size), try await workspace.changesets(size))
      let files = try changes.sent(replicas).segments(besides: changes == .inserts ? nil : replicas.file("remote"))
      return [
        Side("MagicData") { _ in
          {
            var entries = 0
            for file in files { entries += try await MagicHistory(path: file.path).statistics().total.entries }
            return entries
          }
        },
        Side("session, zlib") { _ in
          { RawSession.count(try PackedFile.read(changesets.file(changes.rawValue))) }
        },
      ]
    }
  }

  private static func pull(_ changes: Changes, _ size: Int) -> Case {
    Case(name: "pull \(changes)", size: size, count: size) { workspace in
      let (replicas, changesets) = (try await workspace.replicas(size), try await workspace.changesets(size))
      return [
        Side("MagicData") { folder in
          let receiver = MagicReplicator(
            try await changes.receiver(replicas, in: folder), remote: FolderRemote(changes.sent(replicas)))
          return { try await receiver.pull().changes }
        },
        Side("session, zlib") { folder in
          let raw = try changes.target(changesets, in: folder)
          return {
            RawSession.apply(try PackedFile.read(changesets.file(changes.rawValue)), to: raw.database)
            return size
          }
        },
      ]
    }
  }

  private static func pushAndPull(_ changes: Changes, _ size: Int, _ sizes: Sizes) -> Case {
    Case(name: "push and pull \(changes)", size: size, count: size, target: sizes.target(1, at: size)) { workspace in
      let (replicas, changesets) = (try await workspace.replicas(size), try await workspace.changesets(size))
      let specimens = try await workspace.specimens(size)
      return [
        Side("MagicData") { folder in
          let remote = FolderRemote(try changes.remote(replicas, in: folder))
          let sender = MagicReplicator(try await changes.sender(replicas, specimens, in: folder), remote: remote)
          let receiver = MagicReplicator(try await changes.receiver(replicas, in: folder), remote: remote)
          return {
            try await sender.push()
            return try await receiver.pull().changes
          }
        },
        Side("session, zlib") { folder in
          let recording = try changes.recording(changesets, size, in: folder)
          let raw = try changes.target(changesets, in: folder)
          return {
            let file = folder.file("changeset")
            _ = try PackedFile.write(recording.session.changeset(), to: file)
            RawSession.apply(try PackedFile.read(file), to: raw.database)
            return size
          }
        },
      ]
    }
  }

  private static func onTheWire(_ changes: Changes, _ size: Int, _ sizes: Sizes) -> Case {
    let target: Target? = size == sizes.objects ? .each(changes == .inserts ? 42 : 17.5) : nil
    return Case(name: "bytes of \(changes) on the wire", size: size, count: size, unit: .bytes, target: target) { workspace in
      let (replicas, changesets) = (try await workspace.replicas(size), try await workspace.changesets(size))
      let specimens = try await workspace.specimens(size)
      return [
        Side("MagicData") { folder in
          let sender = MagicReplicator(
            try await changes.sender(replicas, specimens, in: folder),
            remote: FolderRemote(try changes.remote(replicas, in: folder)))
          return { try await sender.push().bytes }
        },
        Side("session, zlib") { _ in { try changesets.file(changes.rawValue).fileSize } },
      ]
    }
  }
}

extension Case.Changes {
  fileprivate func recording(_ changesets: URL, _ size: Int, in folder: URL) throws -> RawRecording {
    switch self {
    case .inserts: RawRecording(folder.file("raw"), insertsOf: size)
    case .updates: RawRecording(try changesets.copy("raw", to: folder), updatesOf: size)
    }
  }

  fileprivate func target(_ changesets: URL, in folder: URL) throws -> RawSpecimens {
    let other = folder.file("other")
    try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
    return RawSpecimens(self == .inserts ? other.file("raw") : try changesets.copy("raw", to: other), key: .primary)
  }
}
