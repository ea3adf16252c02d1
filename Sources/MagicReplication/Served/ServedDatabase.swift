package import Foundation
package import MagicData
package import MagicJournal

/// A database that merges what its clients send.
package final class ServedDatabase: Served {
  package let changes = ChangeSignal()
  private let magic: MagicData

  package init(_ magic: MagicData) {
    self.magic = magic
  }

  package var text: String { magic.store.location?.file.path ?? "the database" }

  private func state() async throws -> DatabaseState {
    try await magic.store.readBriefly { db in try DatabaseState(db) }
  }

  package func replica() async throws -> ReplicaID? {
    try await magic.store.assureReplica()
    return try await state().replica
  }

  package func dataSet() async throws -> DataSetID? {
    let state = try await state()
    if state.isSettled { return state.dataSet }
    // What it holds is of its own data set, which others are about to take.
    return state.lastRow > 0 ? try await make(state.dataSet) : nil
  }

  package func make(_ dataSet: DataSetID) async throws -> DataSetID {
    try await magic.store.write { db in
      let state = try DatabaseState(db)
      if state.isSettled { return state.dataSet }
      try DatabaseState.settle(dataSet, db)
      return dataSet
    }
  }

  package func standing(_ dataSet: DataSetID, comparedWith runs: [HeldRun], of client: ReplicaID) async throws -> Standing {
    let store = magic.store
    let standing: Standing = try await store.readBriefly { db in
      let journal = JournalIndex(db)
      // The same look from the other side. What others wrote under the own id comes with their segments, and is left then.
      let theirs = Standing(runs.filter { $0.replica != client }.map { Standing.Part($0) })
      let found = try theirs.difference(own: DatabaseState(db).replica, journal.frontier()) { try journal.name(at: $0, of: $1) }
      // Of two floors the client has to see for itself (K-20).
      let floor = try journal.floor().frontier
      for replica in found.forked where runs.contains(where: { $0.replica == replica && $0.last > floor[replica] }) {
        throw MagicDataError.fork(replica)
      }
      return Standing(try journal.heldRuns().map { Standing.Part($0) })
    }
    // Who is told what is here takes it for kept (L-13): on the disk, and in a file that somebody finds.
    try await store.read { db in try store.syncToDisk(db) }
    try store.checkIsInPlace()
    return standing
  }

  package func checkpoint(_ dataSet: DataSetID, after frontier: Frontier) async throws -> ServedCheckpoint? {
    let store = magic.store
    return try await store.read { db in
      let journal = try JournalReader(db)
      let floor = try journal.floor().frontier
      guard floor.replicas.contains(where: { frontier[$0] < floor[$0] }) else { return nil }
      try store.syncToDisk(db)
      let spool = try Spool()
      return ServedCheckpoint(try CheckpointFile.write(journal, DatabaseState(db), dataSet, into: spool.folder), spool)
    }
  }

  package func acknowledged(_ dataSet: DataSetID, _ said: Data, by client: ReplicaID) async throws -> [Data] {
    let file = AckFile(said, of: client, dataSet)
    let store = magic.store
    let held = try await store.readBriefly { db in
      let journal = JournalIndex(db)
      return try journal.named(journal.frontier())
    }
    // Whoever says what that folds to there wants to know whether it does here (K-21).
    let isAsked = file?.members[client]?.acknowledged.map { $0.digest != nil && $0.frontier == held } ?? false
    let digest = isAsked ? try await digest(of: held) : nil
    try await magic.storeMembers { members, now in
      if let file { members.learn(file) }
      members.acknowledge(held, digest: digest, at: now)
    }
    return try await store.read { db in
      try store.syncToDisk(db)
      let members = try Members(db)
      return try (file ?? AckFile(replica: client, members: [:])).news(
        among: members.all.values, closings: members.closings, acceptedTime: members.acceptedTime, dataSet)
    }
  }

  /// What the database folds to, if it has not said that of this frontier. What cannot be read here is nothing to a client, who has what it came for.
  private func digest(of held: NamedFrontier) async throws -> Identifier? {
    try await magic.store.read { db in
      guard try Members(db).digest(of: held) == nil else { return nil }
      do {
        return try JournalReader(db).digest(at: held.frontier)
      } catch let error as MagicDataError where error.code == .notADatabase {
        return nil
      }
    }
  }

  package func segments(
    _ dataSet: DataSetID, after frontier: Frontier, _ take: @Sendable (ServedSegment) async throws -> Void
  ) async throws -> [String] {
    let store = magic.store
    let (held, writer) = try await store.read { db in
      // What it holds is on the disk before anybody else has it (J-21).
      try store.syncToDisk(db)
      return (try JournalIndex(db).frontier(), try DatabaseState(db).replica)
    }
    for replica in held.replicas {
      var next = frontier[replica] + 1
      // Each segment is a read of its own: a slow client holds no snapshot open.
      while next <= held[replica], case let run = next...held[replica],
        let cut = try await store.read({ db in
          try SegmentCutter(dataSet: dataSet, writer: writer, journal: JournalReader(db)).cutNow(replica, run)
        })
      {
        let header = Array(cut.bytes[..<SegmentHeader.length])
        try await take(ServedSegment(name: cut.name, header: header, body: .bytes(cut.bytes[SegmentHeader.length...])))
        next = cut.run.upperBound + 1
      }
    }
    return []
  }

  package func inbox(_ dataSet: DataSetID) throws -> any Inbox { try DatabaseInbox(magic, dataSet) }

  package func contents(_ digits: Set<String>) async throws -> [String: URL] {
    let assets = magic.store.assets
    return try await magic.store.read { db in
      var files: [String: URL] = [:]
      let schema = try StoredSchema(db)
      let unsent = try UnsentAssets(db).names.filter { digits.contains(AssetContent.digits(of: $0)) }
      for name in try digits.reduce(into: unsent, { try $0.formUnion(schema.assetNames(of: $1, db)) }) {
        let own = AssetContent.digits(of: name)
        guard digits.contains(own), case let file = assets.place(of: name), PieceReader.length(of: file) != nil else {
          continue
        }
        files[own] = file
      }
      return files
    }
  }

  /// An own asset is mended where it is.
  package func doubt(content digits: String) {}

  package func frontier() async throws -> Frontier {
    try await magic.store.readBriefly { db in try JournalIndex(db).frontier() }
  }

  package func replicas() async throws -> Set<ReplicaID> { try await Set(frontier().replicas) }

  package func digest(at frontier: Frontier) async throws -> String? { try await magic.digest(at: frontier) }

  package func watch() async throws {
    let store = magic.store
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await store.waitUntilDisplaced() }
      group.addTask { await self.tellCommits() }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private func tellCommits() async {
    // Commits of other processes as well, and those that merge what clients send.
    while !Task.isCancelled, !magic.store.isClosed {
      do {
        let row = try await magic.store.lastRow()
        changes.tell()
        try await magic.store.waitForCommit(after: row)
      } catch {
        try? await Task.sleep(for: .seconds(1))
      }
    }
  }
}

/// Segments wait in a spool until they are merged, in one transaction.
private final class DatabaseInbox: Inbox {
  private let magic: MagicData
  private let dataSet: DataSetID
  private let spool: Spool
  /// Contents that are to be given their names.
  private let arrived = Locked(Set<String>())

  init(_ magic: MagicData, _ dataSet: DataSetID) throws {
    self.magic = magic
    self.dataSet = dataSet
    spool = try Spool()
  }

  var folder: FolderRemote { spool.folder }
  var isDurable: Bool { false }

  var contents: FolderRemote { magic.store.assets.incoming }

  func received(_ name: SegmentFileName, _ header: SegmentHeader) {}
  func receivedCheckpoint(_ name: String) {}
  func received(_ digits: String) { _ = arrived.withLock { $0.insert(digits) } }

  func settle(_ runs: [HeldRun]) async throws {
    var held = Frontier()
    for run in runs { held[run.replica] = run.last }
    let report = try await MagicReplicator(magic, over: folder).merge(
      Arrivals(folder, held: held), of: dataSet, contents: contents)
    // What there is no room for (J-15) is not held, which the standing says.
    if let file = report.unread.first(where: { $0.code != .tooLarge }) { throw MagicDataError(file.code, file.message) }
    let store = magic.store
    // Acknowledged is what is on the disk (L-13).
    try await store.read { db in try store.syncToDisk(db) }
    let (contents, arrived) = (contents, arrived.withLock { $0 })
    self.arrived.withLock { $0 = [] }
    // What no row names was let go of before it came, and who sent it keeps it no longer (F-15). What a row names since the pull has looked was not lacking then.
    let (unnamed, named) = try await store.read { db in
      guard !arrived.isEmpty else { return (Set<String>(), Set<String>()) }
      let names = try StoredSchema(db).assetNames(db).filter { arrived.contains(AssetContent.digits(of: $0)) }
      return (arrived.subtracting(names.map(AssetContent.digits)), names)
    }
    var kept = PullReport()
    try await store.fetchAssets(store.assets.lacking(named), from: .folder(contents), &kept)
    try await store.fetchAssets(unnamed.sorted(), from: .folder(contents), &kept, areUnsent: true)
    let fault = kept.unread.first
    try await offPool { [spool] in
      // What could only not be read stays, for who goes on with it.
      if fault.map({ $0.code == .damaged }) ?? true {
        for digits in arrived { contents.forget(digits) }
      }
      try spool.empty()
    }
    if let fault { throw MagicDataError(fault.code, fault.message) }
    try store.checkIsInPlace()
  }
}
