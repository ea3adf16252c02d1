import Foundation
import MagicData
import MagicReplication

/// Two replicas and a folder between them, at the moments that the cases begin at.
extension Workspace {
  /// A folder that holds:
  /// - `first` and `second`, replicas that both hold all specimens, and `remote`, through which they came;
  /// - `changed`, the first one after it updated a value of each, and `changes`, the remote after it pushed that;
  /// - `early` and `late`, the second one after it updated the same values, before the first one and after it.
  func replicas(_ size: Int) async throws -> URL {
    let specimens = try await specimens(size)
    return try await fixture("replicas-\(size)") { folder in
      let first = try await MagicData(path: try specimens.copy("ours", to: folder))
      try await MagicReplicator(first, remote: FolderRemote(folder.file("remote"))).push()
      try await first.close()
      try FileManager.default.moveItem(at: folder.file("ours"), to: folder.file("first"))
      let second = try await MagicData(path: folder.file("second"))
      try await MagicReplicator(second, remote: FolderRemote(folder.file("remote"))).pull()
      try await second.close()
      try await change("second", to: "early", in: folder)
      try await change("first", to: "changed", in: folder)
      try await change("second", to: "late", in: folder)
      try FileManager.default.copyItem(at: folder.file("remote"), to: folder.file("changes"))
      try FileManager.default.copyItem(at: folder.file("changed"), to: folder.file("sent"))
      let sent = try await MagicData(path: folder.file("sent"))
      try await MagicReplicator(sent, remote: FolderRemote(folder.file("changes"))).push()
      try await sent.close()
    }
  }

  /// A folder that holds `database` and `remote` with a journal of ten entries of each object: it was inserted, and updated
  /// nine times. Two replicas wrote them, 1,000 a transaction, in turn.
  func journal(_ entries: Int) async throws -> URL {
    try await fixture("journal-\(entries)") { folder in
      let remote = FolderRemote(folder.file("remote"))
      let (part, first) = (1_000, try await MagicData(path: folder.file("database")))
      for start in stride(from: 0, to: entries / 10, by: part) {
        try await first.update(contentsOf: (start..<min(start + part, entries / 10)).map { Specimen(SpecimenRow($0)) })
      }
      try await MagicReplicator(first, remote: remote).push()
      let second = try await MagicData(path: folder.file("second"))
      try await MagicReplicator(second, remote: remote).pull()
      let replicas = [(first, try await first.object(of: Specimen.self)), (second, try await second.object(of: Specimen.self))]
      for round in 1...9 {
        for (number, start) in stride(from: 0, to: entries / 10, by: part).enumerated() {
          let (magic, objects) = replicas[(number + round) % 2]
          let some = Array(objects[start..<min(start + part, objects.count)])
          for object in some { object.count = round * 10 + number % 10 }
          try await magic.update(contentsOf: some)
        }
      }
      for magic in [first, second] { try await MagicReplicator(magic, remote: remote).push() }
      try await MagicReplicator(first, remote: remote).pull()
      for magic in [first, second] { try await magic.close() }
      try FileManager.default.removeItem(at: folder.file("second"))
    }
  }

  private func change(_ name: String, to changed: String, in folder: URL) async throws {
    try FileManager.default.copyItem(at: folder.file(name), to: folder.file(changed))
    let magic = try await MagicData(path: folder.file(changed))
    let objects = try await magic.object(of: Specimen.self)
    for object in objects { object.count += 1 }
    for part in objects.parts(of: Workspace.part) { try await magic.update(contentsOf: part) }
    try await magic.close()
  }

  /// A folder that holds what SQLite's session extension makes of the same: `inserts` and `updates`, packed changesets, and
  /// `raw`, a database with the rows.
  func changesets(_ size: Int) async throws -> URL {
    try await fixture("changesets-\(size)") { folder in
      let inserted = RawRecording(folder.file("raw"), insertsOf: size)
      _ = try PackedFile.write(inserted.session.changeset(), to: folder.file("inserts"))
      inserted.raw.database.checkpoint()
      let updated = RawRecording(try folder.copy("raw", to: try newFolder()), updatesOf: size)
      _ = try PackedFile.write(updated.session.changeset(), to: folder.file("updates"))
    }
  }
}

/// A database whose changes a session has recorded.
struct RawRecording {
  let raw: RawSpecimens
  let session: RawSession

  init(_ file: URL, insertsOf size: Int) {
    raw = RawSpecimens(file, key: .primary)
    session = RawSession(raw.database, table: "Specimen")
    raw.database.transaction { for number in 0..<size { raw.insert(SpecimenRow(number)) } }
  }

  /// Of a database that holds the rows.
  init(_ file: URL, updatesOf size: Int) {
    raw = RawSpecimens(file, key: .primary)
    session = RawSession(raw.database, table: "Specimen")
    raw.database.transaction {
      for row in SpecimenRow.rows(0..<size) { raw.update(row.id, count: row.count + 1) }
    }
  }
}

extension URL {
  /// A folder remote's segments that another does not have, in the order of their names.
  func segments(besides other: URL? = nil) throws -> [URL] {
    func names(_ remote: URL) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: remote.file("segments").path).filter { $0.hasSuffix(".segment") }
    }
    let others = try other.map { try Set(names($0)) } ?? []
    return try names(self).filter { !others.contains($0) }.sorted().map { file("segments").file($0) }
  }
}
