import Foundation
import MagicData

/// What holds objects in every way that a query can ask about.
struct Work: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String
  @MagicValue var pages: Int = 100
  @MagicValue var author: Writer
  @OptionMagicValue var editor: Writer?
  @OptionMagicValue var agent: AsyncMagical<Writer>?
  @MagicValue var tags: MagicalSet<Tag> = []
  @MagicValue var order: [Tag] = []
  @MagicValue var named: [String: Tag] = [:]
  @MagicValue var later: AsyncMagical<[Tag]> = AsyncMagical(value: [])
  @OptionMagicValue var notes: [Tag]?
  @OptionMagicValue var sequel: Work?

  static var magicIndexes: [MagicIndex] {
    [MagicIndex(\Work.title), MagicIndex(\Work.pages), MagicIndex(\Work.author, \Work.title)]
  }

  init() {}

  init(_ title: String, _ author: Writer, pages: Int = 100) {
    id = title
    self.title = title
    self.author = author
    self.pages = pages
  }

  var authorName: String { author.name }
  var writer: Writer { author }
  var shout: String { author.name.uppercased() }
  var tagCount: Int { tags.count }
  var firstTag: Tag { order[0] }
  var someTags: [Tag] { Array(order.prefix(2)) }
  var allTags: [Tag] { order }
}

struct Writer: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var age: Int = 30
  @MagicValue var score: Double = 0
  @OptionMagicValue var nick: String?
  @MagicValue var isLiving: Bool = false
  @OptionMagicValue var home: City?
  @ReverseMagicValue(\Work.$author) var works: AsyncReverseMagicSet<Work>
  @ReverseMagicValue(\Work.$editor) var edited: AsyncReverseMagicSet<Work>
  @ReverseMagicValue(\Work.$agent) var placed: AsyncReverseMagicSet<Work>

  static var magicIndexes: [MagicIndex] { [MagicIndex(\Writer.nick), MagicIndex(\Writer.score)] }

  init() {}

  init(_ name: String, age: Int = 30) {
    self.name = name
    self.age = age
  }
}

/// Without a primary value.
struct City: MagicObject {
  @MagicValue var name: String
  @MagicValue var size: Int = 0

  static var magicIndexes: [MagicIndex] { [MagicIndex(\City.name)] }

  init() {}

  init(_ name: String) { self.name = name }
}

struct Tag: MagicObject {
  @MagicValue var name: String
  @MagicValue var weight: Int = 1
  @OptionMagicValue var maker: Writer?
  @ReverseMagicValue(\Work.$tags) var inSets: AsyncReverseMagicSet<Work>
  @ReverseMagicValue(\Work.$order) var inLists: AsyncReverseMagicSet<Work>
  @ReverseMagicValue(\Work.$named) var inDictionaries: AsyncReverseMagicSet<Work>
  @ReverseMagicValue(\Work.$later) var inLater: AsyncReverseMagicSet<Work>

  static var magicIndexes: [MagicIndex] { [MagicIndex(\Tag.name)] }

  init() {}

  init(_ name: String, weight: Int = 1) {
    self.name = name
    self.weight = weight
  }
}
