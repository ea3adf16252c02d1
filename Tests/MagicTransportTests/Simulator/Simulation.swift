import Foundation
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// Databases on machines whose clocks disagree, hubs that carry files late and in parts, copies, backups, crashes, wiped hubs:
/// all at random, from one seed. It drives the real library, SQLite and segments. Afterwards everything that was written and is
/// still somewhere is everywhere, and all is what the naive fold makes of it.
final class Simulation {
  enum Carriers: CaseIterable {
    /// One folder that all reach.
    case shared
    /// Two folders that all reach now and then.
    case hubs
    /// Each machine has a folder of its own, and a service carries files between them.
    case service
    /// One folder, which is served: machines reach it over a socket.
    case server
    /// The first machine serves its database, and has a folder besides that all reach.
    case peer
  }

  let seed: UInt64
  let carriers: Carriers
  let folder: TemporaryFolder
  let world: World
  var chance: Seeded
  private(set) var machines: [Machine] = []
  private var backups: [(copy: URL, of: Machine)] = []
  private var service = FileService()
  private var server: RunningServer?
  /// Every transaction that a machine's journal had and that is still somewhere, by name.
  private var written: [TransactionName: (Transaction, Schema)] = [:]
  private var steps: [String] = []

  init(seed: UInt64) throws {
    self.seed = seed
    folder = try TemporaryFolder()
    world = World(seed: seed)
    chance = Seeded(seed)
    carriers = chance.pick(Carriers.allCases)
  }

  /// What happened, for a failure's message.
  var story: Comment { "MAGIC_SEED=\(seed) \(carriers): \(steps.suffix(120).joined(separator: ", "))" }

  // MARK: The world

  private var folders: [String] { carriers == .hubs ? ["hub 0", "hub 1"] : ["hub"] }
  private var places: [String] { folders + (carriers == .peer ? [Simulation.served] : []) }

  /// The name of the machine that serves.
  private static let served = "m0"

  /// How a machine reaches a place.
  private func way(to place: String, of machine: Machine) throws -> any Remote {
    switch carriers {
    case .server: try SocketRemote("unix:\(socket.path)")
    case .peer where place == Simulation.served: try SocketRemote("unix:\(socket.path)")
    default: remote(place, of: machine)
    }
  }

  private var socket: URL { folder["s"] }

  private func remote(_ place: String, of machine: Machine) -> FolderRemote {
    FolderRemote(folder[carriers == .service ? "\(place) of \(machine.name)" : place])
  }

  private func addMachine(at database: URL? = nil) async throws -> Machine {
    let name = "m\(machines.count)"
    let machine = Machine(
      name, database ?? folder[name], world, isOld: chance.below(3) == 0,
      servedAt: carriers == .peer && name == Simulation.served ? socket : nil)
    machine.skew = Int64(chance.pick([0, 0, 35, -20, 4_000]))
    try await machine.open()
    machines.append(machine)
    return machine
  }

  func run(steps count: Int) async throws {
    if carriers == .server {
      server = try await RunningServer(
        MagicServer(folder: FolderRemote(folder["hub"]), at: ["unix:\(socket.path)"], options: RunningServer.quiet))
    }
    // One data set from the beginning.
    let first = try await addMachine()
    try await first.edit(&chance)
    try await record(first)
    for _ in 0..<chance.below(3) + 1 { _ = try await addMachine() }
    for machine in machines {
      try carryAll()
      for place in places { try await exchange(machine, place, .sync) }
    }
    for _ in 0..<count { try await step() }
    try await heal()
    try await check()
    for machine in machines { try await machine.close() }
    try await server?.stop()
  }

  private func step() async throws {
    try await act()
    // A compaction purges, and an exchange may write whole what was purged (K-23, K-24).
    for machine in machines { try await record(machine) }
  }

  private func act() async throws {
    world.advance(Int64(chance.pick([0, 0, 1, 3, 40, 2_000])))
    let machine = chance.pick(machines)
    switch chance.below(44) {
    case 0..<20:
      steps.append("\(machine.name) edits")
      try await machine.edit(&chance)
    case 20..<24: try await exchange(machine, chance.pick(places), .push, breaksAfter: halves())
    case 24..<28: try await exchange(machine, chance.pick(places), .pull, breaksAfter: halves())
    case 28..<32: try await exchange(machine, chance.pick(places), .sync, breaksAfter: halves())
    case 32, 33: try carry()
    case 34:
      steps.append("\(machine.name) crashes")
      try await machine.crash()
    case 35: try await copy(machine)
    case 36: try await backUp(machine)
    case 37: try await restore()
    case 38: try await ruin()
    case 39, 40, 41: try await compact(machine)
    case 42: try await compact(machine, in: chance.pick(folders))
    default:
      let skew = Int64(chance.pick([0, 35, 30_000, -500_000, 3 * 86_400_000]))
      steps.append("\(machine.name)'s clock is \(skew) ahead")
      machine.skew = skew
      try await machine.reopen()
    }
  }

  // MARK: Exchange

  private enum Verb { case push, pull, sync }

  /// After how many questions and answers the way breaks off, if it does.
  private func halves() -> Int? { chance.below(4) == 0 ? chance.below(10) : nil }

  private func exchange(_ machine: Machine, _ place: String, _ verb: Verb, breaksAfter halves: Int? = nil) async throws {
    guard machine.name != place else { return }
    steps.append("\(machine.name) \(verb)s \(place)\(halves.map { ", which is gone after \($0)" } ?? "")")
    let way = try way(to: place, of: machine)
    let replicator = MagicReplicator(machine.magic, over: halves.map { BreakingRemote(way, after: $0) as any Remote } ?? way)
    do {
      switch verb {
      case .push: try await replicator.push()
      case .pull: try await replicator.pull()
      case .sync: try await replicator.sync()
      }
    } catch let error as MagicDataError where error.code == .unreachable && halves != nil {
      // It was gone.
    } catch let error as MagicDataError where error.code == .notFound && verb == .pull {
      // A hub that was wiped.
    }
  }

  // MARK: Growth

  /// What counts without being a transaction any more: by the floor below which it lies.
  private var givenUp: [(floor: NamedFrontier, names: Set<TransactionName>)] = []

  private func compact(_ machine: Machine, in place: String? = nil) async throws {
    steps.append("\(machine.name) compacts" + (place.map { " \($0)" } ?? ""))
    let before = try await names(machine)
    do {
      if let place {
        let remote = remote(place, of: machine)
        if chance.below(3) == 0 {
          if remote.isThere { try await remote.compact() }
        } else {
          try await MagicReplicator(machine.magic, remote: remote).compact()
        }
      } else {
        try await machine.magic.compact(keeping: .milliseconds(chance.pick([0, 0, 500])))
      }
    } catch let error as MagicDataError where error.code == .notFound || error.code == .fork {
      // A hub that was wiped; an unnoticed copy, of which others tell and which has not met its original.
    }
    let (live, _, floor) = try await namesHeld(machine)
    givenUp.append((floor, before.subtracting(live)))
  }

  /// Of the transactions in a machine's journal, and of those of which something is kept.
  private func namesHeld(_ machine: Machine) async throws -> (
    live: Set<TransactionName>, kept: Set<TransactionName>, floor: NamedFrontier
  ) {
    try await machine.magic.store.read { db in
      let (live, kept, journal) = (Box<Set<TransactionName>>([]), Box<Set<TransactionName>>([]), try JournalReader(db))
      try journal.forEachTransaction { transaction in
        if transaction.sequence > 0 { live.value.insert(transaction.name) } else { kept.value.insert(transaction.name) }
      }
      return (live.value, kept.value, try journal.floor())
    }
  }

  /// Of all that counts in a machine's journal.
  private func names(_ machine: Machine) async throws -> Set<TransactionName> {
    let (live, kept, floor) = try await namesHeld(machine)
    return live.union(kept).union(namesGivenUp(below: floor))
  }

  private func namesGivenUp(below floor: NamedFrontier) -> Set<TransactionName> {
    givenUp.filter { given in
      given.floor.replicas.allSatisfy { replica in
        guard let end = given.floor[replica] else { return true }
        // Or it stands beside another's (K-20).
        return end.sequence < floor[replica]?.sequence ?? 0 || end == floor[replica]
          || floor[replica.branch(at: end.name)] != nil
      }
    }.reduce(into: []) {
      $0.formUnion($1.names)
    }
  }

  private func carry() throws {
    guard carriers == .service, machines.count > 1 else { return }
    let (from, to) = (chance.pick(machines), chance.pick(machines))
    guard from !== to else { return }
    steps.append("files go from \(from.name) to \(to.name)")
    for place in folders {
      try service.carry(remote(place, of: from).folder, to: remote(place, of: to).folder, &chance)
    }
  }

  private func carryAll() throws {
    guard carriers == .service else { return }
    for place in folders {
      for from in machines {
        for to in machines where to !== from {
          try service.carryAll(remote(place, of: from).folder, to: remote(place, of: to).folder)
        }
      }
    }
  }

  // MARK: What befalls them

  private func copy(_ machine: Machine) async throws {
    guard machines.count < 6 else { return }
    // Who is to sync with what it is a copy of, and does not know it, needs a person.
    let isUnnoticed = chance.below(2) == 0 && !(carriers == .peer && machine.name == Simulation.served)
    steps.append("\(machine.name) is copied\(isUnnoticed ? " unnoticed" : "") as m\(machines.count)")
    try await machine.close()
    let copy = folder["m\(machines.count)"]
    try FileManager.default.copyItem(at: machine.database, to: copy)
    if isUnnoticed { try claimMark(of: copy) }
    try await machine.open()
    let made = try await addMachine(at: copy)
    made.recorded = machine.recorded
    if carriers == .service {
      // Its folder has what the other's has.
      for place in folders {
        try FileManager.default.copyItem(at: remote(place, of: machine).folder, to: remote(place, of: made).folder)
      }
    }
  }

  private func backUp(_ machine: Machine) async throws {
    steps.append("\(machine.name) is backed up")
    try await machine.close()
    let copy = folder["backup \(backups.count)"]
    try FileManager.default.copyItem(at: machine.database, to: copy)
    try await machine.open()
    backups.append((copy, machine))
  }

  private func restore() async throws {
    guard !backups.isEmpty else { return }
    let (copy, machine) = chance.pick(backups)
    let isUnnoticed = chance.below(2) == 0 && !(carriers == .peer && machine.name == Simulation.served)
    steps.append("\(machine.name) is put back\(isUnnoticed ? " unnoticed" : "")")
    try await machine.close()
    try putBack(copy, into: machine.database, unnoticed: isUnnoticed)
    try await machine.open()
    machine.recorded = [:]
    try await recordWhatIsBack(machine)
    try await forgetWhatIsGone()
  }

  /// A hub is wiped, or set back to nothing but its mark.
  private func ruin() async throws {
    let machine = chance.pick(machines)
    let hub = remote(chance.pick(folders), of: machine).folder
    guard FileManager.default.fileExists(atPath: hub.path) else { return }
    let segments = hub.appendingPathComponent("segments")
    guard FileManager.default.fileExists(atPath: segments.path) else { return }
    switch chance.below(3) {
    case 0:
      steps.append("\(hub.lastPathComponent) is wiped")
      for name in try FileManager.default.contentsOfDirectory(atPath: hub.path) where name != "magicdata.json" {
        try FileManager.default.removeItem(at: hub.appendingPathComponent(name))
      }
    case 1:
      let files = try FileManager.default.contentsOfDirectory(atPath: segments.path).sorted()
      guard !files.isEmpty else { return }
      steps.append("\(hub.lastPathComponent) loses a file")
      try FileManager.default.removeItem(at: segments.appendingPathComponent(chance.pick(files)))
    default:
      let files = try FileManager.default.contentsOfDirectory(atPath: segments.path).sorted()
      guard !files.isEmpty else { return }
      steps.append("a file in \(hub.lastPathComponent) is cut")
      let file = segments.appendingPathComponent(chance.pick(files))
      try Data(contentsOf: file).dropLast(1 + chance.below(60)).write(to: file)
    }
    try await forgetWhatIsGone()
  }

  // MARK: What is written

  private func record(_ machine: Machine) async throws {
    let recorded = machine.recorded
    let (transactions, schema, frontier) = try await machine.magic.store.read { db in
      let journal = try JournalReader(db)
      let own = try DatabaseState(db).replica
      var transactions: [Transaction] = []
      let floor = try journal.floor(of: own)?.sequence ?? 0
      try journal.forEachTransaction(of: own, after: max(recorded[own] ?? 0, floor)) { transactions.append($0) }
      return (transactions, journal.schema.schema, [own: try journal.frontier()[own]])
    }
    machine.recorded.merge(frontier) { $1 }
    for transaction in transactions { written[transaction.name] = (transaction, schema) }
  }

  /// A backup may have what was nowhere any more.
  private func recordWhatIsBack(_ machine: Machine) async throws {
    let found = try await machine.magic.store.read { db in
      let (found, journal) = (Box<[(Transaction, Schema)]>([]), try JournalReader(db))
      try journal.forEachTransaction { found.value.append(($0, journal.schema.schema)) }
      return found.value
    }
    for (transaction, schema) in found where written[transaction.name] == nil {
      written[transaction.name] = (transaction, schema)
    }
  }

  /// What only a machine that was put back, or a hub that was ruined, had.
  private func forgetWhatIsGone() async throws {
    var (held, carried) = (Set<TransactionName>(), Set<TransactionName>())
    for machine in machines {
      held.formUnion(try await names(machine))
      for place in folders {
        let remote = remote(place, of: machine)
        guard remote.isThere else { continue }
        carried.formUnion(try remote.wholeNames())
        for floor in try remote.floors() { carried.formUnion(namesGivenUp(below: floor)) }
      }
    }
    written = written.filter { held.contains($0.key) || carried.contains($0.key) }
    // What is in files alone, beyond a hole that nobody can fill, waits for good.
    var sequences: [ReplicaID: Set<UInt64>] = [:]
    for (transaction, _) in written.values { sequences[transaction.replica, default: []].insert(transaction.sequence) }
    written = written.filter { name, entry in
      held.contains(name) || (1..<entry.0.sequence).allSatisfy { sequences[entry.0.replica]?.contains($0) == true }
    }
  }

  // MARK: The end

  private func heal() async throws {
    steps.append("all is healed")
    world.advance(10 * 86_400_000)
    for machine in machines {
      machine.skew = 0
      try await machine.reopen()
    }
    for _ in 0..<machines.count * 2 + 6 where try await syncAll() == 0 { return }
    Issue.record("the machines do not come to rest: \(story)")
  }

  /// - Returns: how much was moved.
  @discardableResult
  private func syncAll() async throws -> Int {
    var moved = 0
    for machine in machines {
      try carryAll()
      for place in places where place != machine.name {
        steps.append("\(machine.name) syncs \(place)")
        let (pull, push) = try await MagicReplicator(machine.magic, over: try way(to: place, of: machine)).sync()
        moved += pull.transactions + push.transactions + pull.assets + push.assets
      }
    }
    for machine in machines { try await record(machine) }
    return moved
  }

  private func check() async throws {
    var fold = NaiveFold()
    for (transaction, schema) in written.values { fold.add(transaction, schema) }
    let expected = fold.dump
    let digest = try await machines[0].magic.digest()
    for machine in machines {
      let dump = try await Dump(machine.magic)
      #expect(dump == expected, story)
      #expect(try await machine.magic.digest() == digest, story)
      let faults = try await DatabaseCheck(machine.magic).faults
      #expect(faults.isEmpty, "\(faults.prefix(2)) \(story)")
      let held = try await names(machine)
      let lacking = written.filter { !held.contains($0.key) }.map { "\($0.value.0.replica):\($0.value.0.sequence)" }.sorted()
      #expect(lacking.isEmpty, "\(machine.name) lacks \(lacking) \(story)")
    }
    let newcomer = Machine("newcomer", folder["newcomer"], world, isOld: false)
    try await newcomer.open()
    for place in places {
      let replicator = MagicReplicator(newcomer.magic, over: try way(to: place, of: machines[0]))
      // A server finds a damaged file when somebody wants it; whoever has what it held sends it again.
      guard try await !replicator.pull().isComplete else { continue }
      try await syncAll()
      try await replicator.pull()
    }
    #expect(try await newcomer.magic.digest() == digest, story)
  }
}

/// For closures that run one after the other.
private final class Box<Value>: @unchecked Sendable {
  var value: Value

  init(_ value: Value) {
    self.value = value
  }
}

extension FolderRemote {
  /// The names of the transactions in all files that are whole.
  fileprivate func wholeNames() throws -> Set<TransactionName> {
    var names: Set<TransactionName> = []
    for bytes in try files("segments", ".segment") {
      names.formUnion((try? Segment(bytes))?.transactions.map(\.name) ?? [])
    }
    return names
  }

  /// Of checkpoints, which are never cut here.
  fileprivate func floors() throws -> [NamedFrontier] {
    try files("checkpoints", ".checkpoint").compactMap { bytes in
      guard let length = try? CheckpointHeader.length(Array(bytes.prefix(CheckpointHeader.fixedLength))) else { return nil }
      return (try? CheckpointHeader(Array(bytes.prefix(length))))?.floor
    }
  }

  private func files(_ folder: String, _ suffix: String) throws -> [[UInt8]] {
    let folder = self.folder.appendingPathComponent(folder)
    guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(suffix) }.compactMap {
      (try? Data(contentsOf: folder.appendingPathComponent($0))).map { [UInt8]($0) }
    }
  }
}
