import Console
import Foundation
import MagicData
import MagicReplication

/// Follows a replicator's events: a bar and remarks on standard error, or lines of JSON.
actor Reporter {
  private let output: OutputOptions
  /// Where lines of JSON go.
  private let handle: FileHandle
  private var bar = ProgressBar()
  private var conflicts = 0
  private var parked: Set<String> = []
  /// What was said already, of what is said anew with each exchange.
  private var said: Set<String> = []
  private(set) var pulled = TransferSummary(PullReport())
  private(set) var pushed = TransferSummary(PushReport())
  /// Prints each exchange that moved something; else the command does at its end.
  private let isContinuous: Bool
  /// Whether nothing stays of what it tells.
  private let isDryRun: Bool
  /// Whether the last try failed.
  private var isRetrying = false
  private var failure: (any Error)?

  /// Events that wait while nobody reads what is printed; of more the oldest are not counted.
  private static let mostWaiting = 100_000

  /// So many conflicts are shown; all of them are in the log.
  private static let shownConflicts = 10

  init(_ output: OutputOptions, isContinuous: Bool = false, isOutputTaken: Bool = false, isDryRun: Bool = false) {
    self.output = output
    self.isContinuous = isContinuous
    self.isDryRun = isDryRun
    handle = isOutputTaken ? .standardError : .standardOutput
  }

  /// Runs `body` on a replicator and tells of it; when this returns, all is told.
  ///
  /// - Throws: what `body` throws; and why its results could not be printed, which ends it.
  nonisolated func follow<Result: Sendable>(
    _ replicator: MagicReplicator, _ body: @Sendable @escaping (MagicReplicator) async throws -> Result
  ) async throws -> Result {
    let events = replicator.events(keeping: Reporter.mostWaiting)
    let work = Task { try await body(replicator) }
    let telling = Task {
      for await event in events {
        await tell(event)
        // Nobody hears of what it does from here on.
        if await failure != nil { work.cancel() }
      }
    }
    let result = await withTaskCancellationHandler {
      await work.result
    } onCancel: {
      work.cancel()
    }
    replicator.finishEvents()
    await telling.value
    try await finish()
    return try result.get()
  }

  /// No event tells what a dry run has merged and taken back.
  func count(dryRun report: PullReport) { pulled += TransferSummary(report) }

  /// After what failed behind it, and does not take it back.
  func sayMoved() {
    guard !output.json else { return }
    for (moved, verb) in [(pulled, "pulled"), (pushed, "pushed")] where moved.hasMoved {
      Terminal.say(moved.sentence(verb, lacking: ""))
    }
  }

  private func finish() throws {
    bar.clear()
    if let failure { throw failure }
    // An event that came while many waited may have been dropped; the report has counted them all.
    let more = max(conflicts, pulled.conflicts ?? 0) - Reporter.shownConflicts
    guard more > 0, !output.json else { return }
    warn(
      isDryRun
        ? "\(more.grouped) more values would lose" : "\(more.grouped) more values lost; `magic-sync log --conflicts` shows them"
    )
  }

  private func tell(_ event: MagicReplicationEvent) {
    switch event {
    case .applied(let report): pulled += TransferSummary(report)
    case .sent(let report): pushed += TransferSummary(report)
    default: break
    }
    if output.json { return json(event) }
    if case .progress(let progress) = event {
      if Terminal.isTerminal, !output.quiet { bar.show(progress) }
      return
    }
    bar.clear()
    switch event {
    case .applied(let report) where isContinuous: result(TransferSummary(report).sentence("pulled", lacking: ""))
    case .sent(let report) where isContinuous:
      goOn()
      result(TransferSummary(report).sentence("pushed", lacking: ""))
    case .inStep: goOn()
    case .conflict(let conflict):
      conflicts += 1
      if conflicts <= Reporter.shownConflicts { warn("\(isDryRun ? "would lose" : "lost"): \(conflict.text)") }
    case .parked(let replica): tell(replica)
    case .unread(let file): trouble(file.message)
    case .becameReplica(let replica, let former):
      trouble(CommandDatabase.becameReplica(replica, former))
    case .closed(let replica):
      trouble(
        """
        two databases have written under the id \(replica), a copy of one or a backup: what both wrote is held under ids of \
        their own from here on. Nothing is lost
        """)
    case .differed(let replica):
      trouble(
        """
        \(replica) holds the same transactions and came to other values: one of the two databases is damaged; `magic-sync sync` says \
        what to do
        """)
    case .missing(let gap):
      trouble(
        """
        transactions \(gap.sequences.lowerBound) to \(gap.sequences.upperBound) of replica \(gap.replica) are missing in what could be read of the remote. \
        Where all of it can be, whoever has them sends them with the next push; what follows them waits there until then. If no file and nobody has them any more, \
        expire who said to have them (magic-sync peers)
        """)
    case .lacking(let assets):
      trouble(
        """
        \(assets.counted("asset")) of objects could not be had: the content is not in the remote yet, or damaged there. The next \
        pull looks for it again
        """)
    case .retrying(let error, let pause):
      isRetrying = true
      remark(ErrorRecord.text(error, retryingAfter: pause))
    case .progress, .applied, .sent, .forked, .stopped: break
    }
  }

  /// A whole exchange has come to its end. A pull alone is half of one, unless nothing is to be sent.
  func goOn() {
    if isRetrying { remark("the exchange goes on") }
    isRetrying = false
  }

  private func result(_ text: String) {
    guard failure == nil, !output.quiet else { return }
    do { try output.line(text) } catch { failure = error }
  }

  private func remark(_ text: String) {
    if !output.quiet { Terminal.say(text, .yellow) }
  }

  /// What a person may want to look at, also one who asked for quiet.
  private func warn(_ text: String) { Terminal.say(text, .yellow) }

  private func trouble(_ text: String) {
    if said.insert(text).inserted { warn(text) }
  }

  private func tell(_ replica: PullReport.HeldBack) {
    guard parked.insert(replica.replica).inserted else { return }
    let ahead = Duration.milliseconds(replica.aheadMilliseconds).formatted(
      .units(allowed: [.days, .hours, .minutes], width: .wide))
    Terminal.say(
      """
      the clock of replica \(replica.replica) is \(ahead) ahead of this machine's, which says \(Date().formatted(.iso8601)). What it wrote since waits in the \
      remote until that time has come; the rest was merged. Set right the clock that is wrong. A database's stamps never go back: if it is that replica's, to have what it wrote \
      and writes before then, merge it with --accept \(replica.replica.prefix(8)); others hear of that with the next push
      """, .yellow)
  }

  // MARK: For programs

  private func json(_ event: MagicReplicationEvent) {
    if case .parked(let replica) = event { parked.insert(replica.replica) }
    do {
      switch event {
      case .progress(let progress): try line("progress", Progress(progress))
      case .applied(let report): try line("applied", TransferSummary(report))
      case .sent(let report): try line("sent", TransferSummary(report))
      case .conflict(let conflict): try line("conflict", conflict)
      case .parked(let replica):
        try line("parked", Parked(replica: replica.replica, aheadMilliseconds: replica.aheadMilliseconds))
      case .unread(let file): try line("unread", ErrorRecord(file))
      case .becameReplica(let replica, let former):
        try line("becameReplica", ["replica": replica, "former": former])
      case .closed(let replica): try line("closed", ["replica": replica])
      case .differed(let replica): try line("differed", ["replica": replica])
      case .missing(let gap): try line("missing", Gap(gap))
      case .lacking(let assets): try line("lacking", Lacking(assets: assets))
      case .forked(let error): try line("forked", ErrorRecord(error))
      case .inStep: try line("inStep", Empty())
      case .retrying(let error, let pause):
        try line("retrying", ErrorRecord(error, retryingAfter: pause))
      // The summary has it.
      case .stopped: break
      }
    } catch {
      failure = failure ?? error
    }
  }

  private func line(_ name: String, _ content: some Encodable) throws {
    if failure == nil { try output.event(name, content, to: handle) }
  }

  private struct Progress: Encodable {
    let phase: String
    let transactions, total, changes: Int

    init(_ progress: MagicProgress) {
      phase = progress.phase.rawValue
      (transactions, total, changes) = (progress.transactions, progress.totalTransactions, progress.changes)
    }
  }

  private struct Parked: Encodable {
    let replica: String
    let aheadMilliseconds: Int64
  }

  private struct Lacking: Encodable {
    let assets: Int
  }
}
