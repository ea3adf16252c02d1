internal import MagicData

extension MagicReplicator {
  /// Tells of a fork, and makes what cancelling did to SQLite a `CancellationError`.
  func telling<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch  where Task.isCancelled && !(error is CancellationError) {
      throw CancellationError()
    } catch let error as MagicDataError where error.code == .fork {
      source.tell(.forked(error))
      throw error
    }
  }

  /// Ends the sequences of events that there are, once what was told before is read.
  package func finishEvents() {
    source.finish()
  }

  func tell(_ report: PullReport, _ conflicts: [MagicConflict]) {
    for conflict in conflicts { source.tell(.conflict(conflict)) }
    if !isDryRun, report.transactions > 0 || report.assets > 0 { source.tell(.applied(report)) }
    for replica in report.heldBack { source.tell(.parked(replica)) }
    for file in report.unread { source.tell(.unread(file)) }
    for gap in report.gaps { source.tell(.missing(gap)) }
    if report.missingAssets > 0 { source.tell(.lacking(assets: report.missingAssets)) }
  }
}
