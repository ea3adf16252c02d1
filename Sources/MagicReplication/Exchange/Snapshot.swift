package import MagicData
package import MagicJournal

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

  /// - Parameter beyond: what the remote holds apart from its files here.
  init(_ db: Connection, _ remote: FolderRemote, _ dataSet: DataSetID, beyond: Frontier = Frontier()) throws {
    state = try DatabaseState(db)
    journal = try JournalReader(db)
    held = try journal.frontier()
    listing = try FolderListing(remote, dataSet: dataSet, beyond: beyond)
    branch = try listing.branch(journal, held, own: state.replica)
    if branch == nil { try listing.checkForks(journal, held, own: state.replica) }
  }
}

extension Arrivals {
  /// Looks at both sides. A database of whose id a copy has made other use becomes a replica of its own before (F-17).
  func withSnapshot<Result: Sendable>(
    of magic: MagicData, _ dataSet: DataSetID, _ events: EventSource,
    _ body: @Sendable @escaping (Connection, Snapshot) throws -> Result
  ) async throws -> Result {
    let (store, folder, held) = (magic.store, folder, held)
    try await store.assureReplica()
    while true {
      let seen = try await store.read { db in
        let snapshot = try Snapshot(db, folder, dataSet, beyond: held)
        return try snapshot.branch.map { .branch(from: $0) } ?? Snapshot.Seen.whole(body(db, snapshot))
      }
      if let fresh = store.takeFreshReplica() { events.tell(.becameReplica(fresh.description)) }
      switch seen {
      case .whole(let result): return result
      case .branch(let first): try await store.leaveReplica(from: first)
      }
    }
  }

  /// Gives the database an id of its own, if a copy of it has made other use of the one that it has.
  package func leaveBranch(of magic: MagicData, _ dataSet: DataSetID, _ events: EventSource) async throws {
    try await withSnapshot(of: magic, dataSet, events) { _, _ in }
    withExtendedLifetime(self) {}
  }
}
