/// The first 124 bytes of a segment.
package struct SegmentHeader: Sendable, Equatable {
  package static let length = 124
  private static let magic = Array("MAGICSEG".utf8)
  private static let format: UInt16 = 1

  package var dataSet: DataSetID
  package var writer: ReplicaID
  package var replica: ReplicaID
  package var first: UInt64
  package var last: UInt64
  /// The transaction before the first; `none` if there is no such.
  package var previous: TransactionName
  package var lastName: TransactionName
  package var bodyLength: Int
  package var storedLength: Int
  package var storedChecksum: UInt32

  /// Whether both stand before the same transactions, however these are compressed and whoever wrote them down.
  package func isOfSameRun(as other: SegmentHeader) -> Bool {
    dataSet == other.dataSet && replica == other.replica && first == other.first && last == other.last
      && previous == other.previous && lastName == other.lastName
  }

  package func encode(to writer: inout ByteWriter) {
    let start = writer.count
    writer.append(SegmentHeader.magic)
    writer.fixed(SegmentHeader.format)
    writer.fixed(UInt16(0))
    dataSet.encode(to: &writer)
    self.writer.encode(to: &writer)
    replica.encode(to: &writer)
    writer.fixed(first)
    writer.fixed(last)
    previous.encode(to: &writer)
    lastName.encode(to: &writer)
    writer.fixed(UInt64(bodyLength))
    writer.fixed(UInt64(storedLength))
    writer.fixed(storedChecksum)
    writer.fixed(Zlib.checksum(writer.bytes[start...]))
  }

  /// Whether a header is one of this format, of which nothing but the format was changed.
  private static func isFlipped(_ bytes: [UInt8]) -> Bool {
    var whole = Array(bytes.prefix(length))
    whole.replaceSubrange(8..<10, with: [UInt8(format >> 8), UInt8(format & 0xff)])
    do throws(JournalError) {
      _ = try SegmentHeader(whole)
      return true
    } catch {
      return false
    }
  }

  /// Reads and checks a header alone; the body is not looked at (S-1).
  package init(_ bytes: [UInt8]) throws(JournalError) {
    var reader = ByteReader(bytes)
    guard reader.left >= SegmentHeader.magic.count, try reader.take(8).elementsEqual(SegmentHeader.magic) else {
      throw JournalError(.damaged, "this is not a segment: it does not begin with MAGICSEG", offset: 0)
    }
    let format = try reader.fixed(UInt16.self)
    guard format == SegmentHeader.format else {  // S-2
      guard !SegmentHeader.isFlipped(bytes) else {
        throw JournalError(.damaged, "the header's checksum does not match: its format was changed", offset: 8)
      }
      throw JournalError(
        .unsupported, "format \(format) is not known to this version, which reads \(SegmentHeader.format)", offset: 8)
    }
    guard bytes.count >= SegmentHeader.length else {
      throw JournalError(.damaged, "the header ends too early", offset: bytes.count)
    }
    let checksum = bytes[120..<124].reduce(0) { $0 << 8 | UInt32($1) }
    guard Zlib.checksum(bytes[..<120]) == checksum else {
      throw JournalError(.damaged, "the header's checksum does not match", offset: 120)
    }
    guard try reader.fixed(UInt16.self) == 0 else {
      throw JournalError(.unsupported, "the reserved bytes are in use", offset: 10)
    }
    dataSet = try Identifier(from: &reader)
    writer = try Identifier(from: &reader)
    replica = try Identifier(from: &reader)
    first = try reader.fixed(UInt64.self)
    last = try reader.fixed(UInt64.self)
    guard first >= 1, first <= last, last < Limits.sequence else {
      throw JournalError(.damaged, "sequences \(first) to \(last) are no run", offset: 60)
    }
    guard last - first < Limits.segmentTransactions else {
      throw JournalError(.tooLarge, "more than \(Limits.segmentTransactions) transactions", offset: 60)
    }
    previous = try TransactionName(from: &reader)
    guard first > 1 || previous == .none else {
      throw JournalError(.damaged, "there is nothing before sequence 1", offset: 76)
    }
    lastName = try TransactionName(from: &reader)
    bodyLength = try SegmentHeader.length(&reader)
    storedLength = try SegmentHeader.length(&reader)
    guard bodyLength <= storedLength * Limits.inflationRatio else {
      throw JournalError(.damaged, "no body of \(storedLength) bytes inflates to \(bodyLength)", offset: 100)
    }
    storedChecksum = try reader.fixed(UInt32.self)
  }

  package init(
    dataSet: DataSetID, writer: ReplicaID, replica: ReplicaID, first: UInt64, last: UInt64, previous: TransactionName,
    lastName: TransactionName, bodyLength: Int, storedLength: Int, storedChecksum: UInt32
  ) {
    self.dataSet = dataSet
    self.writer = writer
    self.replica = replica
    self.first = first
    self.last = last
    self.previous = previous
    self.lastName = lastName
    self.bodyLength = bodyLength
    self.storedLength = storedLength
    self.storedChecksum = storedChecksum
  }

  private static func length(_ reader: inout ByteReader) throws(JournalError) -> Int {
    let start = reader
    let length = try reader.fixed(UInt64.self)
    guard length <= UInt64(Limits.segmentBytes) else {
      throw JournalError(
        .tooLarge, "a body of \(length) bytes is above the limit of \(Limits.segmentBytes)", offset: start.offset)
    }
    return Int(length)
  }
}
