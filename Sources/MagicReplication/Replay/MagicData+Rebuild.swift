internal import Foundation
package import MagicData
internal import MagicJournal

extension MagicData {
  /// Merges what a plan says of some journals into this database, which holds nothing yet: one transaction of SQLite, as a pull
  /// is, and then the contents of assets that the sources have.
  ///
  /// The database stays a replica of its own. What is a run of each replica (`RebuildPlan.isRun`) belongs to the sources' data
  /// set, under its own addresses. Anything else is a data set of its own, which numbers what it took anew: under the old
  /// addresses, others would take it for the transactions that it lacks. Of sources that gave history up, and of which what was
  /// kept of that cannot be read whole, it is a data set of its own, too.
  package func rebuild(from sources: [JournalSource], _ plan: RebuildPlan) async throws -> RebuildReport {
    let (sources, scratch, damaged) = try await MagicData.unpacked(sources, hasContents: plan.fetchesAssets)
    defer { withExtendedLifetime(scratch) {} }
    let (store, now) = (store, store.surroundings.milliseconds())
    var (report, read) = try await OpenJournal.read(sources, isSentOn: !plan.isForShow) { journal, checkCancelled in
      try store.writeInTurnBlocking { db in
        guard try DatabaseState(db).lastRow == 0 else { throw MagicDataError(.exists, "the database holds a journal already") }
        let merger = try Merger(
          db, milliseconds: max(now, min(journal.clock, AcceptedTime.last)),
          accepted: plan.isForShow ? Array(Merger.everyone) : plan.accepted)
        var rebuilder = try Rebuilder(plan, journal, merger)
        try rebuilder.run(journal, checkCancelled)
        // What lies at or below the sources' floor is kept as it is there.
        if journal.givenUp != nil {
          var compaction = try JournalCompaction(db, to: journal.floor)
          try compaction.run(checkCancelled)
        }
        try journal.checkIsOne(rebuilder.window)
        let isState = plan.isRun && !journal.troubles.isKeptLacking && !journal.hasUnheardClosings
        let dataSet = isState ? try journal.dataSet() : nil
        try DatabaseState.settle(try dataSet ?? DatabaseState(db).dataSet, db)
        // K-24: what a database among the sources holds, another source may have given up. Who has none leaves it to others.
        let hasDatabase = sources.contains { if case .database = $0 { true } else { false } }
        if isState, hasDatabase, !plan.isForShow, !plan.isPart, !rebuilder.restored.isEmpty {
          try store.write(rebuilder.restored, db)
        }
        var report = rebuilder.report(now, journal)
        report.isOwnDataSet = !isState
        return report
      }
    }
    read.gaps = report.read.gaps
    read.unread += damaged + report.read.unread
    report.read = read
    if plan.fetchesAssets { try await fetchAssets(from: sources, &report.pull) }
    return report
  }

  /// Bundles as folders, so that their contents are at hand, and where these are.
  private static func unpacked(
    _ sources: [JournalSource], hasContents: Bool
  ) async throws -> ([JournalSource], [ScratchFolder], [UnreadFile]) {
    try await Store.atLength { checkCancelled in
      var (folders, damaged): ([ScratchFolder], [UnreadFile]) = ([], [])
      let sources = try sources.map { source -> JournalSource in
        guard case .bundle(let file) = source else { return source }
        let scratch = try ScratchFolder("bundle")
        folders.append(scratch)
        let place = scratch.url.appendingPathComponent("remote", isDirectory: true)
        return .folder(
          try BundleFile.folder(of: file, at: place, hasContents: hasContents, checkCancelled) {
            damaged.append(UnreadFile(path: file.path, code: $0.code, message: $0.message))
          })
      }
      return (sources, folders, damaged)
    }
  }

  private func fetchAssets(from sources: [JournalSource], _ report: inout PullReport) async throws {
    let origins = sources.compactMap { source -> AssetOrigin? in
      switch source {
      case .database(let magic): .database(magic.store.assets)
      case .fetched(let journal): .database(journal.magic.store.assets)
      case .folder(let remote): .folder(remote)
      case .segment, .bundle, .export: nil
      }
    }
    for origin in origins { try await store.fetchAssets(store.lackingAssets(), from: origin, &report) }
    // What is there may be nowhere else, and goes with the database that this one replaces (F-15).
    if let replaced = store.replaced {
      let names = try await Set(store.lackingAssets()).union(store.assets.lacking(replaced.unsent)).sorted()
      try await store.fetchAssets(names, from: .database(replaced.folder), &report, areUnsent: true)
    }
    report.missingAssets = try await store.lackingAssets().count
  }
}

/// Hands transactions to a merger as a plan says.
private struct Rebuilder {
  private let plan: RebuildPlan
  private var merger: Merger
  let window: JournalWindow
  private let skipped: Set<TransactionAddress>
  private var types: TypeSelection
  private var learnt: [ObjectIdentifier: (schema: SourceSchema, types: [LearntType])] = [:]
  /// The last sequence that was read, and the last one that was given.
  private var read = Frontier()
  private var given = Frontier()
  private var stopped: Set<ReplicaID> = []
  /// What could not be merged.
  private var unread: [UnreadFile] = []
  /// Between what was read of each replica.
  private var holes: [PullReport.Gap] = []
  private var shuffled: Shuffled?

  /// Schemas that are remembered; a folder has one for each file.
  private static let maxSchemas = 64

  init(_ plan: RebuildPlan, _ journal: OpenJournal, _ merger: Merger) throws {
    (self.plan, self.merger) = (plan, merger)
    window = try plan.window(journal)
    types = TypeSelection(plan.types)
    skipped = Set(
      try plan.skipped.map {
        let (replica, sequence) = try journal.transaction(at: $0, plan.replicas)
        return TransactionAddress(replica: replica, sequence: sequence)
      })
    shuffled = plan.seed.map(Shuffled.init)
  }

  /// What was given up of objects that live on.
  var restored: [ObjectPurge] { merger.restored }

  mutating func run(_ journal: OpenJournal, _ checkCancelled: () throws -> Void) throws {
    read = journal.floor.frontier
    var reading = try journal.reading(window)
    while let (transaction, schema) = try reading.next() {
      try checkCancelled()
      if let through = plan.through, transaction.version > through { break }
      guard let wanted = part(transaction, schema), let types = try learn(schema, for: wanted) else { continue }
      if shuffled == nil {
        try merge(wanted, types)
      } else if let (transaction, types) = shuffled?.exchange(wanted, types) {
        try merge(transaction, types)
      }
    }
    while let (transaction, types) = shuffled?.take() { try merge(transaction, types) }
    try merger.finish()
  }

  /// What of a transaction is merged, under its address.
  private mutating func part(_ transaction: Transaction, _ schema: SourceSchema) -> Transaction? {
    let replica = transaction.replica
    guard transaction.sequence > 0 else { return transaction }
    // In their own order, or one that comes by chance after it would be lacking.
    guard !stopped.contains(replica), !merger.holdsBack(transaction) else { return nil }
    let next = read[replica] + 1
    read[replica] = max(read[replica], transaction.sequence)
    let isBehindHole = transaction.sequence > next
    if isBehindHole { holes.append(.init(replica: replica.description, sequences: next...transaction.sequence - 1)) }
    guard !plan.isRun else {
      // M-8: a run has no holes.
      if isBehindHole { stopped.insert(replica) }
      return isBehindHole ? nil : transaction
    }
    if skipped.contains(TransactionAddress(replica: replica, sequence: transaction.sequence)) { return nil }
    var part = types.part(of: transaction, schema.schema)
    guard !part.entries.isEmpty else { return nil }
    given[replica] += 1
    part.sequence = given[replica]
    return part
  }

  /// Makes room for what a transaction speaks of, in the journal's order also where another one is merged: nothing later of its
  /// replica is there if there is none.
  ///
  /// - Returns: `nil` if a database does not take that (J-15). As with a pull, what others wrote is taken all the same (H-21,
  ///   F-10).
  private mutating func learn(_ schema: SourceSchema, for transaction: Transaction) throws -> [LearntType]? {
    if let known = learnt[ObjectIdentifier(schema)] { return known.types }
    if learnt.count >= Rebuilder.maxSchemas { learnt = [:] }
    let (part, kept) = types.part(of: schema.schema)
    // Nothing is asked of the others.
    var learntTypes = Array(repeating: LearntType(id: 0, fields: []), count: schema.schema.types.count)
    do {
      for (index, type) in zip(kept, try merger.learn(part)) { learntTypes[index] = type }
    } catch let error as MagicDataError where error.code == .tooLarge && transaction.sequence > 0 {
      stopped.insert(transaction.replica)
      unread.append(
        UnreadFile(
          path: "transaction \(transaction.sequence) of replica \(transaction.replica)", code: error.code,
          message: "\(error.message); it and what its replica wrote later was left out"))
      return nil
    }
    learnt[ObjectIdentifier(schema)] = (schema, learntTypes)
    return learntTypes
  }

  private mutating func merge(_ transaction: Transaction, _ types: [LearntType]) throws {
    let isTaken = try merger.take(transaction, types)
    plan.merged?(merger.changes)
    guard !isTaken, transaction.sequence == 0, let stamp = merger.heldBack[transaction.replica]
    else { return }
    // The floor would stand for it all the same (K-13).
    throw MagicDataError(
      .failed,
      """
      the clock of replica \(transaction.replica) is ahead, and history was given up since, so that what it wrote cannot be left out; \
      --accept \(transaction.replica.description.prefix(8)) takes it, or wait until \(stamp.date.formatted(.iso8601))
      """)
  }

  func report(_ now: Int64, _ journal: OpenJournal) -> RebuildReport {
    var report = RebuildReport()
    (report.transactions, report.changes) = (merger.transactions, merger.changes)
    report.read.gaps = missing(journal.troubles.report.gaps)
    report.read.unread = unread
    report.pull.heldBack = merger.heldBack.sorted { $0.key < $1.key }.map {
      .init(replica: $0.key.description, aheadMilliseconds: $0.value.milliseconds - now)
    }
    return report
  }

  /// What no source has.
  ///
  /// - Parameter said: what one of them lacks, as a folder says it.
  private func missing(_ said: [PullReport.Gap]) -> [PullReport.Gap] {
    var missing: [PullReport.Gap] = []
    func add(_ gap: PullReport.Gap) { if !missing.contains(gap) { missing.append(gap) } }
    for gap in said {
      let left = holes.filter { $0.overlaps(gap) }
      for hole in left { add(.init(replica: gap.replica, sequences: hole.sequences.clamped(to: gap.sequences))) }
      let end = ReplicaID(gap.replica).map { read[$0] } ?? 0
      if left.isEmpty, end < gap.sequences.upperBound {
        add(.init(replica: gap.replica, sequences: max(gap.sequences.lowerBound, end + 1)...gap.sequences.upperBound))
      }
    }
    if plan.isRun { for hole in holes where !missing.contains(where: { $0.overlaps(hole) }) { add(hole) } }
    return missing
  }
}

/// Shuffles transactions: each time, one at random of those that it holds. A journal that fits in it is shuffled as a whole.
private struct Shuffled {
  private var held: [(Transaction, [LearntType])] = []
  private var entries = 0
  private var state: UInt64

  private static let (most, mostEntries) = (10_000, 100_000)

  init(seed: UInt64) {
    state = seed
  }

  mutating func exchange(_ transaction: Transaction, _ types: [LearntType]) -> (Transaction, [LearntType])? {
    held.append((transaction, types))
    entries += transaction.entries.count
    return held.count > Shuffled.most || entries > Shuffled.mostEntries ? take() : nil
  }

  mutating func take() -> (Transaction, [LearntType])? {
    guard !held.isEmpty else { return nil }
    // SplitMix64 (https://prng.di.unimi.it/splitmix64.c): the same order for the same number, everywhere.
    state &+= 0x9e37_79b9_7f4a_7c15
    var number = state
    number = (number ^ number >> 30) &* 0xbf58_476d_1ce4_e5b9
    number = (number ^ number >> 27) &* 0x94d0_49bb_1331_11eb
    held.swapAt(Int((number ^ number >> 31) % UInt64(held.count)), held.count - 1)
    let taken = held.removeLast()
    entries -= taken.0.entries.count
    return taken
  }
}
