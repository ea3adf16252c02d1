/// SHA-256 (FIPS 180-4), for names, digests and what is compared by its hash. The lowest floor has no other use for a
/// cryptographic library.
package struct SHA256: Sendable {
  private typealias State = (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32)

  private var state: State = (
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19
  )

  /// What is left of the pieces so far, less than a block.
  private var tail: [UInt8] = []
  private var count = 0

  package init() {}

  package static func hash(_ message: [UInt8]) -> [UInt8] {
    message.withUnsafeBytes { hash($0) }
  }

  package static func hash(_ message: UnsafeRawBufferPointer) -> [UInt8] {
    whole(message).bytes
  }

  /// The first 16 bytes, as two numbers.
  static func halves(_ message: [UInt8]) -> (high: UInt64, low: UInt64) {
    let state = message.withUnsafeBytes { whole($0).state }
    return (UInt64(state.0) << 32 | UInt64(state.1), UInt64(state.2) << 32 | UInt64(state.3))
  }

  private static func whole(_ message: UnsafeRawBufferPointer) -> SHA256 {
    var hash = SHA256()
    hash.count = message.count
    let whole = message.count / 64 * 64
    for start in stride(from: 0, to: whole, by: 64) { hash.absorb(message, start) }
    hash.close(UnsafeRawBufferPointer(rebasing: message[whole...]))
    return hash
  }

  /// Goes on with a message that comes in pieces.
  package mutating func update(_ piece: UnsafeRawBufferPointer) {
    count += piece.count
    var start = 0
    if !tail.isEmpty {
      start = min(64 - tail.count, piece.count)
      tail += piece[..<start]
      guard tail.count == 64 else { return }
      absorbTail()
    }
    let whole = start + (piece.count - start) / 64 * 64
    for start in stride(from: start, to: whole, by: 64) { absorb(piece, start) }
    tail += piece[whole...]
  }

  /// The hash of all pieces, after the last of them.
  package mutating func finish() -> [UInt8] {
    let rest = tail
    tail = []
    rest.withUnsafeBytes { close($0) }
    return bytes
  }

  /// The last of the message, less than a block, with what stands behind it.
  private mutating func close(_ rest: UnsafeRawBufferPointer) {
    let length = rest.count < 56 ? 64 : 128
    withUnsafeTemporaryAllocation(byteCount: length, alignment: 8) { blocks in
      blocks.initializeMemory(as: UInt8.self, repeating: 0)
      blocks.copyMemory(from: rest)
      blocks[rest.count] = 0x80
      blocks.storeBytes(of: UInt64(count * 8).bigEndian, toByteOffset: length - 8, as: UInt64.self)
      for start in stride(from: 0, to: length, by: 64) { absorb(UnsafeRawBufferPointer(blocks), start) }
    }
  }

  private mutating func absorbTail() {
    let block = tail
    tail = []
    block.withUnsafeBytes { absorb($0, 0) }
  }

  private var bytes: [UInt8] {
    withUnsafeBytes(of: state) { state in
      Array(unsafeUninitializedCapacity: 32) { bytes, count in
        for (place, word) in state.bindMemory(to: UInt32.self).enumerated() {
          for index in 0..<4 { bytes[4 * place + index] = UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32(index))) }
        }
        count = 32
      }
    }
  }

  private mutating func absorb(_ bytes: UnsafeRawBufferPointer, _ start: Int) {
    state = SHA256.state(state, after: bytes, start)
  }

  /// Unchecked shifts and raw pointers: an unoptimized build, as in tests, takes a tenth of the time. Eight rounds are
  /// unrolled, after which all eight words are back in their places, so that none is moved between rounds.
  private static func state(_ before: State, after bytes: UnsafeRawBufferPointer, _ start: Int) -> State {
    constants.withUnsafeBufferPointer { k in
      withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
        guard let w = words.baseAddress, let k = k.baseAddress else { return before }
        var i = 0
        while i < 16 {
          w[i] = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: start &+ 4 &* i, as: UInt32.self))
          i &+= 1
        }
        while i < 64 {
          let (x, y) = (w[i &- 15], w[i &- 2])
          let s0 = (x &>> 7 | x &<< 25) ^ (x &>> 18 | x &<< 14) ^ x &>> 3
          let s1 = (y &>> 17 | y &<< 15) ^ (y &>> 19 | y &<< 13) ^ y &>> 10
          w[i] = w[i &- 16] &+ s0 &+ w[i &- 7] &+ s1
          i &+= 1
        }
        var (a, b, c, d, e, f, g, h) = before
        i = 0
        while i < 64 {
          round(a, b, c, &d, e, f, g, &h, k[i] &+ w[i])
          round(h, a, b, &c, d, e, f, &g, k[i &+ 1] &+ w[i &+ 1])
          round(g, h, a, &b, c, d, e, &f, k[i &+ 2] &+ w[i &+ 2])
          round(f, g, h, &a, b, c, d, &e, k[i &+ 3] &+ w[i &+ 3])
          round(e, f, g, &h, a, b, c, &d, k[i &+ 4] &+ w[i &+ 4])
          round(d, e, f, &g, h, a, b, &c, k[i &+ 5] &+ w[i &+ 5])
          round(c, d, e, &f, g, h, a, &b, k[i &+ 6] &+ w[i &+ 6])
          round(b, c, d, &e, f, g, h, &a, k[i &+ 7] &+ w[i &+ 7])
          i &+= 8
        }
        return (
          before.0 &+ a, before.1 &+ b, before.2 &+ c, before.3 &+ d, before.4 &+ e, before.5 &+ f, before.6 &+ g, before.7 &+ h
        )
      }
    }
  }

  @inline(__always) private static func round(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32, _ e: UInt32, _ f: UInt32, _ g: UInt32, _ h: inout UInt32,
    _ word: UInt32
  ) {
    let s1 = (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
    h = h &+ s1 &+ (g ^ (e & (f ^ g))) &+ word
    d = d &+ h
    let s0 = (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
    h = h &+ s0 &+ ((a & b) | (c & (a | b)))
  }

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}
