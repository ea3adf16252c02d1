package import MagicData
package import MagicJournal

/// Both sides at one moment, checked for forks (F-7).
struct Snapshot {
  let state: DatabaseState
  let journal: JournalReader
  let held: Frontier
  private(set) var listing: FolderListing
  let branches: Branches
  /// From where on the remote has other transactions under the own id than the database; then nothing else was checked.
  let branch: OwnBranch?

  fileprivate enum Seen<Result: Sendable>: Sendable {
    case branch
    case whole(Result)
  }

  /// - Parameter beyond: what the remote holds apart from its files here.
  init(_ db: Connection, _ remote: FolderRemote, _ dataSet: DataSetID, beyond: Frontier = Frontier()) throws {
    try self.init(unchecked: db, remote, dataSet, beyond: beyond)
    if branch == nil { try listing.checkForks(journal, held, own: state.replica) }
  }

  /// For who only looks.
  ///
  /// - Throws: `MagicDataError` with `fork` also where an exchange would give the database an id of its own.
  init(looking db: Connection, _ remote: FolderRemote, _ dataSet: DataSetID, beyond: Frontier = Frontier()) throws {
    try self.init(db, remote, dataSet, beyond: beyond)
    if let branch { throw MagicDataError.fork(state.replica, branch.first) }
  }

  /// What others have written is not compared, but under the own id.
  fileprivate init(unchecked db: Connection, _ remote: FolderRemote, _ dataSet: DataSetID, beyond: Frontier) throws {
    state = try DatabaseState(db)
    journal = try JournalReader(db)
    held = try journal.frontier()
    branches = try Branches(db)
    var listing = try FolderListing(remote, dataSet: dataSet, beyond: beyond)
    listing.limit(to: branches.closings, floor: try journal.floor())
    self.listing = listing
    branch = try listing.branch(
      journal, held, own: state.replica,
      // What came for the time may have come from a bundle, which gets no acknowledgement.
      hasSaid: remote.isForTheTime || Members(db).all[state.replica]?.acknowledged != nil)
  }
}

extension IncomingSegments {
  /// Looks at both sides. A database of whose id a copy has made other use becomes a replica of its own before (F-17).
  func withSnapshot<Result: Sendable>(
    of magic: MagicData, _ dataSet: DataSetID, _ events: EventSource,
    _ body: @Sendable @escaping (Connection, Snapshot) throws -> Result
  ) async throws -> Result {
    let (store, folder, held) = (magic.store, folder, held)
    try await store.assureReplica()
    while true {
      let seen: Snapshot.Seen<Result>
      do {
        seen = try await store.read { db in
          let snapshot = try Snapshot(db, folder, dataSet, beyond: held)
          return try snapshot.branch == nil ? .whole(body(db, snapshot)) : .branch
        }
      } catch let error as MagicDataError {
        guard try await magic.close(error.cause as? Fork, self, dataSet, events) else { throw error }
        continue
      }
      if let change = store.takeReplicaChange() { events.tell(MagicReplicationEvent(change)) }
      switch seen {
      case .whole(let result): return result
      case .branch:
        // Another process may have written and sent more between the look at the database and that at the folder: looked at
        // again while nobody writes here.
        try await store.write { db in
          guard let branch = try Snapshot(unchecked: db, folder, dataSet, beyond: held).branch else { return }
          try store.leaveReplica(from: branch.first, withFloor: branch.isFloorDoubtful, db)
        }
      }
    }
  }

  /// Looks at both sides, of which nothing is changed.
  ///
  /// - Throws: `MagicDataError` with `fork` for what an exchange would see to first.
  func look<Result: Sendable>(
    at magic: MagicData, _ dataSet: DataSetID, _ body: @Sendable @escaping (Connection, Snapshot) throws -> Result
  ) async throws -> Result {
    try await magic.store.read { [folder, held] db in
      try body(db, Snapshot(looking: db, folder, dataSet, beyond: held))
    }
  }

  /// Gives the database an id of its own, if a copy of it has made other use of the one that it has, and closes those of others
  /// under which two have written.
  ///
  /// - Parameter suspects: all that the remote has of them is in the folder.
  package func part(
    _ magic: MagicData, from suspects: some Sequence<ReplicaID>, _ dataSet: DataSetID, _ events: EventSource
  ) async throws {
    try await withSnapshot(of: magic, dataSet, events) { _, _ in }
    for replica in suspects { _ = try await magic.close(Fork(replica: replica), self, dataSet, events) }
    withExtendedLifetime(self) {}
  }
}

extension MagicData {
  /// Holds what two databases have written under one id as two branches from here on (J-33).
  ///
  /// - Returns: whether there was something to close.
  func close(
    _ fork: Fork?, _ arrivals: IncomingSegments, _ dataSet: DataSetID, _ events: EventSource
  ) async throws -> Bool {
    guard let fork else { return false }
    let (folder, most) = (arrivals.folder, arrivals.replicasAtMost)
    let isClosed = try await store.write { [store] db in
      let (journal, replica) = (JournalIndex(db), fork.replica)
      let (held, closing) = (try journal.frontier(), try Branches(db).closing(of: replica) ?? .max)
      guard
        let shared = try fork.shared
          ?? FolderListing(folder, dataSet: dataSet).shared(replica, journal, held),
        held[replica] > shared || shared < closing
      else { return false }
      try db.keepingReplicas(atMost: most) { try store.close([replica: shared], db) }
      return true
    }
    if isClosed { events.tell(.closed(fork.replica.description)) }
    if let change = store.takeReplicaChange() { events.tell(MagicReplicationEvent(change)) }
    return isClosed
  }
}

extension MagicDataError {
  /// A fork, as who wanted to know what something would do hears of it; any other error as it is.
  func hiding(what doing: String) -> MagicDataError {
    guard code == .fork else { return self }
    return MagicDataError(
      .fork,
      """
      \(cause is Fork ? "two databases have written under one id, as a copy or from a backup" : message). What \(doing) would do shows once branches are told \
      apart, which changes the database: sync, and try again
      """, cause: cause)
  }
}

extension MagicReplicationEvent {
  fileprivate init(_ change: ReplicaChange) {
    self = .becameReplica(change.fresh.description, former: change.former.description)
  }
}
