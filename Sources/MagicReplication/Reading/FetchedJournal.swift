internal import MagicData

/// What a remote sent, in a database for the time, and what it could not send.
package final class FetchedJournal: Sendable {
  let magic: MagicData
  let path: String
  private let replicator: MagicReplicator
  private let read = Locked(MagicReadReport())

  /// Fetches all that a remote has.
  ///
  /// - Throws: what a pull throws.
  package init(from remote: any Remote) async throws {
    magic = try await MagicData(type: .temporary)
    path = remote.text
    // What is looked at and thrown away moves nobody's clock.
    replicator = MagicReplicator(magic, over: remote).accepting(Merger.everyone)
    note(try await replicator.pull(accepting: Merger.everyone))
  }

  /// What the last fetch found.
  var report: MagicReadReport { read.withLock { $0 } }

  private func note(_ pull: PullReport) { read.withLock { $0 = MagicReadReport(pull, from: path) } }

  /// Fetches what the remote gets from now on, until nobody asks for the next element.
  func growth() -> AsyncThrowingStream<JournalGrowth, any Error> {
    AsyncThrowingStream { continuation in
      let events = replicator.events
      let task = Task {
        await withTaskGroup(of: Void.self) { group in
          group.addTask {
            for await case .retrying(let error, let pause) in events { continuation.yield(.retrying(error, after: pause)) }
          }
          do {
            try await replicator.keepPulling { report in
              // What could not be sent may have passed.
              let wasComplete = self.report.isComplete
              note(report)
              if report.transactions > 0 || !report.isComplete || !wasComplete { continuation.yield(.grown) }
            }
            continuation.finish()
          } catch {
            continuation.finish(throwing: error)
          }
          group.cancelAll()
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
