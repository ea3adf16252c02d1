import TestSupport
import Testing

@testable import MagicData

/// A map of a fetch's rows: what a dictionary would say.
@Suite struct RowsByZIndexTests {
  @Test(arguments: [0, 1, 2, 3]) func saysWhatADictionaryDoes(seed: UInt64) {
    var chance = Seeded(seed)
    // Counting up, in steps that a power of two may catch, with few collisions, and any.
    let steps: [Int64] = [1, 1 << 20, 1 << 60, .max / 3]
    var (rows, expected) = (RowsByZIndex(), [Int64: Int]())
    for number in 0..<3_000 {
      let zIndex = seed == 3 ? Int64(bitPattern: chance.next()) : Int64(number / 2) &* steps[Int(seed)]
      #expect(rows[zIndex] == expected[zIndex])
      let row = number % 7 == 0 ? -1 : number
      rows.set(row, at: zIndex)
      expected[zIndex] = row
    }
    for (zIndex, row) in expected { #expect(rows[zIndex] == row) }
    #expect(rows[-5] == expected[-5])
  }
}
