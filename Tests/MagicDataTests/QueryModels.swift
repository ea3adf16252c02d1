import Foundation
import MagicData

enum Genre: String, Magical { case novel, poems, essay }
enum Grade: Int, Magical {
  case poor = -5
  case fair
  case good = 40
}
enum Only: String, Magical { case one }

struct Book: MagicObject {
  @PrimaryMagicValue var isbn: String
  @MagicValue var title: String
  @MagicValue var author: String = "anonymous"
  @MagicValue var year: Int
  @MagicValue var pages: Int = 100
  @MagicValue var price: Double = 0
  @MagicValue var genre: Genre = .novel
  @MagicValue var isSold: Bool = false
  @MagicValue var tags: [String] = []
  @OptionMagicValue var owner: String?
  @OptionMagicValue var rating: Double?
  @OptionMagicValue var grade: Grade?
  @OptionMagicValue var job: Job?

  static var magicIndexes: [MagicIndex] {
    [
      MagicIndex(\Book.title), MagicIndex(\Book.author, \Book.year), MagicIndex(\Book.pages), MagicIndex(\Book.price),
      MagicIndex(\Book.owner), MagicIndex(\Book.$grade),
    ]
  }

  init() {}

  init(_ title: String, author: String = "anonymous", year: Int = 2000, pages: Int = 100) {
    isbn = title
    self.title = title
    self.author = author
    self.year = year
    self.pages = pages
  }

  // What queries have to see through, or to refuse.
  var heading: String { title }
  var holder: String? { owner }
  var shout: String { title.uppercased() }
  var both: String { title + author }
  var either: String { title.isEmpty ? author : title }
  var fixed: Int { 42 }
  var isCheap: Bool { price < 5 }
  var tagCount: Int { tags.count }
  var ownerLength: Int? { owner?.count }
  var labels: [String] { tags.map { $0.uppercased() } }
}

/// Every kind of value, some with an index.
struct Odd: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var int: Int
  @MagicValue var text: String
  @MagicValue var other: String
  @MagicValue var double: Double
  @MagicValue var float: Float
  @MagicValue var flag: Bool
  @MagicValue var date: Date
  @MagicValue var uuid: UUID
  @MagicValue var data: Data
  @MagicValue var genre: Genre
  @MagicValue var only: Only
  @MagicValue var shape: Shape
  @OptionMagicValue var perhapsInt: Int?
  @OptionMagicValue var perhapsText: String?
  @OptionMagicValue var perhapsDouble: Double?
  @OptionMagicValue var grade: Grade?
  // With defaults, which stand for NULL.
  @MagicValue var count: Int = 3
  @MagicValue var word: String = "b"
  @MagicValue var ratio: Double = -0.0
  @MagicValue var level: Double = 1.5
  @OptionMagicValue var mood: String? = "é"

  static var magicIndexes: [MagicIndex] {
    [
      MagicIndex(\Odd.int), MagicIndex(\Odd.text, \Odd.double), MagicIndex(\Odd.double), MagicIndex(\Odd.perhapsInt),
      MagicIndex(\Odd.perhapsText), MagicIndex(\Odd.perhapsDouble), MagicIndex(\Odd.count), MagicIndex(\Odd.word),
      MagicIndex(\Odd.ratio), MagicIndex(\Odd.genre), MagicIndex(\Odd.only), MagicIndex(\Odd.$shape), MagicIndex(\Odd.uuid),
    ]
  }

  init() {}
}
