import Foundation
import MagicData

/// SwiftyCoreData's benchmark.
struct Cat: MagicObject {
  @MagicValue var name: String
  @MagicValue var weight: Double
  @MagicValue var age: Int

  init() {}

  init(number: Int) {
    name = "cat \(number)"
    weight = Double(number % 80) / 8
    age = number % 20
  }
}

/// Empire's benchmark.
struct Pair: MagicObject {
  @PrimaryMagicValue var key: Int
  @MagicValue var value: String

  init() {}

  init(key: Int) {
    self.key = key
    value = "value \(key)"
  }
}

/// One value with an index.
struct Reading: MagicObject {
  @MagicValue var time: Int
  @MagicValue var place: String
  @MagicValue var value: Double

  static var magicIndexes: [MagicIndex] { [MagicIndex(\Reading.time)] }

  init() {}

  init(number: Int) {
    time = number
    place = "place \(number % 50)"
    value = Double(number) / 8
  }
}

struct Member: MagicObject {
  @MagicValue var text: String
  @ReverseMagicValue(\Owner.$members) var owners: AsyncReverseMagicSet<Owner>

  init() {}

  init(_ text: String) {
    self.text = text
  }
}

struct Owner: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var members: MagicalSet<Member> = []

  init() {}

  init(number: Int) {
    name = Owner.name(number)
    members = MagicalSet((0..<10).map { Member(Owner.member($0, of: number)) })
  }

  static func name(_ number: Int) -> String { "owner \(number)" }
  static func member(_ index: Int, of number: Int) -> String { "member \(index) of \(number)" }
}

struct Picture: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var content: MagicAsset<Data>

  init() {}

  init(number: Int, bytes: Int) {
    name = "picture \(number)"
    content = MagicAsset(value: Picture.content(number, bytes: bytes), pathExtension: "bin")
  }

  static func content(_ number: Int, bytes: Int) -> Data {
    var chance = Chance(seed: UInt64(number))
    let words = (0..<bytes / 8).map { _ in chance.next() }
    return words.withUnsafeBytes { Data($0) }
  }
}

/// Bytes that do not pack, in the row itself.
struct Parcel: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var content: Data

  init() {}

  init(number: Int, bytes: Int) {
    self.number = number
    content = Picture.content(number, bytes: bytes)
  }
}
