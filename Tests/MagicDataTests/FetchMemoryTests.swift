#if os(Linux)
  import Foundation
  import GRDB
  import MagicData
  import TestSupport
  import Testing

  /// What a process holds of what it has fetched, in a process of its own.
  @Suite struct FetchMemoryTests {
    @Test func aStreamTakesNoMoreMemoryForManyRowsThanForFew() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let magic = try await MagicData(path: folder["db"])
        let query = try await Self.filled(magic, 200_000)
        // What every stream takes: connections, statements, caches.
        try await Self.stream(query.limit(20_000), 20_000)
        let few = try await Self.stream(query.limit(20_000), 20_000)
        let many = try await Self.stream(query, 200_000)
        // To hold the objects would take a hundred times that.
        #expect(many - few < 8 << 20)
        let sorted = try await Self.stream(query.sorted(by: \.weight, .descending), 200_000)
        // 8 bytes an object are held, and put together from parts.
        #expect(sorted - few < 24 << 20)
      }
    }

    @Test func aTransactionKeepsNothingOfWhatItStreams() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let magic = try await MagicData(path: folder["db"])
        _ = try await Self.filled(magic, 200_000)
        for hasChanged in [false, true] {
          try await magic.transaction { tx in
            if hasChanged { try await tx.update(Cat("new", 1)) }
            // The new one has no owner.
            let query = tx.query(of: Cat.self).where { $0.owner != nil }
            let few = try await Self.stream(query.limit(20_000), 20_000)
            let many = try await Self.stream(query, 200_000)
            #expect(many - few < 12 << 20)
          }
        }
      }
    }

    /// Instances whose values need no memory beside them go without a look at these; with others in the place of those they do
    /// not.
    @Test func whatWasSetInFetchedInstancesGoesWithThem() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let magic = try await MagicData(path: folder["db"])
        try await magic.update(contentsOf: (0..<64).map { Cat("\($0)", 1) })
        func change() async throws -> Int {
          let cats = try await magic.object(of: Cat.self)
          #expect(cats.count == 64)
          for cat in cats { cat.owner = String(repeating: "x", count: 1 << 20) }
          return try Self.residentBytes()
        }
        let first = try await change()
        for _ in 0..<10 { #expect(try await change() - first < 128 << 20) }
      }
    }

    /// The first object is made by the library; the others are its row again, which is all that a stream reads.
    private static func filled(_ magic: MagicData, _ count: Int) async throws -> MagicQuery<Cat> {
      if try await magic.count(of: Cat.self) == 0 {
        let cat = Cat("0", 0)
        cat.owner = String(repeating: "x", count: 200)
        try await magic.update(cat)
      }
      try await magic.store.write { db in
        let first = try Int.fetchOne(db, sql: "SELECT max(z_index) + 1 FROM Cat") ?? 0
        try db.execute(
          sql: """
            WITH numbers(n) AS (SELECT \(first) UNION ALL SELECT n + 1 FROM numbers WHERE n < \(count))
            INSERT INTO Cat (z_index, name, magic_last, weight, lives, owner)
            SELECT n, n, magic_last, n, lives, owner FROM numbers JOIN Cat ON z_index = 1
            """)
      }
      return magic.query(of: Cat.self)
    }

    /// The most bytes that were in memory meanwhile.
    @discardableResult
    private nonisolated(nonsending) static func stream(_ query: MagicQuery<Cat>, _ expected: Int) async throws -> Int {
      var (peak, count, bytes) = (0, 0, 0)
      for try await cat in query.stream() {
        bytes += cat.owner?.utf8.count ?? 0
        count += 1
        if count % 1_000 == 0 { peak = max(peak, try residentBytes()) }
      }
      #expect((count, bytes) == (expected, 200 * expected))
      return peak
    }

    private static func residentBytes() throws -> Int {
      let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
      return try #require(Int(pages[1])) * sysconf(Int32(_SC_PAGESIZE))
    }
  }
#endif
