internal import Foundation
internal import MagicData
internal import MagicJournal

/// What lies beyond where ids were closed, for who has no journal that says what of it is held (J-33).
extension FolderListing {
  /// Files that have transactions of a closed id which are not everybody's, but for those that lead to others.
  var foreignEnds: [File] {
    limits.keys.sorted().flatMap { replica in
      let files = runs[replica]?.files ?? []
      let leading = Set(files.map(\.header.previous))
      return files.filter { isForeign($0) && !leading.contains($0.header.lastName) }
    }
  }

  /// Looks for those of them that nothing shows under another id: their writer had not heard of the closing, and nobody who has
  /// met them has sent them since. Transactions keep their names (J-3), so headers mostly tell, and files are read where they
  /// do not.
  mutating func findUnadopted() {
    unadopted = []
    guard !limits.isEmpty else { return }
    var floor = NamedFrontier()
    for checkpoint in checkpoints { floor.raise(to: checkpoint.floor) }
    // As a database has it that has taken the checkpoints.
    var listing = self
    listing.limit(to: limits, floor: floor)
    let ends = listing.foreignEnds
    guard !ends.isEmpty else { return }
    var left = Set(ends.map(\.header.lastName))
    for checkpoint in checkpoints {
      left.subtract(checkpoint.floor.replicas.compactMap { checkpoint.floor[$0]?.name })
    }
    let others = files.filter { !listing.isForeign($0) }
    for file in others {
      left.remove(file.header.lastName)
      if file.header.first > 1 { left.remove(file.header.previous) }
    }
    // Stamps of a replica rise.
    for file in others
    where left.contains(where: { file.header.previous.stamp < $0.stamp && $0.stamp < file.header.lastName.stamp }) {
      left.subtract(names(in: file))
    }
    unadopted = ends.filter { left.contains($0.header.lastName) && !listing.isCovered($0) }
  }

  /// What cannot be read shows nothing.
  private mutating func names(in file: File) -> [TransactionName] {
    do {
      return try FolderListing.reader(file).names()
    } catch {
      if (error as? MagicDataError)?.code == .notFound { hasVanished = true }
      return []
    }
  }

  /// Whether a checkpoint stands for what a file ends with: below its floor no names are left, but under which ids it may be
  /// follows from those that led there (J-31).
  private func isCovered(_ end: File) -> Bool {
    let (replica, floor) = (end.name.replica, covered)
    guard !floor.replicas.isEmpty else { return false }
    var before: [TransactionName: TransactionName] = [:]
    for file in runs[replica]?.files ?? [] where isForeign(file) || floor[replica] >= limits[replica] ?? .max {
      guard let names = try? FolderListing.reader(file).names() else { continue }
      for (previous, name) in zip([file.header.previous] + names, names) { before[name] = previous }
    }
    // The last one first.
    var (row, name) = ([TransactionName](), end.header.lastName)
    while let previous = before[name], previous.stamp < name.stamp {
      row.append(name)
      name = previous
    }
    var (open, seen) = ([replica], Set<ReplicaID>())
    while let id = open.popLast() {
      for (index, name) in row.enumerated() {
        // Where an id is taken by something else, the next one follows in the same way.
        let (branch, double) = (id.branch(at: name), id.branch(at: name).branch(at: name))
        for id in [branch, double] {
          if floor[id] > UInt64(index) { return true }
          // Branches have branches.
          if runs[id] != nil || limits[id] != nil || floor[id] > 0, seen.insert(id).inserted { open.append(id) }
        }
      }
    }
    return false
  }
}

extension MagicDataError {
  /// The error of a file that a reader without a database does not show (F-10).
  static func unadopted(_ file: FolderListing.File) -> MagicDataError {
    MagicDataError(
      .fork,
      """
      \(file.url.path) holds what was written under an id that is closed, and nothing here has that under another id yet; a sync takes it, and sends it to all
      """)
  }
}
