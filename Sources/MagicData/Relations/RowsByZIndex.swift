/// Which row of a fetch is at a z index. These count up, so they need no hash that nobody can foresee: it would take longer
/// than all else that a look-up does, and each member of a relation is looked up several times.
struct RowsByZIndex: Sendable {
  /// Free where there is no row; as many as a power of two, and half of them free at least.
  private var slots: [(zIndex: Int64, row: Int)] = []
  private var count = 0

  private static let free = Int.min

  /// - Returns: `nil` if none was set.
  subscript(zIndex: Int64) -> Int? {
    guard !slots.isEmpty else { return nil }
    let row = slots[place(of: zIndex)].row
    return row == RowsByZIndex.free ? nil : row
  }

  mutating func set(_ row: Int, at zIndex: Int64) {
    reserve(count + 1)
    let place = place(of: zIndex)
    if slots[place].row == RowsByZIndex.free { count += 1 }
    slots[place] = (zIndex, row)
  }

  /// Makes room for so many.
  mutating func reserve(_ count: Int) {
    guard slots.count < 2 * count else { return }
    let before = slots
    var size = 16
    while size < 2 * count { size *= 2 }
    slots = Array(repeating: (0, RowsByZIndex.free), count: size)
    for slot in before where slot.row != RowsByZIndex.free { slots[place(of: slot.zIndex)] = slot }
  }

  /// Where a z index stands, or is to stand.
  private func place(of zIndex: Int64) -> Int {
    // The upper bits of a product with the golden ratio: neighbours come far apart.
    let bits = UInt64(bitPattern: zIndex) &* 0x9E37_79B9_7F4A_7C15
    var place = Int(truncatingIfNeeded: bits >> UInt64(slots.count.leadingZeroBitCount + 1))
    while slots[place].row != RowsByZIndex.free, slots[place].zIndex != zIndex { place = (place + 1) & (slots.count - 1) }
    return place
  }
}
