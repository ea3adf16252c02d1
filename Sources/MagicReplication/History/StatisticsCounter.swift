package import Foundation
internal import MagicJournal

/// Counts a journal as it is read.
struct StatisticsCounter {
  private var transactions = 0
  private var types: [TypeSchema.Identity: MagicJournalStatistics.Share] = [:]
  private var replicas: [ReplicaID: (share: MagicJournalStatistics.Share, days: [Int64: Int])] = [:]
  private var timeline = Timeline()
  private var (first, last): (Stamp?, Stamp?)
  private var sample = ObjectSample()
  /// The one that came last.
  private var told: (replica: ReplicaID, sequence: UInt64, name: TransactionName)?

  // What came last is mostly what comes next.
  private var schema: SourceSchema?
  private var shares: [MagicJournalStatistics.Share] = []
  private var places: [ObjectSample.Places] = []
  private var current: (replica: ReplicaID, share: MagicJournalStatistics.Share, day: Int64, count: Int)?

  init() {}

  /// A transaction, or a part of one.
  mutating func add(_ part: ReadPart, _ schema: SourceSchema) {
    let transaction = part.head
    if self.schema !== schema {
      settleTypes()
      self.schema = schema
      shares = Array(repeating: .init(), count: schema.schema.types.count)
      places = schema.schema.types.map(ObjectSample.Places.init)
    }
    let day = transaction.name.stamp.milliseconds / 86_400_000
    if let current, current.replica != transaction.replica || current.day != day { settleReplica() }
    var share = current?.share ?? .init()
    let before = share
    switch part {
    case .made(let transaction): for entry in transaction.entries { count(entry, transaction.version, in: &share) }
    case .encoded(let transaction):
      let version = transaction.head.version
      transaction.entries.forEachEntry { count($0, version, in: &share) }
    }
    let (entries, bytes) = (share.entries - before.entries, share.bytes - before.bytes)
    current = (transaction.replica, share, day, (current?.count ?? 0) + entries)
    // What is kept of transactions has no addresses, and comes whole.
    let address = (transaction.replica, transaction.sequence, transaction.name)
    if transaction.sequence == 0 || told.map({ $0 != address }) ?? true { transactions += 1 }
    told = address
    let stamp = transaction.name.stamp
    first = min(first ?? stamp, stamp)
    last = max(last ?? stamp, stamp)
    timeline.add(stamp.milliseconds, transaction.replica, entries: entries, bytes: bytes)
  }

  /// What its object's name and its values take.
  private mutating func count(_ entry: some EntryView, _ version: Version, in share: inout MagicJournalStatistics.Share) {
    let bytes = entry.keyLength + sample.add(entry, version, places[entry.type])
    shares[entry.type].add(bytes, entry.code.isRemove)
    share.add(bytes, entry.code.isRemove)
  }

  private mutating func settleTypes() {
    guard let schema else { return }
    for (type, share) in zip(schema.schema.types, shares) where share.entries > 0 {
      types[type.identity, default: .init()].add(share)
    }
  }

  private mutating func settleReplica() {
    guard let current else { return }
    replicas[current.replica, default: (.init(), [:])].share.add(current.share)
    replicas[current.replica]?.days[current.day, default: 0] += current.count
    self.current = nil
  }

  mutating func finish() -> MagicJournalStatistics {
    settleTypes()
    settleReplica()
    var statistics = MagicJournalStatistics()
    statistics.transactions = transactions
    for (type, share) in types {
      statistics.types[type.name.text, default: .init()].add(share)
      statistics.total.add(share)
    }
    for (replica, known) in replicas {
      statistics.replicas[replica.description] = known.share
      for (day, count) in known.days {
        let name = String(Stamp(UInt64(day * 86_400_000) << 16).inLog.prefix(10))
        statistics.days[name, default: [:]][replica.description] = count
      }
    }
    (statistics.first, statistics.last) = (first?.date, last?.date)
    statistics.compaction = sample.compaction
    statistics.timeline = timeline
    return statistics
  }
}

extension MagicJournalStatistics.Share {
  fileprivate mutating func add(_ size: Int, _ isRemove: Bool) {
    entries += 1
    if isRemove { removes += 1 }
    bytes += size
  }

  fileprivate mutating func add(_ other: Self) {
    entries += other.entries
    removes += other.removes
    bytes += other.bytes
  }
}

extension Stamp {
  package var date: Date { Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1_000) }
}
