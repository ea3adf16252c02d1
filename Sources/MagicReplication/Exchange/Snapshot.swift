internal import MagicData
internal import MagicJournal

/// Both sides at one moment, checked for forks (F-7).
struct Snapshot {
  let state: DatabaseState
  let journal: JournalReader
  let held: Frontier
  let listing: FolderListing
  /// From where on the remote has other transactions under the own id than the database; then nothing else was checked.
  let branch: UInt64?

  fileprivate enum Seen<Result: Sendable>: Sendable {
    case branch(from: UInt64)
    case whole(Result)
  }

  init(_ db: Connection, _ remote: FolderRemote, _ dataSet: DataSetID) throws {
    state = try DatabaseState(db)
    journal = try JournalReader(db)
    held = try journal.frontier()
    listing = try FolderListing(remote, dataSet: dataSet)
    branch = try listing.branch(journal, held, own: state.replica)
    if branch == nil { try listing.checkForks(journal, held, own: state.replica) }
  }
}

extension MagicReplicator {
  /// Looks at both sides. A database of whose id a copy has made other use becomes a replica of its own before (F-17).
  func withSnapshot<Result: Sendable>(
    _ dataSet: DataSetID, _ body: @Sendable @escaping (Connection, Snapshot) throws -> Result
  ) async throws -> Result {
    let (store, remote) = (magic.store, remote)
    try await store.assureReplica()
    while true {
      let seen = try await store.read { db in
        let snapshot = try Snapshot(db, remote, dataSet)
        return try snapshot.branch.map { .branch(from: $0) } ?? Snapshot.Seen.whole(body(db, snapshot))
      }
      if let fresh = store.takeFreshReplica() { source.tell(.becameReplica(fresh.description)) }
      switch seen {
      case .whole(let result): return result
      case .branch(let first): try await store.leaveReplica(from: first)
      }
    }
  }
}
