/// Where an entry stands in the journal: a row of `magic_journal` and its place there (J-18). 0 is nowhere.
///
/// An object's row knows the place of the entry that came last, and each entry that of another one: so an object's entries are
/// found without an index, which would cost as much as the entries themselves. Mostly that is the one before; one that came
/// late and changed nothing stands behind the one that it lost to (`LateEntries`).
package struct EntryPlace: Sendable, Hashable {
  package let bits: Int64

  package static let none = EntryPlace(bits: 0)
  /// How many entries a row takes at most.
  static let perRow = 128
  /// Rows beyond have no place in 64 bits.
  static let lastRow: Int64 = 1 << 54

  package init(bits: Int64) {
    self.bits = bits
  }

  init(row: Int64, index: Int, isLatest: Bool) {
    bits = row << 8 | Int64(index) << 1 | (isLatest ? 0 : 1)
  }

  package var row: Int64 { bits >> 8 }
  var index: Int { Int(bits >> 1 & 127) }
  /// Whether no entry of the object before it in the journal has a higher stamp.
  package var isLatest: Bool { bits & 1 == 0 }
  package var isNone: Bool { bits == 0 }
}

/// Checks each step along an object's chain of entries, so that a walk ends whatever the bytes say: the places of entries
/// in time only fall, and so do those of the late entries behind one of them.
struct ChainOrder {
  private var inTime = Int64.max
  private var late = Int64.max

  mutating func leads(to place: EntryPlace) -> Bool {
    if place.isLatest {
      guard place.bits < inTime else { return false }
      (inTime, late) = (place.bits, .max)
    } else {
      guard place.bits < late else { return false }
      late = place.bits
    }
    return true
  }
}
