import MagicJournal
import TestSupport
import Testing

@Suite struct ZlibTests {
  private static let block = 1 << 20

  /// Long streams are packed in blocks: at each of their edges what comes out is what went in, in about the bytes of one
  /// stream.
  @Test(arguments: [0, 1, block - 1, block, block + 1, 2 * block, 3 * block + 5])
  func whatIsPackedComesBack(count: Int) throws {
    var chance = Seeded(UInt64(count))
    // Words of few letters: they pack, and matches reach over every edge.
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += [UInt8](repeating: UInt8.random(in: 97...100, using: &chance), count: 3) + [32] }
    bytes.removeLast(bytes.count - count)
    let packed = try Zlib.deflate(bytes)
    #expect(try Zlib.inflate(packed[...], to: count) == bytes)
    #expect(packed.count < count / 8 + 64)
    #expect(try Zlib.deflate(bytes) == packed, "the same bytes, whichever thread was first")
  }

  /// One at a time has threads beside its own; what those who come meanwhile write is the same.
  @Test func whoPacksBesideOthersWritesTheSame() async throws {
    let bytes = (0..<4 * ZlibTests.block).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
    let alone = try Zlib.deflate(bytes)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<6 { group.addTask { try Zlib.deflate(bytes) == alone } }
      for try await isSame in group { #expect(isSame) }
    }
  }

  /// The end of a stream is told from one that was cut there, wherever a block ends.
  @Test func aStreamOfBlocksThatIsCutIsRefused() throws {
    let bytes = (0..<2 * ZlibTests.block).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
    let packed = try Zlib.deflate(bytes)
    for length in [packed.count - 1, packed.count - 4, packed.count - 5, packed.count / 2] {
      #expect(throws: JournalError.self) { try Zlib.inflate(packed[..<length], to: bytes.count) }
    }
    var changed = packed
    changed[packed.count - 1] ^= 1
    #expect(throws: JournalError.self) { try Zlib.inflate(changed[...], to: bytes.count) }
  }
}
