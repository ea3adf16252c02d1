import MagicJournal
import TestSupport
import Testing

/// H-32: whatever the bytes are, each decoder of the lowest floor reads them or says at which of them it stopped. What has one
/// encoding is read from that one alone. `Tools/fuzz` runs these for longer.
@Suite struct FuzzTests {
  private let values: [[UInt8]]
  /// Segments, as files.
  private let segments: [[UInt8]]
  private let checkpoints: [[UInt8]]

  init() throws {
    values = try VectorFile<ValueVectorTests.File>("values").read().values.map {
      try parsed([UInt8](hexadecimal: $0.encoding), $0.encoding)
    }
    segments = try VectorFile<SegmentVectorTests.File>("segments").read().valid.map {
      try parsed([UInt8](hexadecimal: $0.file), $0.name)
    }
    checkpoints = try VectorFile<CheckpointVectorTests.File>("checkpoints").read().valid.map {
      try parsed([UInt8](hexadecimal: $0.file), $0.name)
    }
  }

  @Test func valuesAreReadOrRefused() async throws {
    let faults = try await Fuzz("values", values, inputs: 3_000).faults { input in
      var reader = ByteReader(input)
      let value = try Value(from: &reader)
      guard value.encodedLength == reader.offset else { throw NotationError(text: "the length is not that of the encoding") }
      return .canonical(value.encoded + reader.rest)
    }
    #expect(faults == [])
  }

  @Test func identitiesAndNamesOfTransactionsAreReadOrRefused() async throws {
    let birth = Birth(transaction: TransactionName(stamp: Stamp(0x1234_5678), tag: 9), ordinal: 3)
    let keys = [ObjectKey.primary(.text("a")), .primary(.integer(-9)), .primary(.text("E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))]
    let names = [birth.transaction, TransactionName(stamp: .latest, tag: .max), .none].map(\.encoded)
    var faults = try await Fuzz("identities", (keys + [.birth(birth)]).map(\.encoded), inputs: 1_000).faults { input in
      var reader = ByteReader(input)
      return .canonical(try ObjectKey(from: &reader).encoded + reader.rest)
    }
    faults += try await Fuzz("names of transactions", names, inputs: 1_000).faults { input in
      var reader = ByteReader(input)
      return .canonical(try TransactionName(from: &reader).encoded + reader.rest)
    }
    faults += try await Fuzz("births", [birth.bytes], inputs: 1_000).faults { .canonical(try Birth(bytes: $0).bytes) }
    #expect(faults == [])
  }

  @Test func numbersAndTextsAreReadOrRefused() async throws {
    let numbers = [0, 1, 127, 128, 16_383, 16_384, UInt64.max].map { number in
      var writer = ByteWriter()
      writer.varint(number)
      return writer.bytes
    }
    var faults = try await Fuzz("numbers", numbers, inputs: 1_000).faults { input in
      var (reader, writer) = (ByteReader(input), ByteWriter())
      writer.varint(try reader.varint())
      return .canonical(writer.bytes + reader.rest)
    }
    faults += try await Fuzz("texts", [[0], [1, 0x61], [2, 0xc3, 0xa9], [4, 0xf0, 0x9f, 0x91, 0xa9]], inputs: 1_000).faults {
      input in
      var (reader, writer) = (ByteReader(input), ByteWriter())
      writer.string(try reader.string(atMost: 100))
      return .canonical(writer.bytes + reader.rest)
    }
    let id = Identifier(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210)
    faults += try await Fuzz("digits", texts: [id.description, "00", ""], inputs: 1_000).faults { input in
      let text = String(decoding: input, as: UTF8.self)
      guard let bytes = [UInt8](hexadecimal: text), Identifier(text)?.description ?? text == text else { return .refused }
      return .canonical(Array(bytes.hexadecimal.utf8))
    }
    #expect(faults == [])
  }

  /// With a checksum that is right, or hardly anything would come farther.
  @Test func headersOfSegmentsAreReadOrRefused() async throws {
    let headers = segments.map { Array($0[..<120]) }
    let faults = try await Fuzz("headers", headers, inputs: 3_000).faults { input in
      let bytes = input.count < 120 ? input : Array(input[..<120] + input.checksum(of: 0..<120) + input[120...])
      var writer = ByteWriter()
      try SegmentHeader(bytes).encode(to: &writer)
      return .canonical(Array(writer.bytes[..<120] + input.dropFirst(120)))
    }
    #expect(faults == [])
  }

  @Test func segmentsAreReadOrRefused() async throws {
    let faults = try await Fuzz("segments", segments, inputs: 1_000).faults { input in
      _ = try? SegmentReader(salvaging: input).drained()
      return try read(input)
    }
    #expect(faults == [])
  }

  /// Bodies within headers and checksums that are right: these alone reach what reads bodies.
  @Test func bodiesOfSegmentsAreReadOrRefused() async throws {
    var headers: [SegmentHeader] = []
    var bodies: [[UInt8]] = []
    for segment in segments {
      headers.append(try SegmentHeader(segment))
      bodies.append(try Zlib.inflate(segment[SegmentHeader.length...], to: headers[headers.count - 1].bodyLength))
    }
    // The number of the header stands before the body.
    let corpus = bodies.enumerated().map { [UInt8($0)] + $1 } + [[UInt8(headers.count)] + RawBody().bytes]
    headers.append(RawBody().header)
    let faults = try await Fuzz("bodies", corpus, inputs: 2_000).faults { input in
      guard let first = input.first else { return .refused }
      let file = try SegmentForgery.rebuilt(headers[Int(first) % headers.count], Array(input.dropFirst()))
      // A body that ends too early is salvaged as far as it goes.
      _ = try? SegmentReader(salvaging: file.dropLast(file.count % 5)).drained()
      return try read(file)
    }
    #expect(faults == [])
  }

  /// Whatever was read can be sent on (M-9), and says the same there.
  private func read(_ file: [UInt8]) throws -> Fuzz.Outcome {
    let segment = try Segment(file)
    guard try SegmentReader(file).names() == segment.transactions.map(\.name) else {
      throw NotationError(text: "the names are others when they are read alone")
    }
    var writer = SegmentWriter(
      dataSet: segment.header.dataSet, writer: segment.header.writer, schema: segment.schema, replica: segment.header.replica,
      first: segment.header.first, previous: segment.header.previous)
    for transaction in segment.transactions { writer.add(transaction) }
    let (name, bytes) = try writer.finish()
    let again = try Segment(bytes)
    let notations = [segment, again].map { segment in
      segment.transactions.map { TransactionNotation($0, segment.schema) }
    }
    guard again.name == segment.name, name == segment.name, try notations[0].map(text) == notations[1].map(text) else {
      throw NotationError(text: "it is not the same once it was sent on")
    }
    return .read
  }

  /// With checksums that are right.
  @Test func headersAndEndsOfCheckpointsAreReadOrRefused() async throws {
    let headers = try checkpoints.map { Array($0[..<(try CheckpointHeader.length($0))].dropLast(4)) }
    var faults = try await Fuzz("headers of checkpoints", headers, inputs: 3_000).faults { input in
      guard try input.count < 64 || input.count + 4 == CheckpointHeader.length(input) else { return .refused }
      return .canonical(Array(try CheckpointHeader(input + input.checksum(of: 0..<input.count)).bytes.dropLast(4)))
    }
    let ends = checkpoints.map { Array($0.suffix(24).dropLast(4)) }
    faults += try await Fuzz("ends of checkpoints", ends, inputs: 1_000).faults { input in
      let end = try CheckpointEnd(input + input.checksum(of: 0..<input.count))
      return end.entries == .max ? .read : .canonical(Array(end.bytes.dropLast(4)))
    }
    #expect(faults == [])
  }

  /// Kept entries within lengths and checksums that are right.
  @Test func partsOfCheckpointsAreReadOrRefused() async throws {
    var bodies: [[UInt8]] = []
    for file in checkpoints {
      let start = try CheckpointHeader.length(file)
      guard file.count - 24 > start else { continue }
      let header = try CheckpointPartHeader(Array(file[start..<start + 24]))
      bodies.append(try Zlib.inflate(file[(start + 24)..<(start + 24 + header.storedLength)], to: header.bodyLength))
    }
    let faults = try await Fuzz("parts of checkpoints", bodies, inputs: 2_000).faults { input in
      let stored = try Zlib.deflate(input)
      var lengths = ByteWriter()
      lengths.fixed(UInt64(input.count))
      lengths.fixed(UInt64(stored.count))
      lengths.fixed(Zlib.checksum(stored[...]))
      let part = try CheckpointPart(CheckpointPartHeader(lengths.bytes + lengths.bytes.checksum(of: 0..<20)), stored)
      var writer = CheckpointPartWriter(part.schema)
      for transaction in part.transactions { writer.add(transaction) }
      let again = try writer.finish()
      guard
        try CheckpointPart(CheckpointPartHeader(Array(again.prefix(24))), Array(again.dropFirst(24))).transactions.count
          == part.transactions.count
      else { throw NotationError(text: "it is not the same once it was written again") }
      return .read
    }
    #expect(faults == [])
  }

  /// A stream that is damaged inflates to what it should, or to an error; never to more.
  @Test func streamsAreInflatedOrRefused() async throws {
    let contents: [[UInt8]] = [
      [], Array("a text, a text, a text".utf8), [UInt8](repeating: 7, count: 5_000),
      (0..<3_000).map { UInt8(truncatingIfNeeded: $0 * $0) },
    ]
    // What it should inflate to stands in two bytes before it.
    let corpus = try contents.map { [UInt8($0.count >> 8), UInt8($0.count & 0xff)] + (try Zlib.deflate($0)) }
    let faults = try await Fuzz("streams", corpus, inputs: 3_000).faults { input in
      guard input.count >= 2 else { return .refused }
      let count = Int(input[0]) << 8 | Int(input[1])
      guard Zlib.inflatePrefix(input[2...], atMost: count).count <= count else {
        throw NotationError(text: "more than was asked for")
      }
      guard try Zlib.inflate(input[2...], to: count).count == count else {
        throw NotationError(text: "less than was asked for")
      }
      return .read
    }
    #expect(faults == [])
  }
}

extension TransactionName {
  fileprivate var encoded: [UInt8] {
    var writer = ByteWriter()
    encode(to: &writer)
    return writer.bytes
  }
}

extension [UInt8] {
  fileprivate func checksum(of range: Range<Int>) -> [UInt8] {
    var writer = ByteWriter()
    writer.fixed(Zlib.checksum(self[range]))
    return writer.bytes
  }
}

extension SegmentReader {
  fileprivate func drained() throws -> Int {
    var (reader, count) = (self, 0)
    while try reader.next() != nil { count += 1 }
    return count
  }
}
