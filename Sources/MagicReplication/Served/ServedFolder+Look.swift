internal import Foundation
internal import MagicData
internal import MagicJournal

extension ServedFolder {
  struct State {
    /// The data set, and the file that said so.
    var dataSet: (DataSetID, in: OpenFile.State, until: ContinuousClock.Instant)?
    var look: Look?
    /// Files that turned out to be damaged when they were read (F-9).
    var damaged: [SegmentFileName: Damage] = [:]
    /// Checkpoints that were in doubt, and are whole.
    var wholeCheckpoints: [String: OpenFile.State] = [:]
    /// Files whose bytes were compared with their checksum.
    var whole: [SegmentFileName: Whole] = [:]
    /// Contents in doubt that were read, and are damaged.
    var damagedContents: [String: OpenFile.State] = [:]
    /// Names within segments, which cost their decoding.
    var names: [Address: TransactionName?] = [:]
  }

  /// What is known of the folder.
  struct Look {
    let dataSet: DataSetID
    private(set) var listing: FolderListing
    /// Up to where it goes on without a hole, and by names.
    private(set) var rows: [ReplicaID: SegmentChain] { didSet { frontier = rows.frontier } }
    private(set) var frontier: Frontier
    /// Worked out when somebody asks.
    var standing: Standing?
    /// The folder's own, at the time.
    let state: FolderState
    /// Whether nothing can have changed unseen until then: a change soon after another may leave a folder's times as they are.
    let isCertain: Bool
    /// Whether this server has written to the folder since. What others have done to it meanwhile, who may have emptied it,
    /// shows only to who lists it.
    private(set) var isOutdated = false
    let until: ContinuousClock.Instant
    private(set) var changes = 0
    /// Replicas for which checkpoints that this server has written since stand for something.
    private(set) var arrived: Set<ReplicaID> = []

    /// - Parameter now: before the folder was listed.
    init(_ dataSet: DataSetID, _ listing: FolderListing, _ state: FolderState, at now: Date) {
      (self.dataSet, self.listing, self.state) = (dataSet, listing, state)
      rows = listing.rows
      frontier = rows.frontier
      isCertain = state.isOlder(than: now)
      until = .now + ServedFolder.longest
    }

    mutating func add(_ name: SegmentFileName, _ header: SegmentHeader) {
      listing.add(name, header)
      listing.extend(&rows[name.replica, default: SegmentChain()], name.replica)
      outdate()
    }

    mutating func outdate(with replicas: Set<ReplicaID> = []) {
      (isOutdated, standing) = (true, nil)
      arrived.formUnion(replicas)
      changes += 1
    }

    mutating func reject(_ name: SegmentFileName, _ error: MagicDataError) {
      listing.reject(named: name, error)
      (rows, standing) = (listing.rows, nil)
      changes += 1
    }
  }

  struct FolderState: Equatable {
    private let folders: [OpenFile.State?]

    init(_ remote: FolderRemote) { folders = [remote.segments, remote.checkpoints].map(OpenFile.State.init(of:)) }

    func isOlder(than now: Date) -> Bool { folders.allSatisfy { $0?.isOlder(than: now) ?? true } }
  }

  /// What is wrong with a file, and with which one of its name.
  struct Damage {
    let error: MagicDataError
    let state: OpenFile.State?
  }

  struct Whole {
    let state: OpenFile.State
    let until: ContinuousClock.Instant
  }

  struct Address: Hashable {
    let file: SegmentFileName
    let sequence: UInt64
  }

  /// The folder as it is. What others have written at the very moment at which this server did shows within a second (`watch`).
  func look(_ dataSet: DataSetID, isCertain: Bool = false) throws -> Look {
    if let look = known(dataSet, isCertain) { return look }
    return try looking.withLock {
      // Somebody else may have looked meanwhile.
      if let look = known(dataSet, isCertain) { return look }
      let (now, date) = (FolderState(remote), Date())
      let earlier = state.withLock { $0.look?.dataSet == dataSet ? $0.look?.listing : nil }
      var listing = try FolderListing(remote, dataSet: dataSet, known: earlier)
      try readDoubted(&listing)
      // Who is told what is here takes it for kept. Others may have written it, and not have synced its name.
      for folder in [remote.segments, remote.checkpoints] { try DurableFile.sync(folder) }
      return state.withLock { state in
        for (name, damage) in state.damaged { listing.reject(named: name, damage.error) }
        let look = Look(dataSet, listing, now, at: date)
        state.look = look
        return look
      }
    }
  }

  /// F-16: what somebody else has found damaged, as a server that ran before, or one of another session over ssh; and what was
  /// damaged, and may have been written anew by such a one.
  private func readDoubted(_ listing: inout FolderListing) throws {
    // Who may not read what is in doubt goes by what he finds himself.
    let doubted = (try? remote.doubted()) ?? []
    for name in doubted.compactMap({ SegmentFileName($0) }) + state.withLock({ Array($0.damaged.keys) }) {
      guard let file = listing.runs[name.replica]?.files.first(where: { $0.name == name }) else { continue }
      _ = try whole(file)
    }
    for name in doubted {
      guard let checkpoint = listing.checkpoints.first(where: { $0.url.lastPathComponent == name }),
        let file = try? OpenFile(checkpoint.url)
      else { continue }
      guard state.withLock({ $0.wholeCheckpoints[name] }) != file.state, try listing.isWhole(checkpoint) else { continue }
      state.withLock { $0.wholeCheckpoints[name] = file.state }
    }
  }

  private func known(_ dataSet: DataSetID, _ isCertain: Bool) -> Look? {
    let now = FolderState(remote)
    return state.withLock { state in
      guard let look = state.look, look.dataSet == dataSet, !look.isOutdated, look.state == now,
        !isCertain || look.isCertain, look.until > .now
      else { return nil }
      return look
    }
  }
}
