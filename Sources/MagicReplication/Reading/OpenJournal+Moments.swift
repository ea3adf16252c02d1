internal import MagicData
package import MagicJournal

extension OpenJournal {
  /// What is stamped at or below a moment is before it.
  package func stamp(at moment: MagicMoment, _ replicas: [String] = []) throws -> Stamp {
    try stamp(at: moment, replicas, counter: 0xffff)
  }

  /// What is stamped at or above a moment is at it, or after.
  package func firstStamp(at moment: MagicMoment, _ replicas: [String] = []) throws -> Stamp {
    try stamp(at: moment, replicas, counter: 0)
  }

  /// - Parameter counter: which of a millisecond's stamps it is.
  private func stamp(at moment: MagicMoment, _ replicas: [String], counter: UInt64) throws -> Stamp {
    switch moment.meaning {
    case .time(let milliseconds):
      return Stamp(UInt64(min(max(milliseconds, 0), Stamp.latest.milliseconds)) << 16 | counter)
    case .transaction(let prefix, let sequence): return try address(prefix, replicas, sequence).stamp
    }
  }

  /// The transaction that a person means.
  package func transaction(at moment: MagicMoment, _ replicas: [String] = []) throws -> (replica: ReplicaID, sequence: UInt64) {
    guard case .transaction(let prefix, let sequence) = moment.meaning else {
      throw MagicDataError(.notFound, "a transaction is named as `log` prints it: replica:sequence")
    }
    let found = try address(prefix, replicas, sequence)
    return (found.replica, sequence)
  }

  private func address(
    _ prefix: String?, _ chosen: [String], _ sequence: UInt64
  ) throws -> (replica: ReplicaID, stamp: Stamp) {
    let prefixes = prefix.map { [$0] } ?? chosen
    guard 1..<Limits.sequence ~= sequence else {
      throw MagicDataError(.notFound, "there is no transaction \(sequence); sequences begin at 1")
    }
    var window = JournalWindow()
    window.replicas = prefixes
    var replicas: Set<ReplicaID> = []
    for part in parts {
      switch part {
      case .database(let database):
        let own = database.state.replica
        // Without a replica, a database's own is meant.
        if prefixes.isEmpty, parts.count == 1, database.frontier[own] >= sequence {
          window.replicas = [own.description]
          replicas.insert(own)
        } else {
          replicas.formUnion(database.frontier.replicas)
        }
      case .segment(_, let header, _): if let header { replicas.insert(header.replica) }
      case .folder(let listing, _, _): replicas.formUnion(listing.replicas)
      case .export: break
      }
    }
    window.hasKept = false
    for replica in replicas { window.after[replica] = sequence - 1 }
    var found: [ReplicaID: Stamp] = [:]
    for cursor in try cursors(window) {
      // An export has many replicas in one.
      while let (transaction, _) = try cursor.next() {
        if transaction.sequence == sequence { found[transaction.replica] = transaction.name.stamp }
        if !(cursor is ExportCursor) { break }
      }
    }
    guard let (replica, stamp) = found.first else {
      let isYear = prefix == nil && 1_970...9_999 ~= sequence
      let hint = isYear ? " (a year alone is read as a sequence; \(sequence)-01 is a time)" : ""
      throw MagicDataError(
        .notFound,
        "there is no transaction \(prefixes.count == 1 ? prefixes[0] + ":" : "")\(sequence)\(hint)"
          + (givenUp.map { "; history up to \($0.inLog) was given up by compact" } ?? "; `log` prints them as replica:sequence")
      )
    }
    guard found.count == 1 else {
      throw MagicDataError(
        .notFound, "several replicas have a transaction \(sequence); say which: replica:sequence, as `log` prints it")
    }
    return (replica, stamp)
  }
}
