internal import MagicData
internal import MagicJournal

extension FolderListing {
  /// The first transaction under the database's own id that the folder has and the database has not, or has another of: a copy of the database, or what it was
  /// before it was put back from a backup, has written it (L-11). `nil` if there is none.
  func branch(_ journal: JournalReader, _ held: Frontier, own: ReplicaID) throws -> UInt64? {
    var first: UInt64?
    for file in runs[own]?.files ?? [] {
      let last = file.header.last
      guard try last > held[own] || journal.name(at: last, of: own) != file.header.lastName else { continue }
      // If it cannot be read, nothing says that what is held of its run is another's.
      let names = (try? FolderListing.segment(file))?.transactions.map { ($0.sequence, $0.name) } ?? []
      let differing = try names.first { try $0.0 > held[own] || journal.name(at: $0.0, of: own) != $0.1 }
      first = min(first ?? .max, differing?.0 ?? held[own] + 1)
    }
    return first
  }

  /// F-7: what the headers say of the transactions at the ends of runs must agree with each other and with the database.
  func checkForks(_ journal: JournalReader, _ held: Frontier, own: ReplicaID?) throws {
    var names: [Address: TransactionName] = [:]
    for file in files {
      let header = file.header
      if header.replica == own, header.last > held[header.replica] {
        throw MagicDataError.fork(own: header.replica, knows: header.last, has: held[header.replica])
      }
      var claims = [(header.last, header.lastName)]
      if header.first > 1 { claims.append((header.first - 1, header.previous)) }
      for (sequence, name) in claims {
        let address = Address(replica: header.replica, sequence: sequence)
        let known =
          try names[address] ?? (sequence <= held[header.replica] ? journal.name(at: sequence, of: header.replica) : nil)
        guard known ?? name == name else { throw MagicDataError.fork(header.replica, sequence) }
        names[address] = name
      }
    }
  }

  /// The same among the headers alone.
  func checkForks() throws {
    var names: [Address: TransactionName] = [:]
    for header in files.map(\.header) {
      let claims = [(header.last, header.lastName)] + (header.first > 1 ? [(header.first - 1, header.previous)] : [])
      for (sequence, name) in claims {
        let known = names.updateValue(name, forKey: Address(replica: header.replica, sequence: sequence))
        guard known ?? name == name else { throw MagicDataError.fork(header.replica, sequence) }
      }
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
