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
  private(set) var memory = Memory.off
  /// Whether a pull takes back what it has merged.
  private(set) var isDryRun = false

  /// A replicator of a database and a folder. Nothing is read or written until it is asked to exchange.
  public init(_ magic: MagicData, remote: FolderRemote) {
    self.init(magic, over: remote)
  }

  package init(_ magic: MagicData, over remote: any Remote) {
    self.magic = magic
    self.remote = remote
    source = EventSource()
  }

  /// What this replicator, and copies of it, do from now on. Each asking gives a sequence of its own, which keeps up to 4,000
  /// events for whoever is slow and then drops the oldest; it ends with the last copy.
  public var events: AsyncStream<MagicReplicationEvent> { events(keeping: EventSource.buffered) }

  /// What it does from now on, for who counts it: so many events wait for him.
  package func events(keeping most: Int) -> AsyncStream<MagicReplicationEvent> { source.stream(keeping: most) }

  /// Pulls, then pushes. Two replicas that sync in turn until nothing moves are equal.
  ///
  /// A task that is cancelled meanwhile leaves both sides whole: what the pull has not committed was not merged, what the push
  /// has written is there.
  ///
  /// - Parameter accepting: as for ``pull(accepting:isDryRun:)``.
  /// - Throws: as ``pull(accepting:isDryRun:)`` and ``push()``; `failed` if another replica holds the same and comes to other
  ///   values, when all was exchanged.
  @discardableResult
  public func sync(accepting replicas: Set<String> = []) async throws -> (pull: PullReport, push: PushReport) {
    let replicator = accepting(replicas)
    // A server is asked once more by who has become another replica meanwhile.
    let before = Locked(PullReport())
    let report = try await telling {
      try await remote.opened(for: magic) { remote in
        let report = try await replicator.sync(remote, after: before)
        if let differing = try await replicator.differing(remote, after: report), !differing.isEmpty {
          throw MagicDataError.differing(from: differing)
        }
        return report
      }
    }
    return (pull: report.pull, push: report.delivery.report)
  }

  func accepting(_ replicas: Set<String>) -> MagicReplicator {
    var copy = self
    copy.accepted = replicas.sorted()
    return copy
  }

  func remembering(_ memory: Memory) -> MagicReplicator {
    var copy = self
    copy.memory = memory
    return copy
  }

  func dryRunning(_ isDryRun: Bool) -> MagicReplicator {
    var copy = self
    copy.isDryRun = isDryRun
    return copy
  }

  struct SyncReport: Sendable {
    let pull: PullReport
    let delivery: Delivery

    var transactions: Int { pull.transactions + delivery.report.transactions }
  }

  /// - Parameters:
  ///   - making: whether a remote that is not there is made.
  ///   - before: what was pulled by tries before this one, to which this one's is added.
  func sync(
    _ remote: any OpenRemote, making: Bool = true, after before: Locked<PullReport> = Locked(PullReport())
  ) async throws -> SyncReport {
    func dataSet() async throws -> DataSetID {
      try await making ? made(remote) : found(remote, wasThere: true)
    }
    let now = try await pull(remote, dataSet())
    let pulled = before.withLock { before in
      before = now.after(before)
      return before
    }
    // A pull can take long, and others may have settled database or remote meanwhile.
    let report = SyncReport(pull: pulled, delivery: try await push(remote, dataSet()))
    try await remember()
    if report.pull.isComplete, report.delivery.report.unread.isEmpty { source.tell(.inStep) }
    return report
  }

  func state() async throws -> DatabaseState {
    try await magic.store.readBriefly { db in try DatabaseState(db) }
  }

  /// The data set of a remote, which is made if there is none and never was.
  func made(_ remote: any OpenRemote) async throws -> DataSetID {
    // Asked before it is looked for: who makes it meanwhile remembers it when it is there.
    if try await hasMet() { return try await found(remote, wasThere: true) }
    let state = try await state()
    return try agreed(try await remote.dataSet(orMake: state.dataSet), state)
  }

  /// The remote's data set, if the database has it or may take it (F-11). What takes it is the transaction that moves
  /// something.
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
