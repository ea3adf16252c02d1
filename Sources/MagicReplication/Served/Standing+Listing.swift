internal import MagicJournal

extension Standing {
  /// - Parameter members: who says in the folder what he has put there.
  init(_ listing: FolderListing, _ rows: [ReplicaID: SegmentChain], members: @autoclosure () -> [ReplicaID]) {
    var room = Standing.maxRuns
    var unread = listing.unreadReplicas(beyond: rows.frontier)
    // Where nothing else is there, nothing else shows that what it stands for is lacking.
    if listing.allReplicas.isEmpty, listing.rejectedCheckpoints.contains(where: { $0.floor == nil }) {
      unread.formUnion(members())
    }
    let parts = unread.union(listing.allReplicas).sorted().map { replica in
      let last = rows[replica]?.last ?? 0
      var beyond: [ClosedRange<UInt64>] = []
      // What begins right there is not of this row.
      for file in listing.runs[replica]?.files ?? [] where file.name.first > last + 1 {
        if let before = beyond.last, file.name.first <= before.upperBound + 1 {
          beyond[beyond.count - 1] = before.lowerBound...max(before.upperBound, file.name.last)
        } else {
          beyond.append(file.name.first...file.name.last)
        }
      }
      let run = HeldRun(replica: replica, last: last, name: rows[replica]?.end?.name ?? .none)
      let told = beyond.prefix(min(Standing.maxRunsOfOne, room))
      room -= told.count
      return Part(run, beyond: Array(told), hasUnread: unread.contains(replica))
    }
    self.init(
      parts, segments: listing.files.count, bytes: listing.bytes)
  }

  /// More runs apart than these, of one replica and of all, are not told; what follows them is sent again.
  private static let (maxRunsOfOne, maxRuns) = (100, 10_000)
}

extension [ReplicaID: SegmentChain] {
  var frontier: Frontier {
    var frontier = Frontier()
    for (replica, row) in self { frontier[replica] = row.last }
    return frontier
  }
}
