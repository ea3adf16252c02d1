import MagicJournal

/// Segments made from a good one that must be refused, with checksums that fit where the fault lies deeper.
struct SegmentForgery {
  let name: String
  let bytes: [UInt8]
  let why: String

  static func all(of good: [UInt8]) throws -> [SegmentForgery] {
    let header = try SegmentHeader(good)
    let body = try Zlib.inflate(good[SegmentHeader.length...], to: header.bodyLength)
    func flipped(_ offset: Int) -> [UInt8] {
      var bytes = good
      bytes[offset] ^= 1
      return bytes
    }
    func with(_ change: (inout SegmentHeader) -> Void, body newBody: [UInt8]? = nil) throws -> [UInt8] {
      try rebuilt(header, newBody ?? body, change)
    }
    let files: [SegmentForgery] = [
      .init(name: "empty", bytes: [], why: "nothing is there"),
      .init(name: "magic", bytes: flipped(0), why: "it does not begin with the magic"),
      .init(name: "format", bytes: flipped(9), why: "format 0 is not known"),
      .init(name: "header cut", bytes: Array(good[..<100]), why: "the header ends too early"),
      .init(name: "header flipped", bytes: flipped(61), why: "the header's checksum"),
      .init(name: "body flipped", bytes: flipped(good.count - 3), why: "the body's checksum"),
      .init(name: "cut", bytes: Array(good.dropLast()), why: "the file is shorter than its header says"),
      .init(name: "grown", bytes: good + [0], why: "the file is longer than its header says"),
      .init(name: "no run", bytes: try with { $0.last = $0.first - 1 }, why: "last is before first"),
      .init(name: "sequence 0", bytes: try with { $0.first = 0 }, why: "sequences start at 1"),
      .init(name: "longer run", bytes: try with { $0.last += 1 }, why: "a transaction too few"),
      .init(name: "shorter run", bytes: try with { $0.last -= 1 }, why: "a transaction too many"),
      .init(name: "other last", bytes: try with { $0.lastName = .none }, why: "the last transaction is not the one named"),
      .init(name: "before the first", bytes: try with { $0.previous = $0.lastName }, why: "there is nothing before sequence 1"),
      .init(name: "longer body", bytes: try with { $0.bodyLength += 1 }, why: "the body inflates to less"),
      .init(name: "shorter body", bytes: try with { $0.bodyLength -= 1 }, why: "the body inflates to more"),
      .init(name: "huge body", bytes: try with { $0.bodyLength = 1 << 40 }, why: "the body is above the limit"),
      .init(name: "bomb", bytes: try with { $0.bodyLength = 1 << 27 }, why: "zlib cannot inflate so far"),
      .init(name: "body left over", bytes: try with({ _ in }, body: body + [0]), why: "a byte after the last stream"),
      .init(name: "body cut", bytes: try with({ _ in }, body: Array(body.dropLast())), why: "the last stream ends too early"),
      .init(name: "no body", bytes: try with({ _ in }, body: [0, 0, 0]), why: "there are no streams"),
      .init(name: "types", bytes: try with({ _ in }, body: [0xff, 0xff, 0x03] + body), why: "more types than bytes"),
    ]
    let bodies = try RawBody.forgeries.map { name, body, why in
      SegmentForgery(name: name, bytes: try rebuilt(body.header, body.bytes), why: why)
    }
    return files + bodies
  }

  /// A segment whose lengths and checksums are right, whatever its body says.
  static func rebuilt(_ header: SegmentHeader, _ body: [UInt8], _ change: (inout SegmentHeader) -> Void = { _ in }) throws
    -> [UInt8]
  {
    let stored = try Zlib.deflate(body)
    var header = header
    header.bodyLength = body.count
    header.storedLength = stored.count
    header.storedChecksum = Zlib.checksum(stored[...])
    change(&header)
    var writer = ByteWriter()
    header.encode(to: &writer)
    return writer.bytes + stored
  }
}
