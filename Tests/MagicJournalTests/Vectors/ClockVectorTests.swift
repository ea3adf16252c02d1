import MagicJournal
import TestSupport
import Testing

@Suite struct ClockVectorTests {
  struct File: Codable {
    struct Next: Codable {
      var last: String
      var now: String
      var next: String?

      enum CodingKeys: CodingKey { case last, now, next }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(last, forKey: .last)
        try container.encode(now, forKey: .now)
        try container.encode(next, forKey: .next)
      }
    }

    var next: [Next]
  }

  /// L-1, C-1, C-2, C-4.
  @Test func nextStampsAreThoseOfTheVectors() throws {
    let file = try VectorFile<File>("clock").content(orWrite: ClockVectorTests.make)
    for step in file.next {
      let last = Stamp(try parsed(UInt64(step.last), step.last))
      let next = try? last.next(at: try parsed(Int64(step.now), step.now))
      #expect(next.map { String($0.bits) } == step.next)
    }
  }

  /// H-4: the counter borrows from the milliseconds, and stamps go on rising.
  @Test func aHundredThousandWritesInOneMillisecondHaveRisingStamps() throws {
    var last = Stamp.earliest
    for _ in 0..<100_000 {
      let next = try last.next(at: 1_750_000_000_000)
      #expect(next > last)
      last = next
    }
    #expect(last.milliseconds == 1_750_000_000_001)
  }

  /// SQLite's integers are signed.
  @Test func storedStampsKeepTheirOrder() {
    let stamps = [Stamp.earliest, Stamp(1), Stamp(1 << 63 - 1), Stamp(1 << 63), .latest]
    #expect(stamps.map(\.stored).sorted() == stamps.map(\.stored))
    #expect(stamps.map { Stamp(stored: $0.stored) } == stamps)
  }

  private static func make() -> File {
    let day: Int64 = 1_750_000_000_000
    let bits = UInt64(day) << 16
    let latest = Stamp.latest.bits
    let steps: [(UInt64, Int64)] = [
      (0, day), (bits, day), (bits + 7, day), (bits + 7, day - 5_000), (bits + 7, 0), (bits + 0xffff, day), (bits, day + 1),
      (0, -1), (0, 0), (0, .max), (latest - 1, 0), (latest, 0), (latest - 0xffff, .max),
    ]
    return File(
      next: steps.map { last, now in
        .init(last: String(last), now: String(now), next: (try? Stamp(last).next(at: now)).map { String($0.bits) })
      })
  }
}
