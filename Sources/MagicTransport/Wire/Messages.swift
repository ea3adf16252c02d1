package import Foundation
internal import MagicData
package import MagicJournal
package import MagicReplication

/// The client's first frame.
package struct Hello: Sendable {
  static let magic = Array("MAGICWIR".utf8)
  /// The one version that there is.
  static let version: UInt16 = 1
  static let capabilities = ["accepted", "assets", "checkpoints", "digest", "members", "watch"]

  let versions: ClosedRange<UInt16>
  let replica: ReplicaID
  let dataSet: DataSetID?
  let token: [UInt8]
  let capabilities: [String]

  package init(replica: ReplicaID, dataSet: DataSetID?, token: [UInt8]) {
    versions = Hello.version...Hello.version
    self.replica = replica
    self.dataSet = dataSet
    self.token = token
    capabilities = Hello.capabilities
  }

  package init(_ frame: Frame) throws(WireError) {
    self = try frame.read { reader throws(JournalError) in
      guard reader.left >= 8, try reader.take(8).elementsEqual(Hello.magic) else {
        throw JournalError(.damaged, "it does not begin with MAGICWIR", offset: 0)
      }
      return try Hello(&reader)
    }
  }

  private init(_ reader: inout ByteReader) throws(JournalError) {
    let (low, high) = (try reader.fixed(UInt16.self), try reader.fixed(UInt16.self))
    guard low <= high else { throw JournalError(.damaged, "its versions are none", offset: 8) }
    versions = low...high
    replica = try Identifier(from: &reader)
    dataSet = try Identifier(from: &reader).ifSet
    token = Array(try reader.block(atMost: WireLimits.tokenBytes))
    capabilities = try reader.texts()
  }

  package var frame: Frame {
    Frame(.hello) { writer in
      writer.append(Hello.magic)
      writer.fixed(versions.lowerBound)
      writer.fixed(versions.upperBound)
      replica.encode(to: &writer)
      (dataSet ?? .unset).encode(to: &writer)
      writer.block(token)
      writer.texts(capabilities)
    }
  }
}

package struct Rights: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let read = Rights(rawValue: 1)
  package static let write = Rights(rawValue: 2)
}

/// The server's answer.
package struct Welcome: Sendable {
  let version: UInt16
  let replica: ReplicaID?
  let dataSet: DataSetID?
  let rights: Rights
  let capabilities: [String]

  package init(replica: ReplicaID?, dataSet: DataSetID?, rights: Rights, capabilities: [String]) {
    version = Hello.version
    self.replica = replica
    self.dataSet = dataSet
    self.rights = rights
    self.capabilities = capabilities
  }

  package init(_ frame: Frame) throws(WireError) {
    self = try frame.read { reader throws(JournalError) in try Welcome(&reader) }
  }

  private init(_ reader: inout ByteReader) throws(JournalError) {
    version = try reader.fixed(UInt16.self)
    replica = try Identifier(from: &reader).ifSet
    dataSet = try Identifier(from: &reader).ifSet
    rights = Rights(rawValue: try reader.byte())
    capabilities = try reader.texts()
  }

  package var frame: Frame {
    Frame(.welcome) { writer in
      writer.fixed(version)
      (replica ?? .unset).encode(to: &writer)
      (dataSet ?? .unset).encode(to: &writer)
      writer.byte(rights.rawValue)
      writer.texts(capabilities)
    }
  }
}

extension Frame {
  package static func dataSet(_ kind: Kind, _ dataSet: DataSetID) -> Frame { Frame(kind) { dataSet.encode(to: &$0) } }

  package func dataSet() throws(WireError) -> DataSetID {
    try read { reader throws(JournalError) in
      let start = reader
      let dataSet: DataSetID = try Identifier(from: &reader)
      guard dataSet != .unset else { throw start.damaged("zeros are no data set") }
      return dataSet
    }
  }

  package static func held(_ held: [HeldRun]) -> Frame {
    Frame(.held) { writer in
      writer.varint(held.count)
      for run in held { writer.run(run) }
    }
  }

  package func held() throws(WireError) -> [HeldRun] {
    try read { reader throws(JournalError) in
      var (held, replicas): ([HeldRun], Set<ReplicaID>) = ([], [])
      for _ in 0..<(try reader.count(of: 36)) {
        let run = try reader.run()
        guard replicas.insert(run.replica).inserted else { throw reader.damaged("a replica comes twice") }
        held.append(run)
      }
      return held
    }
  }

  package static func frontier(_ kind: Kind, _ frontier: Frontier) -> Frame {
    Frame(kind) { writer in
      writer.varint(frontier.replicas.count)
      for replica in frontier.replicas {
        replica.encode(to: &writer)
        writer.fixed(frontier[replica])
      }
    }
  }

  package func frontier() throws(WireError) -> Frontier {
    try read { reader throws(JournalError) in
      var frontier = Frontier()
      for _ in 0..<(try reader.count(of: 24)) {
        let replica = try Identifier(from: &reader)
        frontier[replica] = try reader.sequence()
      }
      return frontier
    }
  }

  /// - Parameter accepting: whether it says up to which time stamps are accepted (W-6).
  package static func standing(_ kind: Kind, _ standing: Standing, accepting: Bool = false) -> Frame {
    Frame(kind) { writer in
      writer.fixed(UInt32(clamping: standing.segments))
      writer.fixed(UInt64(standing.bytes))
      writer.varint(standing.parts.count)
      for part in standing.parts {
        writer.run(part.held)
        writer.byte((part.isClosed ? 1 : 0) | (part.hasUnread ? 2 : 0) | (part.isDisplaced ? 4 : 0))
        writer.varint(part.beyond.count)
        for run in part.beyond {
          writer.fixed(run.lowerBound)
          writer.fixed(run.upperBound)
        }
      }
      if accepting { writer.fixed(UInt64(clamping: standing.acceptedTime)) }
    }
  }

  package func standing(accepting: Bool = false) throws(WireError) -> Standing {
    try read { reader throws(JournalError) in
      let (segments, bytes) = (try reader.fixed(UInt32.self), try reader.fixed(UInt64.self))
      var parts: [Standing.Part] = []
      for _ in 0..<(try reader.count(of: 38)) {
        let (held, flags) = (try reader.run(), try reader.byte())
        var beyond: [ClosedRange<UInt64>] = []
        for _ in 0..<(try reader.count(of: 16)) {
          let (first, last) = (try reader.sequence(), try reader.sequence())
          guard first > (beyond.last?.upperBound ?? held.last) + 1, first <= last else {
            throw reader.damaged("runs do not rise")
          }
          beyond.append(first...last)
        }
        parts.append(
          .init(
            held, beyond: beyond, isClosed: flags & 1 != 0, hasUnread: flags & 2 != 0, isDisplaced: flags & 4 != 0))
      }
      var standing = Standing(parts, segments: Int(segments), bytes: Int(clamping: bytes))
      if accepting {
        let start = reader
        let time = try reader.fixed(UInt64.self)
        guard time <= UInt64(Stamp.latest.milliseconds) else { throw start.damaged("a time of \(time) is none") }
        standing.acceptedTime = Int64(time)
      }
      return standing
    }
  }

  package static func segment(_ name: String, _ head: ArraySlice<UInt8>) -> Frame {
    Frame(.segment) { writer in
      writer.append([UInt8](hexadecimal: name) ?? [])
      writer.append(head)
    }
  }

  package func segment() throws(WireError) -> (name: String, head: [UInt8]) {
    try read { reader throws(JournalError) in
      (try reader.take(16).hexadecimal, Array(try reader.take(SegmentHeader.length)))
    }
  }

  package static func texts(_ kind: Kind, _ texts: [String]) -> Frame { Frame(kind) { $0.texts(texts) } }

  /// To be shown.
  package func texts() throws(WireError) -> [String] {
    let texts = try read { reader throws(JournalError) in try reader.texts() }
    return texts.map { WireError.printable($0) }
  }

  // MARK: Members

  package static func blocks(_ kind: Kind, _ blocks: [Data]) -> Frame {
    Frame(kind) { writer in
      // What is beyond is said by who said it, in another exchange: it keeps history where it is, and nothing else.
      var rest = WireLimits.frameBytes - 16
      let blocks = blocks.filter { block in
        guard block.count + 8 <= rest else { return false }
        rest -= block.count + 8
        return true
      }
      writer.varint(blocks.count)
      for block in blocks { writer.block(Array(block)) }
    }
  }

  package func blocks() throws(WireError) -> [Data] {
    try read { reader throws(JournalError) in
      var blocks: [Data] = []
      for _ in 0..<(try reader.count(of: 1)) { blocks.append(Data(try reader.block(atMost: WireLimits.frameBytes))) }
      return blocks
    }
  }

  // MARK: Contents

  package static func which(_ digits: [String]) -> Frame {
    Frame(.which) { writer in
      writer.varint(digits.count)
      for digits in digits { writer.hash(digits) }
    }
  }

  package func which() throws(WireError) -> [String] {
    try read { reader throws(JournalError) in
      var all: [String] = []
      for _ in 0..<(try reader.count(of: 32, atMost: WireLimits.contents)) { all.append(try reader.hash()) }
      return all
    }
  }

  package static func have(_ lengths: [Int?]) -> Frame {
    Frame(.have) { writer in
      writer.varint(lengths.count)
      for length in lengths { writer.length(length) }
    }
  }

  package func have() throws(WireError) -> [Int?] {
    try read { reader throws(JournalError) in
      var all: [Int?] = []
      for _ in 0..<(try reader.count(of: 8, atMost: WireLimits.contents)) { all.append(try reader.length()) }
      return all
    }
  }

  /// A content and a number: the offset of `FETCH`, the length of `STORE`.
  package static func content(_ kind: Kind, _ digits: String, _ number: Int) -> Frame {
    Frame(kind) { writer in
      writer.hash(digits)
      writer.length(number)
    }
  }

  package func content() throws(WireError) -> (digits: String, number: Int) {
    try read { reader throws(JournalError) in
      let digits = try reader.hash()
      guard let number = try reader.length() else { throw reader.damaged("a number is too large") }
      return (digits, number)
    }
  }

  package static func length(_ kind: Kind, _ length: Int?) -> Frame { Frame(kind) { $0.length(length) } }

  package func length() throws(WireError) -> Int? {
    try read { reader throws(JournalError) in try reader.length() }
  }

  package static func digest(_ digest: String?) -> Frame {
    Frame(.digested) { writer in
      writer.byte(digest == nil ? 0 : 1)
      writer.append([UInt8](hexadecimal: digest ?? "") ?? [])
    }
  }

  package func digest() throws(WireError) -> String? {
    try read { reader throws(JournalError) in
      try reader.byte() == 0 ? nil : reader.take(16).hexadecimal
    }
  }
}

extension Identifier {
  /// Stands for none.
  static let unset = Identifier(0, 0)
  var ifSet: Identifier? { self == .unset ? nil : self }
}

extension ByteWriter {
  fileprivate mutating func texts(_ texts: [String]) {
    let texts = texts.prefix(WireLimits.texts)
    varint(texts.count)
    for text in texts { string(String(decoding: text.utf8.prefix(WireLimits.textBytes), as: UTF8.self)) }
  }

  fileprivate mutating func run(_ run: HeldRun) {
    run.replica.encode(to: &self)
    fixed(run.last)
    run.name.encode(to: &self)
  }

  fileprivate mutating func hash(_ digits: String) { append([UInt8](hexadecimal: digits) ?? []) }

  fileprivate mutating func length(_ length: Int?) { fixed(length.map { UInt64($0) } ?? .max) }
}

extension ByteReader {
  fileprivate mutating func texts() throws(JournalError) -> [String] {
    var texts: [String] = []
    for _ in 0..<(try count(atMost: WireLimits.texts)) { texts.append(try string(atMost: WireLimits.readTextBytes)) }
    return texts
  }

  fileprivate mutating func sequence() throws(JournalError) -> UInt64 {
    let start = self
    let number = try fixed(UInt64.self)
    guard number < Limits.sequence else { throw start.damaged("a sequence of \(number) is none") }
    return number
  }

  fileprivate mutating func run() throws(JournalError) -> HeldRun {
    let replica = try Identifier(from: &self)
    let last = try sequence()
    return HeldRun(replica: replica, last: last, name: try TransactionName(from: &self))
  }

  fileprivate mutating func hash() throws(JournalError) -> String { try take(32).hexadecimal }

  fileprivate mutating func length() throws(JournalError) -> Int? {
    let start = self
    let length = try fixed(UInt64.self)
    if length == .max { return nil }
    guard length < 1 << 62 else { throw start.damaged("a length of \(length) is none") }
    return Int(length)
  }
}
