internal import Foundation
internal import MagicData

extension MagicReplicator {
  /// Keeps database and remote in step until the task is cancelled or the database closed; then it returns, with both sides whole.
  ///
  /// A round begins after a commit to the database, by whatever process, and when the remote's files are others; every minute in any case. A round that
  /// fails for what may pass (a share that is not there, a file that is still on its way, a database that is busy, a full disk) is told as
  /// ``MagicReplicationEvent/retrying(_:after:)`` and tried again, after a pause that doubles up to five minutes.
  ///
  /// - Parameter interval: how often the remote is looked at, and the least time from one round to the next, which gathers small writes.
  /// - Throws: `MagicDataError` for what another try does not mend: `fork`, `incompatible`, `notADatabase`, `tooLarge`, `transaction`.
  public func run(every interval: Duration = .seconds(1)) async throws {
    var backOff = BackOff(from: interval)
    while !isOver {
      do {
        try await round(interval)
        backOff.reset()
      } catch  where isOver {
        return
      } catch let error as MagicDataError where error.mayPass {
        let pause = backOff.next()
        source.tell(.retrying(error, after: pause))
        try? await Task.sleep(for: pause)
      }
    }
  }

  private var isOver: Bool { Task.isCancelled || magic.store.isClosed }

  /// One exchange, and the wait for a reason for the next.
  private func round(_ interval: Duration) async throws {
    let earliest = ContinuousClock.now + interval
    // Looked at before the exchange: what comes during it is a reason for the next one.
    let position = try await magic.store.lastRow()
    let watch = FolderWatch(remote)
    let names = await watch.names()
    let (pull, push) = try await sync()
    // What it moved itself is not told from what came meanwhile; the next one finds nothing, and then it is known what is there.
    if pull.transactions + push.transactions == 0 { try await waitForReason(after: position, names, watch, interval) }
    try await Task.sleep(until: earliest, clock: .continuous)
  }

  private func waitForReason(
    after position: Int64, _ names: Set<String>?, _ watch: FolderWatch, _ interval: Duration
  ) async throws {
    let store = magic.store
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await store.waitForCommit(after: position) }
      group.addTask { try await watch.waitForChange(of: names, every: interval) }
      group.addTask { try await Task.sleep(for: MagicReplicator.longest) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Without any sign, a round begins this long after the one before: a clock that was ahead has been reached, a file under the same name has come whole.
  private static let longest = Duration.seconds(60)
}

extension MagicDataError {
  /// Whether another try may go well though nobody did anything about it.
  fileprivate var mayPass: Bool {
    switch code {
    case .fork, .incompatible, .notADatabase, .tooLarge, .transaction, .model, .value, .query, .unsetValue, .notSaved: false
    case .busy, .full, .notAllowed, .notFound, .exists, .damaged, .failed: true
    }
  }
}

/// Pauses that double, each with some chance, so that replicas which failed together do not come back together.
private struct BackOff {
  private let first: Duration
  private var pause: Duration
  private static let most = Duration.seconds(300)

  init(from first: Duration) {
    self.first = max(first, .milliseconds(10))
    pause = self.first
  }

  mutating func reset() { pause = first }

  mutating func next() -> Duration {
    defer { pause = min(pause * 2, BackOff.most) }
    return pause * Double.random(in: 0.75...1.25)
  }
}

/// Looks at a folder's names now and then. Off the threads that tasks share: a share that does not answer would hold one up.
private struct FolderWatch: Sendable {
  private let remote: FolderRemote

  init(_ remote: FolderRemote) {
    self.remote = remote
  }

  /// `nil` if the folder cannot be read.
  func names() async -> Set<String>? {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: (try? remote.listing(of: remote.segments)).map(Set.init))
      }
    }
  }

  func waitForChange(of names: Set<String>?, every interval: Duration) async throws {
    repeat { try await Task.sleep(for: interval) } while await self.names() == names
  }
}
