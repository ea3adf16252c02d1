import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// A database and the folder that it syncs through.
struct Replica {
  let magic: MagicData
  let replicator: MagicReplicator

  init(_ database: URL, _ remote: URL, _ world: World, skew: Int64 = 0) throws {
    magic = MagicData(
      store: try Store(.file(DatabaseLocation(database), mustExist: false), world.surroundings(skew: skew)))
    replicator = MagicReplicator(magic, remote: FolderRemote(remote))
  }

  init(_ magic: MagicData, _ remote: URL) {
    self.magic = magic
    replicator = MagicReplicator(magic, remote: FolderRemote(remote))
  }

  func notes() async throws -> [String: Note] {
    Dictionary(uniqueKeysWithValues: try await magic.object(of: Note.self).map { ($0.id, $0) })
  }

  /// Pulls, after a dry run that says the same and changes nothing.
  ///
  /// A fork is told by either, unless the pull tells the two databases apart.
  @discardableResult
  func pullAsForeseen(_ comment: Comment? = nil) async throws -> PullReport {
    let before = try await (frontier(), magic.digest())
    var foreseen: PullReport?
    do {
      foreseen = try await replicator.pull(isDryRun: true)
    } catch let error as MagicDataError where error.code == .fork {}
    let after = try await (frontier(), magic.digest())
    #expect(after == before, comment)
    let report = try await replicator.pull()
    if let foreseen { #expect(report == foreseen, comment) }
    return report
  }

  /// Everything in its journal, as other code than the fold reads it.
  func naiveDump() async throws -> Dump {
    try await NaiveFold(journalOf: magic).dump
  }

  /// What is above the floor of its journal.
  func transactions() async throws -> ([Transaction], Schema) {
    try await magic.store.read { db in
      let journal = try JournalReader(db)
      var transactions: [Transaction] = []
      try journal.forEachTransaction { if $0.sequence > 0 { transactions.append($0) } }
      return (transactions, journal.schema.schema)
    }
  }

  func frontier() async throws -> Frontier {
    try await magic.store.read { db in try JournalReader(db).frontier() }
  }
}

/// Two replicas, and the folder in which they and their remote are.
func twoReplicas() throws -> (folder: TemporaryFolder, world: World, a: Replica, b: Replica) {
  let (folder, world) = (try TemporaryFolder(), World())
  func replica(_ name: String) throws -> Replica { try Replica(folder[name], folder["remote"], world) }
  return (folder, world, try replica("a"), try replica("b"))
}

/// Syncs in turn until nothing moves; two rounds more than there are replicas is enough for any.
func settle(_ replicas: [Replica]) async throws {
  for _ in 0..<(replicas.count + 2) {
    var moved = 0
    for replica in replicas {
      let (pull, push) = try await replica.replicator.sync()
      moved += pull.transactions + push.transactions
    }
    if moved == 0 { return }
  }
  Issue.record("the replicas do not come to rest")
}

func expectEqual(_ replicas: [Replica], _ comment: Comment? = nil) async throws {
  let first = try await (dump: Dump(replicas[0].magic), digest: replicas[0].magic.digest(), frontier: replicas[0].frontier())
  for replica in replicas {
    let dump = try await Dump(replica.magic)
    #expect(dump == first.dump, comment)
    #expect(try await replica.naiveDump() == dump, comment)
    #expect(try await replica.magic.digest() == first.digest, comment)
    #expect(try await replica.frontier() == first.frontier, comment)
  }
}

/// What the reader in Python, which was written from `Protocol/` alone, makes of a folder with which a replica is in step.
func expectEqualInPython(_ replica: Replica, _ remote: URL, _ comment: Comment? = nil) async throws {
  let digest = try await replica.magic.digest()
  // Off the threads that tests share: who starts a program waits for its end.
  let other = try await withCheckedThrowingContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(with: Result { try Tool.python.digest(of: remote.path) }) }
  }
  #expect(other == digest + "\n", comment)
}
