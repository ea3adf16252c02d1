import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// Random histories in which history is given up at any time, in databases and in the folder, in which the folder is wiped, and
/// replicas come late. Afterwards all are equal, nothing that was written is lost, and what all transactions ever written come
/// to by the definition is what all show (L-15, L-16, L-17, L-18, L-19, L-20, L-23, H-9, H-14).
extension SimulationTests {
  @Test(arguments: seeds(12)) func compactionAtAnyTimeChangesNothing(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    let world = World(seed: seed)
    var chance = Seeded(seed)
    var model = Model()
    var replicas = try (0..<3).map { try Replica(folder["db\($0)"], folder["remote"], world, skew: Int64($0) * 40) }
    var gardeners = replicas.map { _ in Gardener() }
    let remote = FolderRemote(folder["remote"])
    // All have one data set, whatever becomes of the folder.
    try await settle(replicas)
    for step in 0..<70 {
      let comment: Comment = "MAGIC_SEED=\(seed) step \(step)"
      world.advance(Int64(chance.pick([0, 0, 1, 3, 40])))
      let number = chance.below(replicas.count)
      let replica = replicas[number]
      let isThere = FileManager.default.fileExists(atPath: folder["remote/magicdata.json"].path)
      let action = chance.below(24)
      switch action {
      case 0..<6: try await edit(replica, &chance)
      case 6..<11:
        gardeners[number].chance = Seeded(chance.next())
        gardeners[number].name = "\(seed).\(step)"
        try await gardeners[number].edit(replica.magic)
      case 11, 12: try await replica.replicator.push()
      case 13 where isThere: try await replica.pullAsForeseen(comment)
      case 14, 15, 16:
        try await replica.magic.compact(keeping: .milliseconds(chance.pick([0, 0, 1_000])))
      case 17 where isThere, 18 where isThere:
        try await replica.replicator.compact()
      case 19 where isThere: try await remote.compact()
      case 20 where isThere:
        let other = replicas[chance.below(replicas.count)]
        let id = try await other.magic.statistics().replica
        // Nobody knows one who was never heard of.
        do { try await replica.replicator.expire(id) } catch let error as MagicDataError where error.code != .fork {}
      case 21 where chance.below(3) == 0 && isThere:
        for name in try FileManager.default.contentsOfDirectory(atPath: folder["remote"].path) {
          try FileManager.default.removeItem(at: folder["remote/\(name)"])
        }
      case 22 where replicas.count < 6 && isThere:
        replicas.append(try Replica(folder["db\(replicas.count)"], folder["remote"], world))
        gardeners.append(Gardener())
        try await replicas[replicas.count - 1].replicator.pull()
      default: try await replica.replicator.sync()
      }
      try await model.learn(replica)
      let dump = try await Dump(replica.magic)
      #expect(try await replica.naiveDump() == dump, comment)
      #expect(try await faultyPlaces(replica.magic) == [], comment)
      let faults = try await DatabaseCheck(replica.magic).faults
      #expect(faults == [], comment)
      if !faults.isEmpty { return }
    }
    try await settle(replicas)
    try await expectEqual(replicas, "MAGIC_SEED=\(seed)")
    // What pulls have written whole (K-24).
    for replica in replicas { try await model.learn(replica) }
    #expect(try await Dump(replicas[0].magic) == model.fold.dump, "MAGIC_SEED=\(seed)")
    try await replicas[0].replicator.compact()
    let newcomer = try Replica(folder["newcomer"], folder["remote"], world)
    #expect(try await newcomer.replicator.pull().isComplete, "MAGIC_SEED=\(seed)")
    for replica in replicas { try await replica.replicator.compact() }
    // What they purged (K-23).
    try await settle(replicas + [newcomer])
    try await expectEqual(replicas + [newcomer], "MAGIC_SEED=\(seed)")
    #expect(try await DatabaseCheck(newcomer.magic).faults == [], "MAGIC_SEED=\(seed)")
    #expect(try FolderCheck(remote).damaged == [], "MAGIC_SEED=\(seed)")
    try await expectEqualInPython(newcomer, remote.folder, "MAGIC_SEED=\(seed)")
  }
}

/// All transactions that were ever written, folded by the definition.
private struct Model {
  private(set) var fold = NaiveFold()
  private var known: Set<Name> = []

  private struct Name: Hashable {
    let name: TransactionName
    let root: ReplicaID
  }

  mutating func learn(_ replica: Replica) async throws {
    let (transactions, schema) = try await replica.transactions()
    for transaction in transactions where known.insert(Name(name: transaction.name, root: transaction.root)).inserted {
      fold.add(transaction, schema)
    }
  }
}
