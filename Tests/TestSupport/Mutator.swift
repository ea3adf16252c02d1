internal import MagicJournal

/// Makes inputs that are nearly right out of inputs that are right.
package struct Mutator {
  private let corpus: [[UInt8]]
  /// What the format is written in, if it is a text.
  private let words: [[UInt8]]
  private var chance: Seeded

  package init(_ corpus: [[UInt8]], words: [String] = [], seed: UInt64) {
    precondition(!corpus.isEmpty, "something that is right is needed to begin with")
    (self.corpus, self.words) = (corpus, words.map { Array($0.utf8) })
    chance = Seeded(seed)
  }

  /// Now and then noise, mostly a valid input with a few faults.
  package mutating func next() -> [UInt8] {
    guard chance.below(40) > 0 else { return noise(atMost: 200) }
    var bytes = chance.pick(corpus)
    for _ in 0...chance.below(4) { change(&bytes) }
    return bytes
  }

  private mutating func noise(atMost count: Int) -> [UInt8] {
    (0..<chance.below(count + 1)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
  }

  /// A run within the bytes, mostly a short one.
  private mutating func range(in bytes: [UInt8]) -> Range<Int> {
    let start = chance.below(bytes.count + 1)
    let longest = chance.below(4) == 0 ? bytes.count - start : min(9, bytes.count - start)
    return start..<start + chance.below(longest + 1)
  }

  private mutating func change(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else {
      bytes += noise(atMost: 20)
      return
    }
    let offset = chance.below(bytes.count)
    switch chance.below(words.isEmpty ? 12 : 16) {
    case 0: bytes[offset] ^= 1 << UInt8(chance.below(8))
    case 1: bytes[offset] = UInt8(truncatingIfNeeded: chance.next())
    case 2: bytes[offset] = chance.pick([0, 1, 0x7f, 0x80, 0xff])
    case 3: bytes.removeSubrange(range(in: bytes))
    case 4: bytes.insert(contentsOf: noise(atMost: 9), at: offset)
    case 5: bytes.removeSubrange(offset...)
    // A length, or another number, that is one too many or too few.
    case 6: bytes[offset] &+= chance.pick([1, 0xff])
    case 7: overwrite(&bytes, at: offset, with: extreme())
    case 8: bytes.insert(contentsOf: extreme(), at: offset)
    case 9:
      let range = range(in: bytes)
      bytes.insert(contentsOf: bytes[range], at: chance.below(bytes.count + 1))
    case 10:
      let range = range(in: bytes)
      let copy = Array(bytes[range])
      overwrite(&bytes, at: chance.below(bytes.count), with: copy)
    case 11: splice(&bytes)
    default: bytes.replaceSubrange(range(in: bytes), with: chance.pick(words))
    }
  }

  /// Begins as one input and ends as another.
  private mutating func splice(_ bytes: inout [UInt8]) {
    let other = chance.pick(corpus)
    bytes = Array(bytes[..<chance.below(bytes.count + 1)]) + other[chance.below(other.count + 1)...]
  }

  private func overwrite(_ bytes: inout [UInt8], at offset: Int, with other: [UInt8]) {
    let count = min(other.count, bytes.count - offset)
    bytes.replaceSubrange(offset..<offset + count, with: other[..<count])
  }

  /// A number at the edge of what a format can say, as one of the formats says numbers.
  private mutating func extreme() -> [UInt8] {
    let power = UInt64(1) << UInt64(chance.below(64))
    let number = chance.pick([power, power - 1, power &+ 1, .max, .max - power])
    var writer = ByteWriter()
    switch chance.below(4) {
    case 0: writer.varint(number)
    case 1: writer.fixed(number)
    case 2: writer.fixed(UInt32(truncatingIfNeeded: number))
    default: writer.fixed(UInt16(truncatingIfNeeded: number))
    }
    return writer.bytes
  }
}
