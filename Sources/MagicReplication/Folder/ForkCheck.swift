internal import MagicData
internal import MagicJournal

/// Two transactions at one address (J-3).
struct Fork: Error {
  let replica: ReplicaID
  /// The last sequence that is everybody's, if it is known already.
  var shared: UInt64?
}

/// What others have written under a database's own id (L-11).
struct OwnBranch: Sendable {
  /// The first transaction that they have, and the database has not, or has another of.
  let first: UInt64
  /// Whether nothing shows that they have what the database's floor stands for.
  let isFloorDoubtful: Bool
}

extension FolderListing {
  /// The first transaction under the database's own id that the folder has and the database has not, or has another of: a copy
  /// of the database, or what it was before it was put back from a backup, has written it (L-11). `nil` if there is none.
  ///
  /// Where a checkpoint tells, it is the first of which nothing shows that both have it: below its floor no names are left, and
  /// what both have may be under two ids.
  ///
  /// - Parameter hasSaid: whether the database has ever said what it holds, which it does with each push.
  func branch(
    _ journal: some JournalAddresses, _ held: Frontier, own: ReplicaID, hasSaid: @autoclosure () throws -> Bool
  ) throws -> OwnBranch? {
    var first: UInt64?
    // Nor are there any below the own floor (K-1).
    let end = try journal.floor(of: own)
    let floor = end?.sequence ?? 0
    // Who has sent nothing, as far as he knows, is not who has sent what lies there (K-5).
    if let end, isForeign(below: end, of: own), try !hasSaid() {
      return OwnBranch(first: floor + 1, isFloorDoubtful: true)
    }
    var (shared, isFloorShared) = (floor, floor == 0)
    func share(_ sequence: UInt64) { (shared, isFloorShared) = (max(shared, sequence), true) }
    for file in runs[own]?.files ?? [] where file.header.last > floor {
      let last = file.header.last
      if file.header.first - 1 <= held[own], try journal.name(at: file.header.first - 1, of: own) == file.header.previous {
        if file.header.first > floor { share(file.header.first - 1) }
      }
      guard try last > held[own] || journal.name(at: last, of: own) != file.header.lastName else {
        share(last)
        continue
      }
      // If it cannot be read, nothing says that what is held of its run is another's.
      let names = (try? FolderListing.segment(file))?.transactions.map { ($0.sequence, $0.name) } ?? []
      if try names.isEmpty || names.contains(where: { try $0.0 == floor && journal.name(at: floor, of: own) == $0.1 }) {
        share(floor)
      }
      let differing = try names.first { try $0.0 > floor && ($0.0 > held[own] || journal.name(at: $0.0, of: own) != $0.1) }
      if let differing, differing.0 > max(floor + 1, file.header.first) { share(differing.0 - 1) }
      first = min(first ?? .max, differing?.0 ?? held[own] + 1)
    }
    let ends = checkpoints.compactMap { $0.floor[own] }.filter { $0.sequence > floor }
    for end in ends where try end.sequence <= held[own] && journal.name(at: end.sequence, of: own) == end.name {
      share(end.sequence)
    }
    if ends.contains(where: { $0.sequence > shared }) { first = min(first ?? .max, shared + 1) }
    return first.map { OwnBranch(first: $0, isFloorDoubtful: !isFloorShared) }
  }

  /// Whether the folder has something at or below an end that does not come to that end itself.
  private func isForeign(below end: NamedFrontier.End, of replica: ReplicaID) -> Bool {
    let files = (runs[replica]?.files ?? []).map { NamedFrontier.End(sequence: $0.header.last, name: $0.header.lastName) }
    return (files + checkpoints.compactMap { $0.floor[replica] }).contains { $0.sequence <= end.sequence && $0 != end }
  }

  /// Up to where all that is held and all that the folder has of a replica is one row of transactions, as far as names tell
  /// (J-33). `nil` if nothing that can be read shows that it is not: a header alone closes no id.
  func shared(_ replica: ReplicaID, _ journal: some JournalAddresses, _ held: Frontier) throws -> UInt64? {
    let floor = try journal.floor(of: replica)?.sequence ?? 0
    var (first, names) = (UInt64?.none, [UInt64: TransactionName]())
    func compare(_ sequence: UInt64, _ name: TransactionName) throws {
      guard sequence >= floor, sequence > 0 else { return }
      let known =
        try names.updateValue(name, forKey: sequence)
        ?? (sequence <= held[replica] ? journal.name(at: sequence, of: replica) : nil)
      if let known, known != name { first = min(first ?? .max, sequence) }
    }
    for file in runs[replica]?.files ?? [] where file.header.last >= floor {
      // What cannot be read shows nothing.
      guard let segment = try? FolderListing.segment(file) else { continue }
      try compare(segment.header.first - 1, segment.header.previous)
      for transaction in segment.transactions { try compare(transaction.sequence, transaction.name) }
    }
    // Of a checkpoint nothing below its floor shows what it has in common with what is held.
    let ends = checkpoints.compactMap { $0.floor[replica] }.filter { $0.sequence >= floor }
    let agreed = try ends.filter { try journal.name(at: $0.sequence, of: replica) == $0.name }.map(\.sequence).max() ?? floor
    for end in ends {
      let known =
        try names.updateValue(end.name, forKey: end.sequence)
        ?? (end.sequence <= held[replica] ? journal.name(at: end.sequence, of: replica) : nil)
      if let known, known != end.name { first = min(first ?? .max, agreed + 1) }
    }
    return first.map { max(floor, $0 - 1) }
  }

  /// F-7: what the headers say of the transactions at the ends of runs must agree with each other and with the database.
  mutating func checkForks(_ journal: some JournalAddresses, _ held: Frontier, own: ReplicaID?) throws {
    try check { try $0.conflicts(journal, held, own: own) }
  }

  /// What was said of addresses and is not the same, of each once.
  private struct Conflicts {
    private(set) var list: [(address: TransactionAddress, error: MagicDataError)] = []
    private var addresses: Set<TransactionAddress> = []

    mutating func add(_ address: TransactionAddress, _ error: @autoclosure () -> MagicDataError) {
      if addresses.insert(address).inserted { list.append((address, error())) }
    }
  }

  /// Headers alone show no fork: a file that says so and cannot be read counts no more (F-10).
  private mutating func check(_ conflicts: (FolderListing) throws -> Conflicts) throws {
    while case let found = try conflicts(self).list, !found.isEmpty {
      let addresses = Set(found.map(\.address))
      var (said, unread): ([TransactionAddress: [File]], Set<SegmentFileName>) = ([:], [])
      for file in files {
        for sequence in [file.header.last, file.header.first - 1] {
          let address = TransactionAddress(replica: file.name.replica, sequence: sequence)
          if addresses.contains(address) { said[address, default: []].append(file) }
        }
      }
      for conflict in found {
        var isRead = true
        for file in said[conflict.address] ?? [] {
          if !unread.contains(file.name), try segmentOrReject(file) != nil { continue }
          unread.insert(file.name)
          isRead = false
        }
        guard !isRead else { throw conflict.error }
      }
    }
  }

  private func conflicts(_ journal: some JournalAddresses, _ held: Frontier, own: ReplicaID?) throws -> Conflicts {
    var (names, floors, found) = ([TransactionAddress: TransactionName](), [ReplicaID: UInt64](), Conflicts())
    for (address, name, isOfFloor) in claims {
      let (replica, sequence) = (address.replica, address.sequence)
      let floor = try floors[replica] ?? journal.floor(of: replica)?.sequence ?? 0
      floors[replica] = floor
      // What lies beyond a closing, or at the own floor where that is one, is a branch that is to be adopted.
      if let limit = limits[replica], sequence > limit || !isOfFloor && sequence == floor && floor == limit { continue }
      // Of what lies below it the floor stands for all that is held, and no names are left to compare.
      if !isOfFloor, sequence < floor { continue }
      // K-20: one of two floors. Below one's own there are no names; whose is the lower one sees whether it is another's.
      if isOfFloor, sequence <= floor { continue }
      if replica == own, sequence > held[replica] {
        found.add(address, .fork(own: replica, knows: sequence, has: held[replica]))
        continue
      }
      let known = try names[address] ?? (sequence <= held[replica] ? journal.name(at: sequence, of: replica) : nil)
      if known ?? name != name { found.add(address, .fork(replica, sequence)) }
      names[address] = known ?? name
    }
    return found
  }

  /// What headers of segments and floors of checkpoints say.
  private var claims: [(TransactionAddress, TransactionName, isOfFloor: Bool)] {
    files.map(\.header).flatMap { header in
      let last = (TransactionAddress(replica: header.replica, sequence: header.last), header.lastName, false)
      return header.first > 1
        ? [last, (TransactionAddress(replica: header.replica, sequence: header.first - 1), header.previous, false)] : [last]
    }
      + highest.flatMap { checkpoint in
        checkpoint.replicas.compactMap { replica in
          checkpoint.floor[replica].map { (TransactionAddress(replica: replica, sequence: $0.sequence), $0.name, true) }
        }
      }
  }

  /// What a folder holds, for who has no database to compare it with. Of ids under which two databases have written what is
  /// everybody's counts: the rest stands under other ids as well, since who says in the folder that they are closed sends that
  /// before (J-33), but for what he had not met by then (`findUnadopted`). Acknowledgements that cannot be read close nothing
  /// (K-7).
  init(limited remote: FolderRemote, _ dataSet: DataSetID) throws {
    // Before the files are listed: who says what he has put there, or closed, has sent it before.
    let said: Result<FolderAcknowledgements, MagicDataError>
    do {
      said = .success(try remote.acknowledged(dataSet))
    } catch let error as MagicDataError where error.code == .notAllowed {
      said = .failure(error)
    }
    self = try FolderListing(remote, dataSet: dataSet)
    switch said {
    case .success(let said):
      limit(to: said.closings)
      put = said.put
    case .failure(let error): unheard = error
    }
  }

  /// A listing of files that agree with each other.
  ///
  /// - Throws: `MagicDataError` with `fork` if two databases have written under an id and nobody has closed it yet;
  ///   `notAllowed` if the closings cannot be read, without which a branch would be taken for everybody's.
  init(settled remote: FolderRemote, _ dataSet: DataSetID) throws {
    self = try FolderListing(limited: remote, dataSet)
    if let unheard { throw unheard }
    try checkForks()
  }

  /// F-7 among the files alone. No journal tells what a longer file of another branch has beside the end of a shorter one, so
  /// files that overlap are read.
  mutating func checkForks() throws {
    try check { listing in
      let floor = listing.covered
      var (names, found) = ([TransactionAddress: TransactionName](), Conflicts())
      for (address, name, isOfFloor) in listing.claims {
        let limit = listing.limits[address.replica] ?? .max
        guard address.sequence <= limit else { continue }
        // What a floor at a closing stands for may have another name than what is under the id itself (K-20).
        if !isOfFloor, address.sequence == limit, floor[address.replica] == limit { continue }
        let known = names.updateValue(name, forKey: address)
        if known ?? name != name { found.add(address, .fork(address.replica, address.sequence, isInFiles: true)) }
      }
      return found
    }
    try checkOverlaps()
  }
}

extension MagicDataError {
  /// The error where the fork is somebody else's, who closes the id (J-33).
  static func fork(_ replica: ReplicaID) -> MagicDataError {
    MagicDataError(.fork, "two databases have written under the id \(replica), as a copy or from a backup")
  }

  /// - Parameters:
  ///   - shared: the last sequence that is everybody's, if it is known.
  ///   - isInFiles: whether both are in files that were read, and so no database is that might be damaged.
  static func fork(
    _ replica: ReplicaID, _ sequence: UInt64, shared: UInt64? = nil, isInFiles: Bool = false
  ) -> MagicDataError {
    MagicDataError(
      .fork,
      """
      there are two transactions \(sequence) of replica \(replica): its database is in use as two, as a copy or from a \
      backup\(isInFiles ? "" : ", or one of the two is damaged: `magic-sync verify` tells of each"). Nothing was changed. A sync of one that holds some of them tells the \
      two apart, or, where history was given up, of a new clone, and loses nothing; where that says this too, stop using one of the two, and clone \
      the remote into a new database in its place
      """, cause: Fork(replica: replica, shared: shared))
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
