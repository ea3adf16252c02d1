import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// Random histories of few objects that are removed, edited by who does not know, and purged: with replicas that are expired,
/// and with some that only pull. What all show is what it would be if nobody had purged anything, but for values that nobody
/// holds any more who could write them anew (K-23, K-24, L-6, L-20, H-13, H-14).
extension SimulationTests {
  @Test(arguments: seeds(40)) func purgesTakeNothingFromAnybody(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    let world = World(seed: seed)
    var chance = Seeded(seed)
    var model = PurgeModel()
    let replicas = try (0..<4).map { try Replica(folder["db\($0)"], folder["remote"], world, skew: Int64($0 % 3) * 700) }
    let members = Array(replicas.prefix(2))
    try await replicas[0].magic.update(contentsOf: [Note("a", "first"), Note("b", "first")])
    try await settle(members)
    for step in 0..<60 {
      world.advance(Int64(chance.pick([0, 1, 40, 900])))
      let replica = chance.pick(replicas)
      // Only those may have written something.
      var active = [replica]
      switch chance.below(16) {
      case 0..<7: try await PurgeModel.edit(replica, "\(seed).\(step)", &chance)
      case 7, 8: try await replica.pullAsForeseen("MAGIC_SEED=\(seed) step \(step)")
      case 9:
        try await settle(members)
        active = members
      case 10: try await replica.replicator.sync()
      case 11 where step % 2 == 0:
        try await replicas[0].replicator.pull()
        active = [replicas[0]]
        let id = try await chance.pick(replicas.dropFirst().map(\.self)).magic.statistics().replica
        // Nobody knows one who was never heard of.
        do { try await replicas[0].replicator.expire(id) } catch let error as MagicDataError where error.code != .fork {}
      default:
        try await settle(members)
        _ = try await chance.pick(members).magic.compact()
        active = members
      }
      for replica in active {
        try await model.learn(replica)
        #expect(try await DatabaseCheck(replica.magic).faults == [], "MAGIC_SEED=\(seed) step \(step)")
      }
    }
    try await settle(replicas)
    for replica in replicas { try await model.learn(replica) }
    try await expectEqual(replicas, "MAGIC_SEED=\(seed)")
    let dump = try await Dump(replicas[0].magic)
    #expect(dump == model.all.dump, "MAGIC_SEED=\(seed)")
    let plain = model.withoutPurges.dump
    #expect(Set(dump.objects.keys) == Set(plain.objects.keys), "MAGIC_SEED=\(seed)")
    // What was made again without a value, removed and given up may have one that its holder writes anew; what was made again
    // and is there, none.
    let withoutOver = model.withoutRevivalsThatAreOver.dump
    for (object, properties) in plain.objects {
      let (shown, least) = (Set((dump.objects[object] ?? [:]).keys), Set(properties.keys))
      #expect(shown.isSuperset(of: least), "MAGIC_SEED=\(seed) \(object)")
      let most = least.union((withoutOver.objects[object] ?? [:]).keys)
      #expect(shown.isSubset(of: most), "MAGIC_SEED=\(seed) \(object)")
    }
    for (object, properties) in dump.objects {
      for (name, value) in properties where value != plain.objects[object]?[name] {
        #expect(model.anew.contains(value), "MAGIC_SEED=\(seed) \(object) \(name)")
      }
    }
  }
}

/// All transactions that were ever written, folded by the definition.
private struct PurgeModel {
  private(set) var all = NaiveFold()
  private(set) var withoutPurges = NaiveFold()
  /// What was written anew: of several holders, one may hold an older value than was purged.
  private(set) var anew: Set<Value> = []
  private var known: Set<TransactionName> = []
  private var learned: [(transaction: Transaction, schema: Schema)] = []

  mutating func learn(_ replica: Replica) async throws {
    let (transactions, schema) = try await replica.transactions()
    for transaction in transactions where known.insert(transaction.name).inserted {
      all.add(transaction, schema)
      learned.append((transaction, schema))
      var plain = transaction
      plain.entries.removeAll { $0.operation.code == .purge }
      withoutPurges.add(plain, schema)
      for purge in transaction.entries where purge.operation.code == .purge { anew.formUnion(purge.fields.map(\.value)) }
    }
  }

  /// Without purges, and without what those revivals made void of which a purge has made void all that they wrote (K-2).
  var withoutRevivalsThatAreOver: NaiveFold {
    func object(_ entry: Entry, _ schema: Schema) -> Dump.Object {
      Dump.Object(type: schema.types[entry.type].name.text, key: entry.key)
    }
    var purged: [Dump.Object: Stamp] = [:]
    for (transaction, schema) in learned {
      for entry in transaction.entries {
        guard case .purge(let base) = entry.operation else { continue }
        purged[object(entry, schema), default: base] = max(purged[object(entry, schema)] ?? base, base)
      }
    }
    var fold = NaiveFold()
    for (transaction, schema) in learned {
      var plain = transaction
      plain.entries.removeAll { $0.operation.code == .purge }
      for index in plain.entries.indices where plain.entries[index].operation.code == .revival {
        guard let base = purged[object(plain.entries[index], schema)], transaction.name.stamp <= base else { continue }
        plain.entries[index].operation = .update
      }
      fold.add(plain, schema)
    }
    return fold
  }

  static func edit(_ replica: Replica, _ text: String, _ chance: inout Seeded) async throws {
    let id = chance.pick(["a", "b", "c"])
    guard let note = try await replica.notes()[id] else {
      if chance.below(2) == 0 { try await replica.magic.update(Note(id, text)) }
      return
    }
    switch chance.below(4) {
    case 0:
      try await replica.magic.remove(note)
      return
    case 1: note.stars = chance.below(1_000)
    case 2: note.mood = text
    default: note.title = text
    }
    try await replica.magic.update(note)
  }
}
