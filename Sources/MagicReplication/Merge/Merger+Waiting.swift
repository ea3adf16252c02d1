internal import MagicData
internal import MagicJournal

/// What is not merged yet, and what is no more.
extension Merger {
  /// J-3: where a segment begins within what is held, the last of that is the same transaction in both.
  func checkFork(_ segment: EncodedSegment) throws {
    let (replica, last) = (segment.header.replica, held[segment.header.replica])
    guard last >= segment.header.first, last <= segment.header.last,
      case let transaction = segment.transactions[Int(last - segment.header.first)],
      let name = try reader.name(at: last, of: replica)
    else { return }
    guard transaction.head.name == name else { throw MagicDataError.fork(replica, last) }
  }

  /// Whether no stamp of a checkpoint is held back (C-5).
  mutating func mayTake(_ checkpoint: CheckpointHeader) -> Bool {
    guard checkpoint.highest.milliseconds > latest else { return true }
    var mayTake = !accepted.isEmpty
    for replica in checkpoint.floor.replicas {
      guard let end = checkpoint.floor[replica], end.sequence > held[replica] else { continue }
      guard end.name.stamp.milliseconds > latest, !accepts(end.name.stamp, of: replica) else { continue }
      (floorsAhead[replica], mayTake) = (end.name.stamp, false)
    }
    return mayTake
  }

  private mutating func accepts(_ stamp: Stamp, of replica: ReplicaID) -> Bool {
    guard !accepted.isEmpty, accepted.contains(where: { replica.begins(with: $0) }),
      stamp.milliseconds <= AcceptedTime.last
    else { return false }
    acceptedTime = max(acceptedTime, stamp.milliseconds)
    return true
  }

  /// Whether a transaction has to wait for its time, as all that follow one of its replica that has to (C-5).
  mutating func holdsBack(_ transaction: Transaction) -> Bool {
    if ahead[transaction.replica] != nil { return true }
    let stamp = transaction.name.stamp
    guard stamp.milliseconds > latest, !accepts(stamp, of: transaction.replica) else { return false }
    ahead[transaction.replica] = stamp
    return true
  }

  /// A checkpoint was merged. Of what its floor ends with nothing may be kept, and what is written here comes after it all the
  /// same (K-13).
  mutating func raise(to floor: NamedFrontier) {
    for replica in floor.replicas {
      guard let end = floor[replica], end.sequence > held[replica] else { continue }
      held[replica] = end.sequence
      raised[replica] = end
      clock = max(clock, end.name.stamp)
    }
  }

  /// Whether a segment has another transaction than a checkpoint that was merged has at its end. The database does not know
  /// that by name yet: with the next merge it does, and finds the fork (J-3).
  mutating func isBeside(_ segment: EncodedSegment) -> Bool {
    let (replica, first) = (segment.header.replica, segment.header.first)
    guard let end = raised[replica], first <= end.sequence, end.sequence <= segment.header.last else { return false }
    guard segment.transactions[Int(end.sequence - first)].head.name != end.name else { return false }
    beside[replica] = end.sequence + 1...max(end.sequence + 1, segment.header.last)
    return true
  }
}
