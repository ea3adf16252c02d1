internal import Foundation
internal import MagicData
internal import MagicJournal

extension MagicReplicator {
  /// Keeps database and remote in step until the task is cancelled or the database closed; then it returns, with both sides
  /// whole.
  ///
  /// A round begins after a commit to the database, by whatever process, and when the remote's files are others; every minute
  /// in any case, and sooner while the remote lacks contents of assets that objects name: they come after the objects. A round
  /// that fails for what may pass (a share that is not there, a file that is still on its way, a database that is busy, a full
  /// disk) is told as ``MagicReplicationEvent/retrying(_:after:)`` and tried again, after a pause that doubles up to five
  /// minutes.
  ///
  /// A folder that was there once is not made again: where it is gone, a share may not be mounted. Then it is waited for;
  /// ``sync(accepting:)`` makes it.
  ///
  /// - Parameter interval: how often a folder is looked at, and the least time from one round to the next, which gathers small
  ///   writes; a server tells of changes.
  /// - Throws: `MagicDataError` for what another try does not mend: `notFound` if the database's own file was removed or
  ///   replaced, `fork`, `incompatible`, `notADatabase`, `tooLarge`, `unauthorized` (but for a certificate that is not trusted,
  ///   since another may come, and for what the token does not let send that others have as well, which is told as
  ///   ``MagicReplicationEvent/retrying(_:after:)``), `transaction`, `model`, `value`, `query`, `unsetValue`, `notSaved`. What
  ///   a person mends in files and folders (`notAllowed`, `exists`, `notFound`) is tried again and told.
  public func run(every interval: Duration = .seconds(1)) async throws {
    var (told, wasThere, left) = ([String](), false, String?.none)
    try await keepExchanging(every: interval) { remote in
      let before = Locked(PullReport())
      let report: SyncReport
      do {
        // What a server lacks, it has lost itself.
        report = try await sync(remote, making: !(wasThere && remote is FolderRemote), after: before)
      } catch let error as MagicDataError where error.cause is LeftToOthers {
        // What comes is followed all the same, and others may bring it at any time.
        if left != error.message { source.tell(.retrying(error, after: MagicReplicator.longest)) }
        (wasThere, left) = (true, error.message)
        let pulled = before.withLock { $0 }
        return (pulled.transactions, pulled.missingAssets)
      }
      (wasThere, left) = (true, nil)
      // While nothing else is to be done.
      if report.transactions == 0 {
        do {
          if let differing = try await differing(remote, after: report) {
            for other in differing where !told.contains(other) { source.tell(.differed(from: other)) }
            told = differing
          }
        } catch let error as MagicDataError where error.code == .notADatabase {
          // What is new gets away from a machine that is broken.
          source.tell(.retrying(error, after: MagicReplicator.longest))
        }
      }
      return (report.transactions, report.pull.missingAssets)
    }
  }

  /// Pulls again and again, as ``run(every:)`` syncs, and sends nothing.
  ///
  /// - Parameter pulled: hears of each pull.
  package func keepPulling(every interval: Duration = .seconds(1), _ pulled: (PullReport) async -> Void) async throws {
    try await keepExchanging(every: interval) { remote in
      let report = try await pull(remote, found(remote))
      try await remember()
      await pulled(report)
      return (report.transactions, report.missingAssets)
    }
  }

  private typealias Exchange = (any OpenRemote) async throws -> (moved: Int, missing: Int)

  private func keepExchanging(every interval: Duration, _ exchange: Exchange) async throws {
    do {
      try await exchangeUntilOver(every: interval, exchange)
    } catch {
      source.tell(.stopped(error))
      throw error
    }
    source.tell(.stopped(nil))
  }

  private func exchangeUntilOver(every interval: Duration, _ exchange: Exchange) async throws {
    var (backOff, search, held) = (BackOff(from: interval), BackOff(from: .milliseconds(200)), Frontier?.none)
    while !isOver {
      try magic.store.checkIsInPlace()
      do {
        try await remote.opened(for: magic) { remote in
          while !isOver {
            (search, held) = try await telling { try await round(remote, exchange, interval, search, before: held) }
            backOff.reset()
          }
        }
      } catch  where isOver {
        return
      } catch let error as MagicDataError where error.mayPass {
        let pause = backOff.next()
        source.tell(.retrying(error, after: pause))
        try? await waitUntilOver(atMost: pause)
      }
    }
  }

  private func waitUntilOver(atMost pause: Duration) async throws {
    let end = ContinuousClock.now + pause
    while !isOver, .now < end { try await Task.sleep(for: min(end - .now, .seconds(1))) }
  }

  private var isOver: Bool { Task.isCancelled || magic.store.isClosed }

  /// One exchange, and the wait for a reason for the next.
  ///
  /// - Parameters:
  ///   - search: the pauses in which missing contents are looked for.
  ///   - held: what the database held after the round before, if that moved something and was not in step.
  private func round(
    _ remote: any OpenRemote, _ exchange: Exchange, _ interval: Duration, _ search: BackOff, before held: Frontier?
  ) async throws -> (search: BackOff, held: Frontier?) {
    var search = search
    let earliest = ContinuousClock.now + (remote.isLive ? .zero : interval)
    // Looked at before the exchange: what comes during it is a reason for the next one.
    let before = try await magic.store.lastRow()
    let there = await remote.position()
    let (moved, missing) = try await exchange(remote)
    if moved > 0 || missing == 0 { search.reset() }
    var pause = missing > 0 ? min(search.next(), MagicReplicator.longest) : MagicReplicator.longest
    if let due = remote.due { pause = min(pause, max(.zero, due - .now)) }
    guard moved > 0 else {
      try await waitForReason(after: before, remote, there, interval, atMost: pause)
      if earliest > .now { try await Task.sleep(until: earliest, clock: .continuous) }
      return (search, nil)
    }
    // If the remote does not tell that it holds the same, what came meanwhile is not told from what the round moved: the next
    // one begins at once, and has to find nothing. If it finds the same again, as where a server holds back what comes from a
    // clock that is ahead, there is time.
    let (row, now) = try await magic.store.readBriefly { db in (try DatabaseState(db).lastRow, try JournalIndex(db).frontier())
    }
    let isInStep = remote.holds(now)
    if isInStep || held == now {
      try await waitForReason(after: row, remote, there, interval, atMost: isInStep ? pause : MagicReplicator.longest)
    }
    if earliest > .now { try await Task.sleep(until: earliest, clock: .continuous) }
    return (search, isInStep ? nil : now)
  }

  private func waitForReason(
    after position: Int64, _ remote: any OpenRemote, _ there: RemotePosition, _ interval: Duration, atMost pause: Duration
  ) async throws {
    let store = magic.store
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await store.waitForCommit(after: position) }
      group.addTask { try await remote.waitForChange(after: there, every: interval) }
      group.addTask { try await Task.sleep(for: pause) }
      group.addTask { try await store.waitUntilDisplaced() }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Without any sign, a round begins this long after the one before: a clock that was ahead has been reached, a file under the
  /// same name has come whole.
  private static let longest = Duration.seconds(60)
}

/// A remote lacks what others have as well, and the client may not write (F-24). It ends an exchange, and nobody who keeps in
/// step.
package struct LeftToOthers: Error {
  package init() {}
}

/// A cause that may be gone without anybody's doing, though another error of the same code stays (F-24).
package protocol PassingCause: Error {}

extension MagicDataError {
  /// Whether another try may go well though nobody did anything about it.
  var mayPass: Bool {
    if cause is any PassingCause { return true }
    if cause is DisplacedDatabase { return false }
    return switch code {
    case .fork, .incompatible, .notADatabase, .tooLarge, .transaction, .model, .value, .query, .unsetValue, .notSaved,
      .unauthorized:
      false
    case .busy, .unreachable, .full, .notAllowed, .notFound, .exists, .damaged, .failed: true
    }
  }
}

/// Pauses that double, each with some chance, so that replicas which failed together do not come back together.
package struct BackOff {
  private let first: Duration
  private var pause: Duration
  private static let most = Duration.seconds(300)

  package init(from first: Duration) {
    self.first = min(max(first, .milliseconds(10)), BackOff.most)
    pause = self.first
  }

  mutating func reset() { pause = first }

  package mutating func next() -> Duration {
    defer { pause = min(pause * 2, BackOff.most) }
    return min(pause * Double.random(in: 0.75...1.25), BackOff.most)
  }
}
