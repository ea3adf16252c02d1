internal import MagicData
internal import MagicJournal

extension FolderListing {
  /// F-7: what the headers say of the transactions at the ends of runs must agree with each other and with the database.
  func checkForks(_ journal: JournalReader, _ held: Frontier, own: ReplicaID?) throws {
    var names: [Address: TransactionName] = [:]
    for (address, name) in claims {
      let (replica, sequence) = (address.replica, address.sequence)
      if replica == own, sequence > held[replica] {
        throw MagicDataError(
          .fork,
          """
          the remote knows transaction \(sequence) of this replica (\(replica)), which has only \(held[replica]): the database \
          is a copy that is in use elsewhere, or was put back from a backup. Nothing was changed. Clone the remote into a new \
          database and use that
          """)
      }
      let known = try names[address] ?? (sequence <= held[replica] ? journal.name(at: sequence, of: replica) : nil)
      guard known ?? name == name else { throw FolderListing.fork(replica, sequence) }
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
      guard known ?? name == name else { throw FolderListing.fork(address.replica, address.sequence) }
    }
  }

  private struct Address: Hashable {
    let replica: ReplicaID
    let sequence: UInt64
  }

  private static func fork(_ replica: ReplicaID, _ sequence: UInt64) -> MagicDataError {
    MagicDataError(
      .fork,
      """
      there are two transactions \(sequence) of replica \(replica): its database is in use as two, as a copy or from a \
      backup. Nothing was changed. Stop using one of the two, and clone the remote into a new database in its place
      """)
  }
}
