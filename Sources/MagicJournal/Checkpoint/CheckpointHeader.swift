/// The beginning of a checkpoint: the floor, and what the kept entries fold to (Protocol/checkpoint.md).
package struct CheckpointHeader: Sendable, Equatable {
  package static let magic = Array("MAGICCHK".utf8)
  private static let format: UInt16 = 1
  /// Up to the number of replicas.
  package static let fixedLength = 64

  package let dataSet: DataSetID
  package let writer: ReplicaID
  package let digest: Identifier
  package let floor: NamedFrontier

  package init(dataSet: DataSetID, writer: ReplicaID, digest: Identifier, floor: NamedFrontier) {
    (self.dataSet, self.writer, self.digest, self.floor) = (dataSet, writer, digest, floor)
  }

  /// What the file is called for (K-10).
  package var name: String { SHA256.hash(floor.bytes).prefix(16).hexadecimal }

  /// The highest of what it stands for.
  package var highest: Stamp { floor.highest ?? .earliest }

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.append(CheckpointHeader.magic)
    writer.fixed(CheckpointHeader.format)
    writer.fixed(UInt16(0))
    dataSet.encode(to: &writer)
    self.writer.encode(to: &writer)
    digest.encode(to: &writer)
    writer.fixed(UInt32(floor.replicas.count))
    floor.encode(to: &writer)
    writer.fixed(Zlib.checksum(writer.bytes[...]))
    return writer.bytes
  }

  /// The first bytes of a header of another format as if they were of this one (S-2).
  package static func asKnown(_ fixed: [UInt8]) -> [UInt8] {
    var known = fixed
    if known.count >= 10 { known.replaceSubrange(8..<10, with: [UInt8(format >> 8), UInt8(format & 0xff)]) }
    return known
  }

  /// How long a header is, as its first bytes tell (K-12).
  package static func length(_ fixed: [UInt8]) throws(JournalError) -> Int {
    var reader = ByteReader(fixed)
    guard reader.left >= magic.count, try reader.take(8).elementsEqual(magic) else {
      throw JournalError(.damaged, "this is not a checkpoint: it does not begin with MAGICCHK", offset: 0)
    }
    guard reader.left >= 2 else { throw reader.damaged("the header is cut short") }
    let format = try reader.fixed(UInt16.self)
    guard format == CheckpointHeader.format else {
      throw JournalError(.unsupported, "format \(format) is not known to this version; use a newer one", offset: 8)
    }
    guard fixed.count >= fixedLength else { throw JournalError(.damaged, "the header is cut short", offset: fixed.count) }
    try reader.pass(fixedLength - 4 - 10)
    let count = try reader.fixed(UInt32.self)
    guard 1...Limits.floorReplicas ~= Int(count) else {
      throw JournalError(.damaged, "a floor of \(count) replicas", offset: fixedLength - 4)
    }
    return fixedLength + Int(count) * NamedFrontier.endLength + 4
  }

  /// Reads and checks a whole header.
  package init(_ bytes: [UInt8]) throws(JournalError) {
    let length = try CheckpointHeader.length(bytes)
    guard bytes.count == length else { throw JournalError(.damaged, "the header is cut short", offset: bytes.count) }
    var checksum = ByteReader(Array(bytes[(length - 4)...]))
    guard try checksum.fixed(UInt32.self) == Zlib.checksum(bytes[..<(length - 4)]) else {
      throw JournalError(.damaged, "the header's checksum does not match", offset: length - 4)
    }
    var reader = ByteReader(Array(bytes[..<(length - 4)]))
    try reader.pass(10)
    guard try reader.fixed(UInt16.self) == 0 else {
      throw JournalError(.unsupported, "the reserved bytes are in use", offset: 10)
    }
    dataSet = try Identifier(from: &reader)
    writer = try Identifier(from: &reader)
    digest = try Identifier(from: &reader)
    let count = Int(try reader.fixed(UInt32.self))
    floor = try NamedFrontier(from: &reader, count: count)
  }
}

/// What stands before the body of each part of a checkpoint.
package struct CheckpointPartHeader: Sendable, Equatable {
  package static let length = 24

  package let bodyLength: Int
  package let storedLength: Int
  package let checksum: UInt32

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.fixed(UInt64(bodyLength))
    writer.fixed(UInt64(storedLength))
    writer.fixed(checksum)
    writer.fixed(Zlib.checksum(writer.bytes[...]))
    return writer.bytes
  }

  init(bodyLength: Int, storedLength: Int, checksum: UInt32) {
    (self.bodyLength, self.storedLength, self.checksum) = (bodyLength, storedLength, checksum)
  }

  package init(_ bytes: [UInt8]) throws(JournalError) {
    var reader = ByteReader(bytes)
    let (body, stored) = (try reader.fixed(UInt64.self), try reader.fixed(UInt64.self))
    checksum = try reader.fixed(UInt32.self)
    guard try reader.fixed(UInt32.self) == Zlib.checksum(bytes[..<20]) else {
      throw JournalError(.damaged, "the checksum of a part's lengths does not match", offset: 20)
    }
    guard body <= UInt64(Limits.segmentBytes), stored <= UInt64(Limits.segmentBytes),
      body <= stored * UInt64(Limits.inflationRatio)
    else { throw JournalError(.tooLarge, "a part of \(body) bytes is above the limits", offset: 0) }
    (bodyLength, storedLength) = (Int(body), Int(stored))
  }
}

/// What stands behind the parts.
package struct CheckpointEnd: Sendable, Equatable {
  package static let length = 24
  package static let magic = Array("MAGICEND".utf8)

  package let entries: Int
  package let parts: Int

  package init(entries: Int, parts: Int) {
    (self.entries, self.parts) = (entries, parts)
  }

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.append(CheckpointEnd.magic)
    writer.fixed(UInt64(entries))
    writer.fixed(UInt32(parts))
    writer.fixed(Zlib.checksum(writer.bytes[...]))
    return writer.bytes
  }

  package init(_ bytes: [UInt8]) throws(JournalError) {
    var reader = ByteReader(bytes)
    guard reader.left == CheckpointEnd.length, try reader.take(8).elementsEqual(CheckpointEnd.magic) else {
      throw JournalError(.damaged, "the end is not there", offset: 0)
    }
    let (entries, parts) = (try reader.fixed(UInt64.self), try reader.fixed(UInt32.self))
    guard try reader.fixed(UInt32.self) == Zlib.checksum(bytes[..<20]) else {
      throw JournalError(.damaged, "the checksum of the end does not match", offset: 20)
    }
    (self.entries, self.parts) = (Int(clamping: entries), Int(parts))
  }
}
