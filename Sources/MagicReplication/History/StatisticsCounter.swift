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

  // What came last is mostly what comes next.
  private var schema: SourceSchema?
  private var shares: [MagicJournalStatistics.Share] = []
  private var current: (replica: ReplicaID, share: MagicJournalStatistics.Share, day: Int64, count: Int)?

  init() {}

  mutating func add(_ transaction: Transaction, _ schema: SourceSchema) {
    if self.schema !== schema {
      settleTypes()
      self.schema = schema
      shares = Array(repeating: .init(), count: schema.schema.types.count)
    }
    let day = transaction.name.stamp.milliseconds / 86_400_000
    if let current, current.replica != transaction.replica || current.day != day { settleReplica() }
    var replica = current ?? (transaction.replica, .init(), day, 0)
    var size = 0
    for entry in transaction.entries {
      let bytes = entry.contentLength
      size += bytes
      let isRemove = entry.operation.isRemove
      shares[entry.type].add(bytes, isRemove)
      replica.share.add(bytes, isRemove)
      sample.add(entry, transaction.version, schema.schema.types[entry.type])
    }
    replica.count += transaction.entries.count
    current = replica
    transactions += 1
    let stamp = transaction.name.stamp
    first = min(first ?? stamp, stamp)
    last = max(last ?? stamp, stamp)
    timeline.add(stamp.milliseconds, transaction.replica, entries: transaction.entries.count, bytes: size)
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

/// Which values are superseded, of all objects while they are few, and then of a part that is chosen by a hash of their names: half as many each time there are
/// too many. So memory is flat, and the answer the same whenever it is asked.
private struct ObjectSample {
  fileprivate struct Object {
    /// By slot and element: the winner, and what it takes.
    var cells: [UInt64: (version: Version, bytes: Int)] = [:]
    var (updated, removed): (Version?, Version?)
    var (values, bytes) = (0, 0)
  }

  private var objects: [UInt64: Object] = [:]
  private var mask: UInt64 = 0
  private var cells = 0

  private static let most = 100_000

  mutating func add(_ entry: Entry, _ version: Version, _ type: TypeSchema) {
    let name = entry.key.hash(
      seed: type.name.text.utf8.reduce(ObjectKey.hashStart) { ($0 ^ UInt64($1)) &* ObjectKey.hashPrime })
    guard name & mask == 0 else { return }
    var object = objects.removeValue(forKey: name) ?? Object()
    let before = object.cells.count
    if entry.operation.isRemove {
      object.removed = max(object.removed ?? version, version)
    } else {
      object.updated = max(object.updated ?? version, version)
    }
    for field in entry.fields {
      let slot = UInt64(type.slots[field.field]) &* ObjectKey.hashPrime
      switch field.value {
      case .set(let elements):
        for element in elements { object.add(slot ^ element.key.hash(seed: slot), version, element.key.storedLength) }
      case .dictionary(let elements):
        for element in elements {
          let cell = element.name.reduce(slot) { ($0 ^ UInt64($1)) &* ObjectKey.hashPrime }
          object.add(cell, version, element.name.count + (element.key?.storedLength ?? 1))
        }
      default: object.add(slot, version, field.value.encodedLength)
      }
    }
    cells += object.cells.count - before
    objects[name] = object
    if cells > ObjectSample.most, objects.count > 1 { halve() }
  }

  private mutating func halve() {
    mask = mask << 1 | 1
    objects = objects.filter { $0.key & mask == 0 }
    cells = objects.values.reduce(0) { $0 + $1.cells.count }
  }

  var compaction: MagicJournalStatistics.Compaction {
    var (values, bytes) = (0, 0)
    for object in objects.values {
      values += object.values
      bytes += object.bytes
      guard let removed = object.removed, object.updated.map({ removed >= $0 }) ?? true else { continue }
      values += object.cells.count
      bytes += object.cells.values.reduce(0) { $0 + $1.bytes }
    }
    let scale = Int(mask) + 1
    return .init(values: values * scale, bytes: bytes * scale, isEstimate: mask != 0)
  }
}

extension ObjectSample.Object {
  fileprivate mutating func add(_ cell: UInt64, _ version: Version, _ size: Int) {
    guard let held = cells[cell] else {
      cells[cell] = (version, size)
      return
    }
    values += 1
    bytes += held.version < version ? held.bytes : size
    if held.version < version { cells[cell] = (version, size) }
  }
}

extension ObjectKey {
  static let hashStart: UInt64 = 0xcbf2_9ce4_8422_2325
  static let hashPrime: UInt64 = 0x100_0000_01b3

  /// The same on every machine, unlike Swift's own. FNV-1a, with its bits mixed once more, since the lowest ones choose.
  fileprivate func hash(seed: UInt64) -> UInt64 {
    var hash = seed
    func add(_ number: UInt64) { hash = (hash ^ number) &* ObjectKey.hashPrime }
    switch self {
    case .primary(.integer(let number)): add(UInt64(bitPattern: number))
    case .primary(.text(let text)): for byte in text.utf8 { add(UInt64(byte)) }
    case .primary(let value): for byte in value.encoded { add(UInt64(byte)) }
    case .birth(let birth):
      add(birth.transaction.stamp.bits)
      add(UInt64(birth.transaction.tag) << 32 | UInt64(birth.ordinal))
    }
    hash = (hash ^ hash >> 33) &* 0xff51_afd7_ed55_8ccd
    return hash ^ hash >> 33
  }

  fileprivate var storedLength: Int {
    switch self {
    case .primary(let value): value.encodedLength
    case .birth: 17
    }
  }
}

extension Entry {
  /// What its object's name and its values take.
  fileprivate var contentLength: Int { fields.reduce(key.storedLength) { $0 + $1.value.encodedLength } }
}
