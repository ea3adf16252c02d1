internal import Foundation
internal import MagicData
internal import MagicJournal

/// Contents of assets that nothing names any more (F-22).
extension FolderCompaction {
  /// So long a content stays at least, in seconds: what names it may be on its way.
  private static let age: Double = 30 * 86_400

  /// Deletes them, if the database knows all that the folder's files name.
  mutating func collect(_ held: Frontier, _ db: Connection) throws {
    guard try listing.holdsNothing(beyond: held, db) else { return }
    let old = try old(of: Set(remote.contents()).subtracting(FolderCompaction.named(db)))
    guard !old.isEmpty else { return }
    if isDryRun {
      (report.contents, report.contentBytes) = (old.count, old.reduce(0) { $0 + $1.bytes })
      return
    }
    // Who finds a content there sends none. So they go aside before it is looked for what has come meanwhile, and come back if
    // something has: whoever looks for them later finds that they are lacking.
    var aside: [(content: URL, place: URL, bytes: Int)] = []
    do {
      for (url, bytes) in old {
        try Task.checkCancellation()
        aside.append((url, try DurableFile.setAside(url), bytes))
      }
      let now = try Snapshot(db, remote, dataSet)
      guard try now.branch == nil && now.listing.holdsNothing(beyond: held, db) else { return aside.forEach(putBack) }
    } catch {
      aside.forEach(putBack)
      throw error
    }
    for (_, place, bytes) in aside {
      try delete(place)
      report.contents += 1
      report.contentBytes += bytes
    }
  }

  /// If it cannot be, whoever has the content sends it again with the next push (F-13).
  private func putBack(_ content: URL, _ place: URL, _: Int) { _ = rename(place.path, content.path) }

  /// The digits of contents that a row names, or an entry, whether it is in force or not.
  private static func named(_ db: Connection) throws -> Set<String> {
    var names = try StoredSchema(db).assetNames(db).union(UnsentAssets(db).names)
    try JournalReader(db).forEachStoredEntry { _, stored in
      for field in stored.entry.fields {
        if case .asset(let name) = field.value { names.insert(name) }
      }
    }
    return Set(names.map(AssetContent.digits))
  }

  /// Those that were written long ago, by the folder's own clock.
  private func old(of digits: Set<String>) throws -> [(url: URL, bytes: Int)] {
    guard !digits.isEmpty else { return [] }
    let now = try DurableFile.clock(of: remote.folder, isGuess: isDryRun)
    return digits.sorted().compactMap { digits in
      let url = remote.content(digits)
      guard remote.checkWay(to: digits) == nil, let (written, bytes) = DurableFile.lastWritten(url),
        now - written > FolderCompaction.age
      else { return nil }
      return (url, bytes)
    }
  }
}

extension FolderListing {
  /// Whether a database that holds this much knows all that the files say, and none of them may say more.
  fileprivate func holdsNothing(beyond held: Frontier, _ db: Connection) throws -> Bool {
    // What ends where its id was closed may be another branch (J-33).
    guard try foreign(JournalIndex(db), Branches(db)).isEmpty else { return false }
    return rejected.isEmpty && rejectedCheckpoints.isEmpty && doubtful.isEmpty
      && files.allSatisfy { $0.name.last <= held[$0.name.replica] }
      && checkpoints.allSatisfy { checkpoint in
        checkpoint.replicas.allSatisfy { checkpoint.frontier[$0] <= held[$0] }
      }
  }
}
