/// Some of a type's properties, by their indexes. The first 64, which is nearly all there ever are, take no memory of their
/// own.
struct PropertySet: Sendable, Hashable {
  /// Words beyond the first.
  private final class More: Sendable, Hashable {
    let words: [UInt64]

    init(_ words: [UInt64]) {
      self.words = words
    }

    static func == (left: More, right: More) -> Bool { left.words == right.words }
    func hash(into hasher: inout Hasher) { hasher.combine(words) }
  }

  private var first: UInt64 = 0
  private var more: More?

  init() {}

  /// The properties of a type with no more than 64.
  init(bits: UInt64) {
    first = bits
  }

  var isEmpty: Bool { first == 0 && (more?.words.allSatisfy { $0 == 0 } ?? true) }

  func contains(_ index: Int) -> Bool {
    if index < 64 { return first & 1 << UInt64(index) != 0 }
    guard let words = more?.words, index / 64 <= words.count else { return false }
    return words[index / 64 - 1] & 1 << UInt64(index % 64) != 0
  }

  mutating func insert(_ index: Int) {
    if index < 64 {
      first |= 1 << UInt64(index)
    } else {
      change(index) { $0 |= 1 << UInt64(index % 64) }
    }
  }

  mutating func remove(_ index: Int) {
    if index < 64 {
      first &= ~(1 << UInt64(index))
    } else {
      change(index) { $0 &= ~(1 << UInt64(index % 64)) }
    }
  }

  func subtracting(_ other: PropertySet) -> PropertySet {
    var left = PropertySet(bits: first & ~other.first)
    guard let words = more?.words else { return left }
    let others = other.more?.words ?? []
    left.more = More(words.enumerated().map { $1 & ~($0 < others.count ? others[$0] : 0) })
    return left
  }

  private mutating func change(_ index: Int, _ body: (inout UInt64) -> Void) {
    var words = more?.words ?? []
    while words.count < index / 64 { words.append(0) }
    body(&words[index / 64 - 1])
    more = More(words)
  }
}
