import Foundation
import MagicData

struct Job: MagicalCodable, Equatable {
  var title: String
  var tags: Set<String>
  var scores: [Double: [Int]]
}

enum Level: Int, Magical {
  case low = -1
  case high = 7
}
enum Color: String, Magical {
  case red
  case green = "grün"
}
enum Shape: String, MagicalCodable { case round, square }

struct Everything: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var text: String
  @MagicValue var uuid: UUID
  @MagicValue var int: Int
  @MagicValue var double: Double
  @MagicValue var float: Float
  @MagicValue var data: Data
  @MagicValue var bool: Bool
  @MagicValue var date: Date
  @MagicValue var url: URL
  @MagicValue var level: Level
  @MagicValue var color: Color
  @MagicValue var shape: Shape
  @MagicValue var job: Job
  @MagicValue var array: [String]
  @MagicValue var dictionary: [String: Int]
  @MagicValue var set: Set<Int>

  init() {}

  static func filled() throws -> Everything {
    let object = Everything()
    object.text = "a\0b 👩‍👩‍👧 e\u{301}"
    object.uuid = UUID()
    object.int = .min
    object.double = -0.0
    object.float = .pi
    object.data = Data()
    object.bool = true
    object.date = Date(timeIntervalSinceReferenceDate: 1e-7)
    object.url = URL(fileURLWithPath: "/a b/ü")
    object.level = .low
    object.color = .green
    object.shape = .square
    object.job = Job(title: "\"x\"\n\u{1}", tags: ["b", "a", "c"], scores: [2.5: [1], -1: []])
    object.array = ["y", "x", "y"]
    object.dictionary = ["b": 1, "a": .max, "é": 3, "e\u{301}x": 4]
    object.set = [3, 1, 2]
    return object
  }
}

struct Cat: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var weight: Double
  @MagicValue var lives: Int = 9
  @OptionMagicValue var owner: String?

  init() {}

  init(_ name: String, _ weight: Double) {
    self.name = name
    self.weight = weight
  }
}

/// A class, with properties of its own beside the stored ones.
final class Session: MagicObject {
  @MagicValue var title: String
  @OptionMagicValue var rating: Int?
  var isOpen = true
  let opened = Date()

  init() {}
}

struct Place: MagicObject {
  @PrimaryMagicValue var number: Int
  @OptionMagicValue var name: String?

  init() {}
}
