/// Some of a type's properties, by their indexes. The first 64 take no memory of their own.
struct PropertySet: Sendable, Hashable {
  private var first: UInt64 = 0
  private var more: [UInt64] = []

  var isEmpty: Bool { first == 0 && more.allSatisfy { $0 == 0 } }

  func contains(_ index: Int) -> Bool {
    if index < 64 { return first & 1 << UInt64(index) != 0 }
    let word = index / 64 - 1
    return word < more.count && more[word] & 1 << UInt64(index % 64) != 0
  }

  mutating func remove(_ index: Int) {
    if index < 64 {
      first &= ~(1 << UInt64(index))
    } else if index / 64 - 1 < more.count {
      more[index / 64 - 1] &= ~(1 << UInt64(index % 64))
    }
  }

  mutating func insert(_ index: Int) {
    guard index >= 64 else {
      first |= 1 << UInt64(index)
      return
    }
    let word = index / 64 - 1
    while more.count <= word { more.append(0) }
    more[word] |= 1 << UInt64(index % 64)
  }
}
