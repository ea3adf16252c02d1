internal import Foundation
internal import MagicData
internal import MagicJournal

/// What the acknowledgements in a folder say, each by who wrote it.
struct FolderAcknowledgements: Sendable {
  let dataSet: DataSetID
  private(set) var files: [ReplicaID: AckFile] = [:]

  /// What they say together. The files bound it, and nothing else: what some of them name must not hide what others do.
  private var together = FolderMembers(endsAtMost: .max)

  init(dataSet: DataSetID) {
    self.dataSet = dataSet
  }

  var acceptedTime: Int64 { together.acceptedTime }
  var closings: [ReplicaID: UInt64] { together.closings }
  /// The files by their writers' ids: where there is no room for all that they say, it must not be chance who has it (K-8).
  var inOrder: [AckFile] { files.values.sorted { $0.replica < $1.replica } }

  fileprivate mutating func take(_ file: AckFile) {
    files[file.replica] = file
    together.learn(file)
  }

  /// For each replica the last sequence that somebody says to have put here himself (K-7), unless he is expired or less is
  /// known of him since (J-31).
  var put: Frontier {
    var put = Frontier()
    for (writer, file) in files {
      guard let member = together.all[writer], !member.isExpired else { continue }
      let since = member.acknowledged?.frontier.frontier ?? Frontier()
      for (replica, last) in file.members[writer]?.ends(within: together.closings) ?? [] {
        put[replica] = max(put[replica], min(last, since[replica]))
      }
    }
    return put
  }
}

extension FolderRemote {
  /// What replicas say of themselves and of others, as far as it can be read.
  ///
  /// - Throws: `MagicDataError` with `notAllowed` if nothing of it can.
  func acknowledged(_ dataSet: DataSetID) throws -> FolderAcknowledgements {
    var said = FolderAcknowledgements(dataSet: dataSet)
    if let obstacle = obstacle(acks) { throw obstacle }
    guard isOwnFolder(acks) else { return said }
    for name in try listing(of: acks).sorted() {
      guard let replica = AckFile.replica(ofName: name) else { continue }
      if let file = AckFile(acks.appendingPathComponent(name), of: replica, dataSet) { said.take(file) }
    }
    return said
  }

  /// What one replica has acknowledged.
  func acknowledged(_ dataSet: DataSetID, by replica: ReplicaID) -> AckFile? {
    isOwnFolder(acks) ? AckFile(acks.appendingPathComponent(AckFile.name(of: replica)), of: replica, dataSet) : nil
  }

  func write(_ file: AckFile, _ dataSet: DataSetID) throws {
    try write(acknowledgement: file.bytes(dataSet, atMost: AckFile.maxBytes), of: file.replica)
  }

  /// Writes an acknowledgement that is encoded already, unless the file is there and holds just these bytes.
  func write(acknowledgement bytes: Data, of replica: ReplicaID) throws {
    let file = acks.appendingPathComponent(AckFile.name(of: replica))
    if let there = try? DurableFile.read(file, atMost: bytes.count), there.elementsEqual(bytes) { return }
    try makeOwn(acks)
    try DurableFile.write(bytes, to: file)
  }
}

/// What the acknowledgements in a folder say together. Of many only those are read that have changed.
struct FolderMembers: Sendable {
  private var known: KnownMembers
  private(set) var closings: [ReplicaID: UInt64] = [:]
  private(set) var acceptedTime: Int64 = 0
  private(set) var names = ReplicaNames()
  private var dataSet: DataSetID?
  private var seen: [String: OpenFile.State] = [:]
  /// When the last look began.
  private var looked: ContinuousClock.Instant?

  init(endsAtMost most: Int = KnownMembers.mostEnds) {
    known = KnownMembers(endsAtMost: most)
  }

  var all: [ReplicaID: MemberReplica] { known.all }

  func wasLookedAt(_ dataSet: DataSetID, within time: Duration) -> Bool {
    self.dataSet == dataSet && (looked.map { $0 + time > .now } ?? false)
  }

  mutating func look(_ remote: FolderRemote, _ dataSet: DataSetID) throws {
    let now = ContinuousClock.now
    var there: [String: OpenFile.State] = [:]
    for name in remote.isOwnFolder(remote.acks) ? try remote.listing(of: remote.acks) : [] {
      if AckFile.replica(ofName: name) != nil { there[name] = OpenFile.State(of: remote.acks.appendingPathComponent(name)) }
    }
    // What was taken away is forgotten, and so is all that was said of another data set.
    if self.dataSet != dataSet || seen.keys.contains(where: { there[$0] == nil }) {
      (self.dataSet, seen, known, closings, acceptedTime) = (dataSet, [:], KnownMembers(), [:], 0)
      names = ReplicaNames()
    }
    for (name, state) in there.filter({ seen[$0.key] != $0.value }).sorted(by: { $0.key < $1.key }) {
      seen[name] = state
      guard let replica = AckFile.replica(ofName: name) else { continue }
      if let file = AckFile(remote.acks.appendingPathComponent(name), of: replica, dataSet) {
        learn(file, closingsAtMost: Members.most)
      }
    }
    looked = now
  }

  /// One that was just written.
  mutating func take(_ file: AckFile, in remote: FolderRemote) {
    let name = AckFile.name(of: file.replica)
    seen[name] = OpenFile.State(of: remote.acks.appendingPathComponent(name))
    learn(file, closingsAtMost: Members.most)
  }

  /// - Parameter most: of ids that are closed. Who looks once learns of as many as the files have; who goes on looking would of
  ///   ever more.
  fileprivate mutating func learn(_ file: AckFile, closingsAtMost most: Int = .max) {
    for member in file.members.values.sorted(by: { $0.replica < $1.replica }) { known.learn(member) }
    for (replica, last) in file.closings.sorted(by: { $0.key < $1.key })
    where closings[replica] != nil || closings.count < most {
      closings[replica] = min(last, closings[replica] ?? last)
    }
    acceptedTime = max(acceptedTime, file.acceptedTime)
    names.learn(file.names)
  }
}
