import Foundation
import MagicData

/// What most cases store: four values of some 160 bytes together, a UUID among them, words and two numbers.
struct Specimen: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var label: String
  @MagicValue var weight: Double
  @MagicValue var count: Int

  init() {}

  init(_ row: SpecimenRow) {
    id = row.id
    label = row.label
    weight = row.weight
    count = row.count
  }
}

/// The same as plain values, for those that make rows of them.
struct SpecimenRow {
  var id: String
  var label: String
  var weight: Double
  var count: Int

  /// Always the same for one number.
  init(_ number: Int) {
    var chance = Chance(seed: UInt64(number))
    id = chance.uuid()
    label = (0..<14).map { _ in chance.word() }.joined(separator: " ") + " \(number)"
    weight = Double(chance.next() % 10_000) / 8
    count = Int(chance.next() % 10)
  }

  static func rows(_ numbers: Range<Int>) -> [SpecimenRow] { numbers.map(SpecimenRow.init) }
}

/// Numbers that look random and are the same in each run: SplitMix64.
struct Chance: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
    // Or the numbers of one seed would be those of the next one, shifted by one.
    state = next()
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func uuid() -> String {
    let (high, low) = (next(), next())
    let digits = String(format: "%016lX%016lX", high, low)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append("-") }
      text.append(digit)
    }
    return text
  }

  mutating func word() -> String { Chance.words[Int(next() % UInt64(Chance.words.count))] }

  private static let words = """
    amber basalt calcite dolomite emerald feldspar garnet halite ilmenite jasper kyanite lazurite magnetite nephrite olivine pyrite \
    quartz rutile sphalerite talc uraninite vesuvianite wolframite xenotime yttrium zircon agate beryl corundum diopside epidote \
    fluorite gypsum hematite
    """.split(separator: " ").map(String.init)
}
