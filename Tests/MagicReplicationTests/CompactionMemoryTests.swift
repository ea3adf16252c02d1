#if os(Linux)
  import Foundation
  import MagicData
  import MagicReplication
  import TestSupport
  import Testing

  /// What a process takes to give up a long history of large values, in a process of its own: a phone ends one that takes much,
  /// and the next time again.
  @Suite struct CompactionMemoryTests {
    /// K-2, K-14, K-17: neither what goes, nor what lies above the floor, is in memory at once.
    @Test func aLongHistoryOfLargeValuesTakesTheMemoryOfAFew() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let world = World()
        let a = try Replica(folder["a"], folder["remote"], world)
        try await Self.rename(a, 0..<100)
        world.advance(100_000)
        try await Self.rename(a, 100..<260)
        let digest = try await a.magic.digest()
        let first = try Self.peakBytes()
        // All of it is 260 MB.
        let report = try await a.magic.compact(keeping: .seconds(60))
        #expect((report.entries, report.keptEntries) == (100, 2))
        #expect(try Self.peakBytes() - first < 96 << 20)
        // A checkpoint, and 160 MB above it.
        #expect(try await a.replicator.push().checkpoints == 1)
        #expect(try Self.peakBytes() - first < 96 << 20)
        #expect(try await a.magic.digest() == digest)
      }
    }

    /// One object, a megabyte each time.
    private nonisolated(nonsending) static func rename(_ replica: Replica, _ numbers: Range<Int>) async throws {
      for number in numbers {
        try await replica.magic.update(Note("n", "\(number) " + String(repeating: "x", count: 1 << 20)))
      }
    }

    /// The most that was in memory since the process began.
    private static func peakBytes() throws -> Int {
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
      return try #require(Int(line.split(whereSeparator: \.isWhitespace)[1])) << 10
    }
  }
#endif
