internal import Foundation
internal import MagicData
internal import MagicJournal

/// What the acknowledgements in a folder say, each by who wrote it.
struct FolderAcknowledgements: Sendable {
  let dataSet: DataSetID
  private(set) var files: [ReplicaID: AckFile] = [:]

  /// What they say together.
  private var together = FolderMembers()

  init(dataSet: DataSetID) {
    self.dataSet = dataSet
  }

  var acceptedTime: Int64 { together.acceptedTime }
  var closings: [ReplicaID: UInt64] { together.closings }

  fileprivate mutating func take(_ file: AckFile) {
    files[file.replica] = file
    together.learn(file)
  }

  /// For each replica the last sequence that somebody says to have put here himself (K-7), unless he is expired or less is known of him since (J-31).
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
    for name in try listing(of: acks) {
      guard let replica = AckFile.replica(ofName: name) else { continue }
      if let file = AckFile(acks.appendingPathComponent(name), of: replica, dataSet) { said.take(file) }
    }
    return said
  }

  /// The same of one replica.
  func acknowledged(_ dataSet: DataSetID, by replica: ReplicaID) -> AckFile? {
    isOwnFolder(acks) ? AckFile(acks.appendingPathComponent(AckFile.name(of: replica)), of: replica, dataSet) : nil
  }

  func write(_ file: AckFile, _ dataSet: DataSetID) throws {
    try write(acknowledgement: file.bytes(dataSet, atMost: AckFile.maxBytes), of: file.replica)
  }

  /// The same as bytes, unless the file is there and holds just these.
  func write(acknowledgement bytes: Data, of replica: ReplicaID) throws {
    let file = acks.appendingPathComponent(AckFile.name(of: replica))
    if let there = try? DurableFile.read(file, atMost: bytes.count), there.elementsEqual(bytes) { return }
    try makeOwn(acks)
    try DurableFile.write(bytes, to: file)
  }
}

/// What the acknowledgements in a folder say together. Of many only those are read that have changed.
struct FolderMembers: Sendable {
  private(set) var all: [ReplicaID: MemberReplica] = [:]
  private(set) var closings: [ReplicaID: UInt64] = [:]
  private(set) var acceptedTime: Int64 = 0
  private var dataSet: DataSetID?
  private var seen: [String: OpenFile.State] = [:]

  mutating func look(_ remote: FolderRemote, _ dataSet: DataSetID) throws {
    var there: [String: OpenFile.State] = [:]
    for name in remote.isOwnFolder(remote.acks) ? try remote.listing(of: remote.acks) : [] {
      if AckFile.replica(ofName: name) != nil { there[name] = OpenFile.State(of: remote.acks.appendingPathComponent(name)) }
    }
    // What was taken away is forgotten, and so is all that was said of another data set.
    if self.dataSet != dataSet || seen.keys.contains(where: { there[$0] == nil }) {
      (self.dataSet, seen, all, closings, acceptedTime) = (dataSet, [:], [:], [:], 0)
    }
    for (name, state) in there where seen[name] != state {
      seen[name] = state
      guard let replica = AckFile.replica(ofName: name) else { continue }
      if let file = AckFile(remote.acks.appendingPathComponent(name), of: replica, dataSet) { learn(file) }
    }
  }

  /// One that was just written.
  mutating func take(_ file: AckFile, in remote: FolderRemote) {
    let name = AckFile.name(of: file.replica)
    seen[name] = OpenFile.State(of: remote.acks.appendingPathComponent(name))
    learn(file)
  }

  fileprivate mutating func learn(_ file: AckFile) {
    for member in file.members.values where all[member.replica] != nil || all.count < Members.most {
      _ = all[member.replica, default: MemberReplica(member.replica)].learn(member)
    }
    closings.merge(file.closings, uniquingKeysWith: min)
    acceptedTime = max(acceptedTime, file.acceptedTime)
  }
}
