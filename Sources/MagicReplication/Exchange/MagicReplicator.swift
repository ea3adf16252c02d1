internal import Foundation
public import MagicData
internal import MagicJournal

/// Exchanges the journal of a database with a remote.
///
/// ```swift
/// let replicator = MagicReplicator(magic, remote: FolderRemote(folder))
/// try await replicator.sync()
/// ```
public struct MagicReplicator: Sendable {
  let magic: MagicData
  let remote: any Remote
  let source: EventSource
  /// How the ids of replicas begin of which nothing is held back (C-5).
  private(set) var accepted: [String] = []

  public init(_ magic: MagicData, remote: FolderRemote) {
    self.init(magic, over: remote)
  }

  package init(_ magic: MagicData, over remote: any Remote) {
    self.magic = magic
    self.remote = remote
    source = EventSource()
  }

  /// What this replicator, and copies of it, do from now on. Each asking gives a sequence of its own, which keeps up to 1,000 events for whoever is slow
  /// and then drops the oldest; it ends with the last copy.
  public var events: AsyncStream<MagicReplicationEvent> { source.stream }

  /// Pulls, then pushes. Two replicas that sync in turn until nothing moves are equal.
  ///
  /// A task that is cancelled meanwhile leaves both sides whole: what the pull has not committed was not merged, what the push has written is there.
  ///
  /// - Parameter accepting: as for ``pull(accepting:)``.
  @discardableResult
  public func sync(accepting replicas: Set<String> = []) async throws -> (pull: PullReport, push: PushReport) {
    let replicator = accepting(replicas)
    let report = try await telling {
      try await remote.opened(for: magic) { remote in
        let report = try await replicator.sync(remote)
        try await compareDigests(remote, moved: report.pull.transactions + report.push.transactions)
        return report
      }
    }
    return (pull: report.pull, push: report.push)
  }

  func accepting(_ replicas: Set<String>) -> MagicReplicator {
    var copy = self
    copy.accepted = replicas.sorted()
    return copy
  }

  struct SyncReport: Sendable {
    let pull: PullReport
    let push: PushReport
  }

  func sync(_ remote: any OpenRemote) async throws -> SyncReport {
    let pulled = try await pull(remote, made(remote))
    // A pull can take long, and others may have settled database or remote meanwhile.
    let report = SyncReport(pull: pulled, push: try await push(remote, made(remote)))
    if report.pull.isComplete { source.tell(.inStep) }
    return report
  }

  /// L-24, where it costs no more than the changes did.
  private func compareDigests(_ remote: any OpenRemote, moved: Int) async throws {
    let frontier = try await magic.store.readBriefly { db in try JournalIndex(db).frontier() }
    let held = Int(clamping: frontier.replicas.map { frontier[$0] }.clampedSum)
    guard moved > 0, moved >= held / 8, let theirs = try await remote.digest(at: frontier),
      let ours = try await magic.digest(at: frontier), ours != theirs
    else { return }
    // L-25
    throw MagicDataError(
      .failed,
      """
      the database and \(remote.text) hold the same transactions and differ nevertheless (digests \(ours) and \(theirs)): one of them is \
      damaged. Run magic-sync verify on both, and clone the one that is whole
      """)
  }

  func state() async throws -> DatabaseState {
    try await magic.store.readBriefly { db in try DatabaseState(db) }
  }

  /// The data set of a remote, which is made if there is none.
  func made(_ remote: any OpenRemote) async throws -> DataSetID {
    let state = try await state()
    return try agreed(try await remote.dataSet(orMake: state.dataSet), state)
  }

  /// The remote's data set, if the database has it or may take it (F-11). What takes it is the transaction that moves something.
  func agreed(_ dataSet: DataSetID) async throws -> DataSetID { try agreed(dataSet, try await state()) }

  private func agreed(_ dataSet: DataSetID, _ state: DatabaseState) throws -> DataSetID {
    guard !state.isSettled || state.dataSet == dataSet else {
      throw MagicDataError(
        .incompatible,
        """
        the remote \(remote.text) holds another data set (\(dataSet)) than the database (\(state.dataSet)). Nothing was \
        exchanged. Name another remote, or clone this one into a new database
        """)
    }
    return dataSet
  }
}
