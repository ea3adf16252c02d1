internal import Foundation
internal import MagicData
internal import MagicJournal

/// What a replica says in a folder of itself and of those that it heard of (K-6).
struct AckFile: Equatable, Sendable {
  let replica: ReplicaID
  /// By replica, its own among them.
  var members: [ReplicaID: MemberReplica]
  /// The last sequences that are everybody's, of ids under which two databases have written (J-33).
  var closings: [ReplicaID: UInt64] = [:]
  /// Up to which time stamps are accepted (C-5); 0 if nobody has said so.
  var acceptedTime: Int64 = 0
  /// What people call replicas (K-25).
  var names: [ReplicaID: ReplicaName] = [:]

  private static let format = 1
  private static let suffix = ".json"
  /// A larger file is not an acknowledgement: nobody writes one.
  static let maxBytes = 1 << 24
  /// So many closings, and names, are said and believed at most: copies of databases that nothing told make fewer, and people
  /// give fewer.
  private static let mostSaid = 10_000
  /// Up to the end of the year 9999 (C-4).
  static let times = 0...Stamp.latest.milliseconds

  static func name(of replica: ReplicaID) -> String { replica.description + suffix }

  /// Whose file a name is; `nil` for one that is none of ours.
  static func replica(ofName name: String) -> ReplicaID? {
    guard name.hasSuffix(suffix) else { return nil }
    return Identifier(name.dropLast(suffix.count))
  }

  /// Whose acknowledgement bytes are, if they are one.
  init?(_ bytes: Data, _ dataSet: DataSetID) {
    guard let content = try? JSONDecoder().decode(Content.self, from: bytes) else { return nil }
    self.init(content, dataSet)
  }

  private struct Content: Codable {
    struct Acknowledged: Codable {
      let time: Int64
      let frontier: [String: String]
      /// Not there if it was not looked at.
      var digest: String?
    }

    struct Named: Codable {
      let time: Int64
      let name: String
    }

    let format: Int
    let dataSet: String
    let replica: String
    let acknowledged: [String: Acknowledged]
    let expired: [String: Int64]
    /// Not there if there are none.
    var closed: [String: String]?
    var accepted: Int64?
    var names: Label<[String: Label<Named>]>?
  }

  /// What keeps nothing else from being read, whatever it is.
  private struct Label<Said: Codable>: Codable {
    let said: Said?

    init(_ said: Said) {
      self.said = said
    }

    init(from decoder: any Decoder) throws {
      said = try? decoder.singleValueContainer().decode(Said.self)
    }

    func encode(to encoder: any Encoder) throws { try said.encode(to: encoder) }
  }

  func bytes(_ dataSet: DataSetID) throws -> Data {
    var content = (acknowledged: [String: Content.Acknowledged](), expired: [String: Int64]())
    for member in members.values {
      if let acknowledged = member.acknowledged {
        var frontier: [String: String] = [:]
        for replica in acknowledged.frontier.replicas {
          frontier[replica.description] = acknowledged.frontier[replica].map(AckFile.text)
        }
        content.acknowledged[member.replica.description] = .init(
          time: acknowledged.time, frontier: frontier, digest: acknowledged.digest?.description)
      }
      content.expired[member.replica.description] = member.expired
    }
    var closed: [String: String] = [:]
    for (replica, last) in AckFile.some(closings) { closed[replica.description] = last.digits }
    var names: [String: Label<Content.Named>] = [:]
    for (replica, name) in AckFile.some(self.names) {
      names[replica.description] = Label(Content.Named(time: name.time, name: name.text))
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(
      Content(
        format: AckFile.format, dataSet: dataSet.description, replica: replica.description, acknowledged: content.acknowledged,
        expired: content.expired, closed: closed.isEmpty ? nil : closed, accepted: acceptedTime == 0 ? nil : acceptedTime,
        names: names.isEmpty ? nil : Label(names)))
  }

  /// What is known of members and this does not say, each as its own file would say it.
  ///
  /// - Parameter limit: of the bytes of all of them. What has no room there is left out, and not made first.
  func news(
    among members: some Sequence<MemberReplica>, closings: [ReplicaID: UInt64], acceptedTime: Int64,
    names: [ReplicaID: ReplicaName] = [:], _ dataSet: DataSetID, atMost limit: Int
  ) throws -> [Data] {
    var (all, room) = ([Data](), limit)
    func say(_ file: AckFile) throws {
      let bytes = try file.bytes(dataSet)
      guard bytes.count + AckFile.around <= room else { return }
      room -= bytes.count + AckFile.around
      all.append(bytes)
    }
    // Whoever says them. They come first.
    let lower = closings.filter { $0.value < self.closings[$0.key] ?? .max }
    if !lower.isEmpty || acceptedTime > self.acceptedTime {
      try say(AckFile(replica: replica, members: [:], closings: lower, acceptedTime: acceptedTime))
    }
    for member in members.sorted(by: { $0.replica < $1.replica }) {
      guard AckFile.leastBytes(of: member) <= room else { continue }
      var known = self.members[member.replica] ?? MemberReplica(member.replica)
      if known.learn(member) { try say(AckFile(replica: member.replica, members: [member.replica: member])) }
    }
    let later = names.filter { replica, name in self.names[replica].map { $0 < name } ?? true }
    let labels = AckFile.some(of: later, in: room - AckFile.leastBytes(of: MemberReplica(replica)) - AckFile.around)
    if !labels.isEmpty { try say(AckFile(replica: replica, members: [:], names: labels)) }
    return all
  }

  /// The bytes that each file's length takes, where several are sent.
  private static let around = 8

  /// Fewer than a file takes that says one member alone: two ids and the data set's, and of each end an id, a sequence and a
  /// name with what is around them.
  private static func leastBytes(of member: MemberReplica) -> Int { 160 + 78 * (member.acknowledged?.frontier.count ?? 0) }

  /// As many names as have room in so many bytes, those of the lowest ids.
  private static func some(of names: [ReplicaID: ReplicaName], in room: Int) -> [ReplicaID: ReplicaName] {
    var room = room
    var some: [ReplicaID: ReplicaName] = [:]
    for (replica, name) in names.sorted(by: { $0.key < $1.key }) {
      // An id and a time with what is around them, and each byte of the text escaped.
      room -= 100 + 2 * name.text.utf8.count
      guard room >= 0 else { break }
      some[replica] = name
    }
    return some
  }

  /// The file in no more than so many bytes. Where all is too much, there are as many names as have room; of what others have
  /// acknowledged the latest is said, since they say it themselves; where what is expired and closed is too much, the own
  /// acknowledgement alone.
  func bytes(_ dataSet: DataSetID, atMost limit: Int) throws -> Data {
    let all = try bytes(dataSet)
    guard all.count > limit else { return all }
    if !names.isEmpty {
      var rest = self
      rest.names = [:]
      let room = try limit - rest.bytes(dataSet).count
      guard room >= 0 else { return try rest.bytes(dataSet, atMost: limit) }
      rest.names = AckFile.some(of: names, in: room)
      return try rest.bytes(dataSet)
    }
    func file(_ members: [ReplicaID: MemberReplica], closings: [ReplicaID: UInt64]) throws -> Data {
      try AckFile(replica: replica, members: members, closings: closings, acceptedTime: acceptedTime).bytes(dataSet)
    }
    var some = members.mapValues { member in
      var member = member
      if member.replica != replica { member.acknowledged = nil }
      return member
    }
    var room = try limit - file(some, closings: closings).count
    guard room >= 0 else { return try file(members.filter { $0.key == replica }, closings: [:]) }
    let others = members.values.filter { $0.replica != replica }.compactMap { member in
      member.acknowledged.map { (member.replica, $0) }
    }
    for (other, acknowledged) in others.sorted(by: { $0.1.time > $1.1.time }) {
      // With what is around it, and so at least what it takes among others.
      room -= try file([other: members[other] ?? MemberReplica(other)], closings: [:]).count
      guard room >= 0 else { break }
      some[other]?.acknowledged = acknowledged
    }
    return try file(some, closings: closings)
  }

  init(
    replica: ReplicaID, members: [ReplicaID: MemberReplica], closings: [ReplicaID: UInt64] = [:], acceptedTime: Int64 = 0,
    names: [ReplicaID: ReplicaName] = [:]
  ) {
    (self.replica, self.members, self.closings, self.acceptedTime) = (replica, members, closings, acceptedTime)
    self.names = names
  }

  /// What a database says.
  init(_ members: Members) {
    self.init(
      replica: members.own, members: members.all, closings: members.closings, acceptedTime: members.acceptedTime,
      names: members.names.all)
  }

  /// `nil` if the file does not hold what it should: it keeps the floor down, and nothing else (K-7).
  init?(_ file: URL, of replica: ReplicaID, _ dataSet: DataSetID) {
    guard let bytes = try? DurableFile.read(file, atMost: AckFile.maxBytes) else { return nil }
    self.init(Data(bytes), of: replica, dataSet)
  }

  /// The data set that a replica's file belongs to.
  static func dataSet(of file: URL, of replica: ReplicaID) -> DataSetID? {
    guard let bytes = try? DurableFile.read(file, atMost: maxBytes),
      let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)), let dataSet = DataSetID(content.dataSet)
    else { return nil }
    return AckFile(content, dataSet)?.replica == replica ? dataSet : nil
  }

  init?(_ bytes: Data, of replica: ReplicaID, _ dataSet: DataSetID) {
    self.init(bytes, dataSet)
    guard self.replica == replica else { return nil }
  }

  private init?(_ content: Content, _ dataSet: DataSetID) {
    guard content.format == AckFile.format, content.dataSet == dataSet.description, let replica = Identifier(content.replica),
      content.replica == replica.description
    else { return nil }
    var members: [ReplicaID: MemberReplica] = [:]
    for (text, said) in content.acknowledged {
      guard let replica = Identifier(text), AckFile.times ~= said.time else { return nil }
      var frontier = NamedFrontier()
      for (text, end) in said.frontier {
        guard let replica = Identifier(text), let end = AckFile.end(end) else { return nil }
        frontier[replica] = end
      }
      let digest = said.digest.flatMap { Identifier($0) }
      guard digest?.description == said.digest else { return nil }
      members[replica, default: MemberReplica(replica)].acknowledged = .init(
        time: said.time, frontier: frontier, digest: digest)
    }
    for (text, time) in content.expired {
      guard let replica = Identifier(text), AckFile.times ~= time else { return nil }
      members[replica, default: MemberReplica(replica)].expired = time
    }
    var closings: [ReplicaID: UInt64] = [:]
    for (text, last) in AckFile.some(content.closed ?? [:]) {
      guard let replica = Identifier(text), let last = UInt64(digits: last), last < Limits.sequence else { return nil }
      closings[replica] = last
    }
    let accepted = content.accepted ?? 0
    guard AckFile.times ~= accepted else { return nil }
    self.init(
      replica: replica, members: members, closings: closings, acceptedTime: accepted,
      names: AckFile.names(content.names?.said ?? [:]))
  }

  /// Those that are names; the others are as if they alone were not there.
  private static func names(_ said: [String: Label<Content.Named>]) -> [ReplicaID: ReplicaName] {
    var names: [ReplicaID: ReplicaName] = [:]
    for (text, label) in said {
      guard let replica: ReplicaID = Identifier(text), let said = label.said, times ~= said.time else { continue }
      names[replica] = ReplicaName(said.name, time: said.time)
    }
    guard names.count > ReplicaNames.most else { return names }
    return Dictionary(uniqueKeysWithValues: AckFile.some(names).map { ($0.key, $0.value) })
  }

  private static func some<Key: Comparable, Value>(_ said: [Key: Value]) -> ArraySlice<(key: Key, value: Value)> {
    said.sorted { $0.key < $1.key }.prefix(mostSaid)
  }

  private static func text(_ end: NamedFrontier.End) -> String {
    var name = ByteWriter()
    end.name.encode(to: &name)
    return "\(end.sequence.digits).\(name.bytes.hexadecimal)"
  }

  private static func end(_ text: String) -> NamedFrontier.End? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let sequence = UInt64(digits: parts[0]), 1..<Limits.sequence ~= sequence,
      let name = [UInt8](hexadecimal: parts[1]), name.count == 12
    else { return nil }
    var reader = ByteReader(name)
    guard let name = try? TransactionName(from: &reader), name.stamp > .earliest else { return nil }
    return NamedFrontier.End(sequence: sequence, name: name)
  }
}
