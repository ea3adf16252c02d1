package import Foundation
package import MagicData
package import MagicJournal

/// A database that merges what its clients send.
package final class ServedDatabase: Served {
  package let changes = ChangeSignal()
  private let magic: MagicData
  /// The checkpoint that clients take. Who has it made is alone with that: however many ask, it takes one of the database's few
  /// long reads.
  private let (written, writing) = (Locked<WrittenCheckpoint?>(nil), Gate(places: 1))
  /// The digest that clients compare, which one at a time works out as well.
  private let (found, folding) = (Locked<FoundDigest?>(nil), Gate(places: 1))
  /// Large segments, which one at a time cuts as well.
  private let (large, cutting) = (Locked<[LargeCut]>([]), Gate(places: 1))
  /// Bytes of a segment, before compression, up to which each client has one of its own, in memory.
  private static let smallBytes = 1 << 18

  /// How many replicas clients may bring something of.
  private let mostReplicas: Int

  package convenience init(_ magic: MagicData) {
    self.init(magic, replicasAtMost: Standing.mostReplicas)
  }

  init(_ magic: MagicData, replicasAtMost most: Int) {
    (self.magic, mostReplicas) = (magic, most)
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

  package func standing(
    _ dataSet: DataSetID, comparedWith runs: [HeldRun], of client: ReplicaID, isThere: Presence = {}
  ) async throws -> Standing {
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

  package func acceptedTime(_ dataSet: DataSetID) async throws -> Int64 {
    try await magic.store.readBriefly { db in try AcceptedTime.read(db) }
  }

  package func checkpoint(
    _ dataSet: DataSetID, after frontier: Frontier, isThere: Presence = {}
  ) async throws -> ServedCheckpoint? {
    let store = magic.store
    @Sendable func isNeeded(_ floor: Frontier) -> Bool { floor.replicas.contains { frontier[$0] < floor[$0] } }
    // Who needs none does not wait for others.
    let floor = try await store.readBriefly { db in try JournalIndex(db).floor().frontier }
    guard isNeeded(floor) else { return nil }
    try await writing.enter()
    defer { writing.leave() }
    try isThere()
    return try await store.read { [written] db in
      let journal = try JournalReader(db)
      let floor = try journal.floor()
      guard isNeeded(floor.frontier) else { return nil }
      try store.syncToDisk(db)
      // Two of one floor say the same (K-10).
      if let there = try written.withLock({ try $0?.served(dataSet, floor) }) { return there }
      let spool = try Spool()
      let file = try CheckpointFile.write(journal, DatabaseState(db), dataSet, into: spool.folder)
      written.withLock { $0 = WrittenCheckpoint(dataSet: dataSet, file: file, spool: spool) }
      return try ServedCheckpoint(file, spool)
    }
  }

  package func acknowledged(
    _ dataSet: DataSetID, _ said: Data, by client: ReplicaID, atMost limit: Int,
    before keeping: @Sendable @escaping () throws -> Void = {}, isThere: Presence = {}
  ) async throws -> [Data] {
    let file = AckFile(said, of: client, dataSet)
    // W-4: the rest of it makes no id anybody's.
    if file?.members[client]?.acknowledged != nil { try await offPool(keeping) }
    let store = magic.store
    let held = try await store.readBriefly { db in
      let journal = JournalIndex(db)
      return try journal.named(journal.frontier())
    }
    // Whoever says what that folds to there wants to know whether it does here (K-21).
    let isAsked = file?.members[client]?.acknowledged.map { $0.digest != nil && $0.frontier == held } ?? false
    let digest = isAsked ? try await digestToSay(of: held, isThere: isThere) : nil
    do {
      try await keep(file, held, digest, closing: true)
    } catch let error as MagicDataError where error.cause is TooManyReplicas {
      // There is no room for the ids that closings would move something to; they are said again and again.
      try await keep(file, held, digest, closing: false)
    }
    return try await store.read { db in
      try store.syncToDisk(db)
      let members = try Members(db)
      return try (file ?? AckFile(replica: client, members: [:])).news(
        among: members.all.values, closings: members.closings, acceptedTime: members.acceptedTime, names: members.names.all,
        dataSet, atMost: limit)
    }
  }

  /// Keeps what a client says, and says what is held.
  ///
  /// - Parameter closing: whether to take its closings.
  private func keep(_ file: AckFile?, _ held: NamedFrontier, _ digest: Identifier?, closing: Bool) async throws {
    try await magic.storeMembers(replicasAtMost: mostReplicas) { members, now, db in
      if let file { members.learn(file, closing: closing) }
      try members.acknowledge(held, digest: digest, at: now, heldIn: db)
    }
  }

  /// What the database folds to, if it has not said that of this frontier. What cannot be read here is nothing to a client, who
  /// has what it came for.
  private func digestToSay(of held: NamedFrontier, isThere: Presence) async throws -> Identifier? {
    guard try await magic.store.read({ db in try Members(db).digest(of: held) }) == nil else { return nil }
    do {
      return try await digest(of: held.frontier, isThere: isThere)
    } catch let error as MagicDataError where error.code == .notADatabase {
      return nil
    }
  }

  /// What the database folds to, if it holds just what a frontier says. To find that it reads everything, so one at a time does
  /// it for all who ask; whoever asks for what is not held waits for nobody.
  private func digest(of frontier: Frontier, isThere: Presence) async throws -> Identifier? {
    guard try await self.frontier() == frontier else { return nil }
    try await folding.enter()
    defer { folding.leave() }
    try isThere()
    return try await magic.store.read { [found] db in
      let row = try DatabaseState(db).lastRow
      if let known = found.withLock({ $0 }), known.frontier == frontier, known.row == row, known.until > .now {
        return known.digest
      }
      guard let digest = try JournalReader(db).digest(at: frontier) else { return nil }
      found.withLock { $0 = FoundDigest(frontier: frontier, row: row, digest: digest, until: .now + FoundDigest.trust) }
      return digest
    }
  }

  package func segments(
    _ dataSet: DataSetID, after frontier: Frontier, isThere: Presence = {},
    _ take: @Sendable (ServedSegment) async throws -> Void
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
        let (segment, last) = try await cut(dataSet, writer, replica, run, isThere: isThere)
      {
        try await take(segment)
        next = last + 1
      }
    }
    return []
  }

  /// The first segment of a run, and where that ends; `nil` if nothing of it is here.
  private func cut(
    _ dataSet: DataSetID, _ writer: ReplicaID, _ replica: ReplicaID, _ run: ClosedRange<UInt64>, isThere: Presence
  ) async throws -> (ServedSegment, last: UInt64)? {
    let (small, isLarge): (SegmentCutter.Cut?, Bool) = try await magic.store.read { db in
      let cutter = SegmentCutter(dataSet: dataSet, writer: writer, journal: try JournalReader(db))
      do {
        return (try cutter.cutNow(replica, run, atMost: ServedDatabase.smallBytes), false)
      } catch is SegmentCutter.IsLarge {
        return (nil, true)
      }
    }
    if let small {
      let (header, body) = (Array(small.bytes[..<SegmentHeader.length]), small.bytes[SegmentHeader.length...])
      return (ServedSegment(name: small.name, header: header, body: .bytes(body)), small.run.upperBound)
    }
    // Who wants little does not wait for others.
    guard isLarge, let cut = try await largeCut(dataSet, writer, replica, run, isThere: isThere) else { return nil }
    let header = try cut.file.bytes(at: 0, SegmentHeader.length)
    return (ServedSegment(name: cut.name, header: header, body: .file(cut.file)), cut.last)
  }

  private func largeCut(
    _ dataSet: DataSetID, _ writer: ReplicaID, _ replica: ReplicaID, _ run: ClosedRange<UInt64>, isThere: Presence
  ) async throws -> (name: String, last: UInt64, file: OpenFile)? {
    try await cutting.enter()
    defer { cutting.leave() }
    try isThere()
    return try await magic.store.read { [large] db in
      let journal = try JournalReader(db)
      let cutter = SegmentCutter(dataSet: dataSet, writer: writer, journal: journal)
      try cutter.checkIsKept(run, of: replica)
      for there in large.withLock({ $0 }) {
        let header = there.header
        guard header.dataSet == dataSet, header.writer == writer, header.replica == replica, header.first == run.lowerBound,
          let file = there.file, try journal.name(at: header.last, of: replica) == header.lastName
        else { continue }
        return (there.name, header.last, file)
      }
      guard let cut = try cutter.cutNow(replica, run) else { return nil }
      let made = try LargeCut.make(cut)
      large.withLock { cuts in cuts = cuts.filter { $0.file != nil } + [made.cut] }
      return (cut.name, cut.run.upperBound, made.file)
    }
  }

  package func inbox(_ dataSet: DataSetID) throws -> any Inbox { try DatabaseInbox(magic, dataSet, mostReplicas) }

  package func contents(_ digits: Set<String>, isThere: Presence = {}) async throws -> [String: URL] {
    let assets = magic.store.assets
    return try await magic.store.read { db in
      var files: [String: URL] = [:]
      let schema = try StoredSchema(db)
      let unsent = try UnsentAssets(db).names.filter { digits.contains(AssetContent.digits(of: $0)) }
      for name in try digits.reduce(into: unsent, { try $0.formUnion(schema.assetNames(of: $1, db)) }) {
        let own = AssetContent.digits(of: name)
        guard digits.contains(own), case let file = assets.place(of: name), ChunkReader.length(of: file) != nil else {
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

  package func digest(at frontier: Frontier, isThere: Presence = {}) async throws -> String? {
    try await digest(of: frontier, isThere: isThere)?.description
  }

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

/// A checkpoint that clients are taking. However many they are, and however slow, it is one file.
private struct WrittenCheckpoint {
  let dataSet: DataSetID
  let file: CheckpointFile
  /// It goes with the last of them.
  weak var spool: Spool?

  func served(_ dataSet: DataSetID, _ floor: NamedFrontier) throws -> ServedCheckpoint? {
    guard dataSet == self.dataSet, floor == file.floor, let spool, OpenFile.State(of: file.url) != nil else { return nil }
    return try ServedCheckpoint(file, spool)
  }
}

/// A large segment that clients are taking. However many they are, and however slow, it is one file, and nothing of it is in
/// memory.
private struct LargeCut {
  let name: String
  /// Tells whether it is of the same journal still: who leaves an id to another branch (J-33) has other transactions there.
  let header: SegmentHeader
  /// It goes with the last of them.
  weak var file: OpenFile?

  /// The file has no name by then, so nothing is left of it, whatever ends this process.
  static func make(_ cut: SegmentCutter.Cut) throws -> (cut: LargeCut, file: OpenFile) {
    let scratch = try ScratchFolder("segment")
    defer { scratch.remove() }
    let writer = try ChunkWriter(named: scratch.url.appendingPathComponent(cut.name))
    try cut.bytes.withUnsafeBytes { try writer.append($0) }
    let file = try OpenFile(writer.finish(isDurable: false))
    return (LargeCut(name: cut.name, header: try SegmentHeader(cut.bytes), file: file), file)
  }
}

/// What a database folds to.
private struct FoundDigest {
  let frontier: Frontier
  /// The journal's last one.
  let row: Int64
  let digest: Identifier
  /// What a disk does to the database meanwhile does not show (L-25), so it is found anew after a while.
  let until: ContinuousClock.Instant

  static let trust = Duration.seconds(600)
}

/// Segments wait in a spool until they are merged, in one transaction.
private final class DatabaseInbox: Inbox {
  private let magic: MagicData
  private let dataSet: DataSetID
  private let mostReplicas: Int
  private let spool: Spool
  /// Contents that are to be given their names.
  private let arrived = Locked(Set<String>())
  /// Whether there is something to merge, as contents of a session that ended before it settled may be, to which a row has
  /// come.
  private let isFilled = Locked(true)

  init(_ magic: MagicData, _ dataSet: DataSetID, _ mostReplicas: Int) throws {
    (self.magic, self.dataSet, self.mostReplicas) = (magic, dataSet, mostReplicas)
    spool = try Spool()
  }

  var folder: FolderRemote { spool.folder }
  var isDurable: Bool { false }

  var contents: FolderRemote { magic.store.assets.incoming }

  func received(_ name: SegmentFileName, _ header: SegmentHeader) { isFilled.withLock { $0 = true } }
  func receivedCheckpoint(_ name: String, _ replicas: Set<ReplicaID>) { isFilled.withLock { $0 = true } }
  func received(_ digits: String) { _ = arrived.withLock { $0.insert(digits) } }

  /// Merges the spool.
  private func merge(_ runs: [HeldRun]) async throws {
    var held = Frontier()
    for run in runs { held[run.replica] = run.last }
    let report = try await MagicReplicator(magic, over: folder).merge(
      IncomingSegments(folder, held: held, replicasAtMost: mostReplicas), of: dataSet, contents: contents)
    // What there is no room for (J-15) is not held, which the standing says. What cannot be read of contents is no fault of the
    // rows: who brings it again replaces it.
    if let file = report.unread.first(where: { $0.code != .tooLarge && !$0.path.hasPrefix(contents.folder.path) }) {
      throw MagicDataError(file.code, file.message)
    }
    try await forgetNamed()
  }

  /// Forgets the contents that came before and have their names by now. What cannot be looked at stays.
  private func forgetNamed() async throws {
    let (contents, assets) = (contents, magic.store.assets)
    let left = try await offPool { (try? contents.contents()) ?? [] }
    guard !left.isEmpty else { return }
    let named = try await magic.store.read { db in
      let schema = try StoredSchema(db)
      return try left.filter { digits in
        let names = try schema.assetNames(of: digits, db)
        return !names.isEmpty && assets.lacking(names).isEmpty
      }
    }
    try await offPool { for digits in named { contents.forget(digits) } }
  }

  func settle(_ runs: [HeldRun]) async throws {
    // After contents alone there is nothing more, and what it takes to find that grows with the database.
    if isFilled.withLock({ $0 }) { try await merge(runs) }
    isFilled.withLock { $0 = false }
    let store = magic.store
    // Acknowledged is what is on the disk (L-13).
    try await store.read { db in try store.syncToDisk(db) }
    let (contents, arrived) = (contents, arrived.withLock { $0 })
    self.arrived.withLock { $0 = [] }
    // What no row names was let go of before it came, and who sent it keeps it no longer (F-15). What a row names since the
    // pull has looked was not lacking then.
    let (unnamed, named) = try await store.read { db in
      guard !arrived.isEmpty else { return (Set<String>(), Set<String>()) }
      let schema = try StoredSchema(db)
      let names = try arrived.reduce(into: Set<String>()) { try $0.formUnion(schema.assetNames(of: $1, db)) }
        .filter { arrived.contains(AssetContent.digits(of: $0)) }
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
