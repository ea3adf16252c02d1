internal import MagicData
internal import MagicJournal

extension FolderListing {
  /// The first transaction under the database's own id that the folder has and the database has not, or has another of: a copy of the database, or what it was
  /// before it was put back from a backup, has written it (L-11). `nil` if there is none.
  ///
  /// Where a checkpoint tells, it is the first of which nothing shows that both have it: below its floor no names are left, and what both have may be under two ids.
  func branch(_ journal: some JournalAddresses, _ held: Frontier, own: ReplicaID) throws -> UInt64? {
    var first: UInt64?
    // Nor are there any below the own floor (K-1).
    let floor = try journal.floor(of: own)?.sequence ?? 0
    var shared = floor
    for file in runs[own]?.files ?? [] where file.header.last > floor {
      let last = file.header.last
      if file.header.first - 1 <= held[own], try journal.name(at: file.header.first - 1, of: own) == file.header.previous {
        shared = max(shared, file.header.first - 1)
      }
      guard try last > held[own] || journal.name(at: last, of: own) != file.header.lastName else {
        shared = max(shared, last)
        continue
      }
      // If it cannot be read, nothing says that what is held of its run is another's.
      let names = (try? FolderListing.segment(file))?.transactions.map { ($0.sequence, $0.name) } ?? []
      let differing = try names.first { try $0.0 > floor && ($0.0 > held[own] || journal.name(at: $0.0, of: own) != $0.1) }
      first = min(first ?? .max, differing?.0 ?? held[own] + 1)
    }
    let ends = checkpoints.compactMap { $0.floor[own] }.filter { $0.sequence > floor }
    for end in ends where try end.sequence <= held[own] && journal.name(at: end.sequence, of: own) == end.name {
      shared = max(shared, end.sequence)
    }
    if ends.contains(where: { $0.sequence > shared }) { first = min(first ?? .max, shared + 1) }
    return first
  }

  /// F-7: what the headers say of the transactions at the ends of runs must agree with each other and with the database.
  func checkForks(_ journal: some JournalAddresses, _ held: Frontier, own: ReplicaID?) throws {
    var names: [Address: TransactionName] = [:]
    for (address, name) in claims {
      let (replica, sequence) = (address.replica, address.sequence)
      if replica == own, sequence > held[replica] {
        throw MagicDataError.fork(own: replica, knows: sequence, has: held[replica])
      }
      let known = try names[address] ?? (sequence <= held[replica] ? journal.name(at: sequence, of: replica) : nil)
      guard known ?? name == name else { throw MagicDataError.fork(replica, sequence) }
      names[address] = name
    }
  }

  /// What headers of segments and floors of checkpoints say.
  private var claims: [(Address, TransactionName)] {
    files.map(\.header).flatMap { header in
      let last = (Address(replica: header.replica, sequence: header.last), header.lastName)
      return header.first > 1
        ? [last, (Address(replica: header.replica, sequence: header.first - 1), header.previous)] : [last]
    }
      + checkpoints.flatMap { checkpoint in
        checkpoint.floor.replicas.compactMap { replica in
          checkpoint.floor[replica].map { (Address(replica: replica, sequence: $0.sequence), $0.name) }
        }
      }
  }

  /// The same among the files alone.
  func checkForks() throws {
    var names: [Address: TransactionName] = [:]
    for (address, name) in claims {
      let known = names.updateValue(name, forKey: address)
      guard known ?? name == name else { throw MagicDataError.fork(address.replica, address.sequence) }
    }
  }

  private struct Address: Hashable {
    let replica: ReplicaID
    let sequence: UInt64
  }
}

extension MagicDataError {
  static func fork(_ replica: ReplicaID, _ sequence: UInt64) -> MagicDataError {
    MagicDataError(
      .fork,
      """
      there are two transactions \(sequence) of replica \(replica): its database is in use as two, as a copy or from a \
      backup. Nothing was changed. Stop using one of the two, and clone the remote into a new database in its place
      """)
  }

  static func fork(own replica: ReplicaID, knows last: UInt64, has held: UInt64) -> MagicDataError {
    MagicDataError(
      .fork,
      """
      the remote knows transaction \(last) of this replica (\(replica)), which has only \(held): a copy of the database was at work just \
      now. Nothing was changed; try again
      """)
  }
}
