internal import MagicData
internal import MagicJournal

/// What files have within their runs, where these overlap (F-7).
extension FolderListing {
  /// A file, with the names of its transactions once it was read.
  private struct Named {
    let file: File
    var names: [TransactionName]?

    /// From the one before the first to the last, as far as it is known.
    func name(at sequence: UInt64) -> TransactionName? {
      let header = file.header
      if sequence == header.first - 1 { return header.previous }
      guard let names else { return sequence == header.last ? header.lastName : nil }
      return names[Int(sequence - header.first)]
    }
  }

  /// Of two branches of an id the shorter one may end where no header of the other's speaks of. What goes on from different
  /// transactions has different names, so two files have no branches between them if the last transaction of both is the same;
  /// and it is enough to compare each with the one before it that reaches farthest.
  mutating func checkOverlaps() throws {
    let floor = covered
    for replica in replicas {
      let limit = limits[replica] ?? .max
      // Where that is a floor, what files have below it may be of branches (K-20).
      if limit > floor[replica] { try checkOverlaps(of: replica, through: limit) }
    }
  }

  private mutating func checkOverlaps(of replica: ReplicaID, through limit: UInt64) throws {
    var (before, farthest): ([File], Named?) = ([], nil)
    files: for file in runs[replica]?.files ?? [] {
      try Task.checkCancellation()
      var next = Named(file: file)
      while var other = farthest {
        let last = min(other.file.name.last, file.name.last, limit)
        guard last > 0, last >= file.name.first - 1 else { break }
        if let name = next.name(at: last), name == other.name(at: last) { break }
        // A header alone shows no fork, and a file that cannot be read counts no more (F-10).
        guard try read(&next) else { continue files }
        guard try read(&other) else {
          before.removeAll { $0.name == other.file.name }
          farthest = before.max { $0.name.last < $1.name.last }.map { Named(file: $0) }
          continue
        }
        farthest = other
        guard next.name(at: last) == other.name(at: last) else { throw MagicDataError.fork(replica, last, isInFiles: true) }
        break
      }
      before.append(file)
      if farthest.map({ $0.file.name.last < file.name.last }) ?? true { farthest = next }
    }
  }

  private mutating func read(_ file: inout Named) throws -> Bool {
    if file.names == nil { file.names = try orReject(file.file) { try FolderListing.reader($0).names() } }
    return file.names != nil
  }
}
