internal import Foundation
internal import MagicData
internal import MagicJournal

extension MagicReplicator {
  /// Sends what the remote lacks: this replica's transactions, and those that it holds of others. Makes the remote if there is none.
  ///
  /// - Throws: `MagicDataError` with `incompatible` (another data set), `fork`, `full`, `notAllowed` or `notFound`. What was written before
  ///   stays, and is whole.
  @discardableResult
  public func push() async throws -> PushReport {
    try await telling { try await pushOnce() }
  }

  private func pushOnce() async throws -> PushReport {
    let dataSet = try await agreed(try await remote.dataSet(orMake: state().dataSet))
    let (remote, store) = (remote, magic.store)
    if try await !state().isSettled {
      try await store.read { db in _ = try Snapshot(db, remote, dataSet) }
      try remote.makeSegments()
      // From here on something may flow, so both sides stand for one data set.
      try await store.write { db in try DatabaseState.settle(dataSet, db) }
    }
    let events = source
    let report = try await store.read { db in
      let snapshot = try Snapshot(db, remote, dataSet)
      // What it holds is on the disk before anybody else has it (J-21).
      try store.syncToDisk(db)
      try remote.makeSegments()
      var report = PushReport()
      let (held, there) = (snapshot.held, snapshot.listing.frontier)
      let waiting = held.replicas.reduce(0) { $0 + Int(clamping: held[$1] - min(held[$1], there[$1])) }
      let meter = ProgressMeter(events, .push, of: waiting)
      for replica in held.replicas where held[replica] > there[replica] {
        try RunPush(remote: remote, dataSet: dataSet, snapshot: snapshot, meter: meter)
          .send(replica, after: there[replica], &report)
      }
      return report
    }
    if report.transactions > 0 { events.tell(.sent(report)) }
    return report
  }
}

/// Sends one replica's transactions after a sequence, in as many segments as it takes.
private struct RunPush {
  let remote: FolderRemote
  let dataSet: DataSetID
  let snapshot: Snapshot
  let meter: ProgressMeter

  private var journal: JournalReader { snapshot.journal }

  func send(_ replica: ReplicaID, after sequence: UInt64, _ report: inout PushReport) throws {
    var previous = try sequence == 0 ? .none : journal.name(at: sequence, of: replica) ?? .none
    var writer = start(replica, sequence + 1, previous)
    var first = sequence + 1
    var last = sequence
    try journal.forEachTransaction(of: replica, after: sequence) { transaction in
      if writer.isFull {
        try finish(writer, replica, first...last, &report)
        writer = start(replica, transaction.sequence, previous)
        first = transaction.sequence
      }
      writer.add(transaction)
      previous = transaction.name
      last = transaction.sequence
      report.transactions += 1
      report.changes += transaction.entries.count
      try meter.moved(changes: transaction.entries.count)
    }
    if !writer.isEmpty { try finish(writer, replica, first...last, &report) }
  }

  private func start(_ replica: ReplicaID, _ first: UInt64, _ previous: TransactionName) -> SegmentWriter {
    SegmentWriter(
      dataSet: dataSet, writer: snapshot.state.replica, schema: journal.schema.schema, replica: replica, first: first,
      previous: previous)
  }

  private func finish(
    _ writer: SegmentWriter, _ replica: ReplicaID, _ run: ClosedRange<UInt64>, _ report: inout PushReport
  ) throws {
    let (name, bytes) = try writer.finish()
    let file = SegmentFileName(replica: replica, first: run.lowerBound, last: run.upperBound, name: name)
    if let other = snapshot.listing.rejected.first(where: { $0.name == file }), other.error.code == .incompatible {
      throw other.error  // S-2: never replaced
    }
    try DurableFile.write(bytes, to: remote.segments.appendingPathComponent(file.text))
    report.segments += 1
    report.bytes += bytes.count
    report.inflatedBytes += SegmentHeader.length + (try SegmentHeader(bytes).bodyLength)
  }
}
