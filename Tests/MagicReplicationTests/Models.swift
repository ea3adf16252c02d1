import Foundation
import MagicData

struct Note: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String
  @MagicValue var stars: Int = 0
  @OptionMagicValue var mood: String?

  init() {}

  init(_ id: String, _ title: String) {
    self.id = id
    self.title = title
  }
}

/// Without a primary value.
struct Event: MagicObject {
  @MagicValue var text: String
  @OptionMagicValue var weight: Double?

  init() {}

  init(_ text: String) {
    self.text = text
  }
}

struct Picture: MagicObject {
  @PrimaryMagicValue var id: UUID
  @MagicValue var data: Data

  init() {}
}

/// With a primary value, and with relations to its own type and to one without.
struct Person: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var name: String
  @OptionMagicValue var friend: Person?
  @MagicValue var friends: MagicalSet<Person> = []
  @MagicValue var pages: [Leaf] = []
  @OptionMagicValue var index: [String: Leaf]?

  init() {}

  init(_ id: String, _ name: String) {
    self.id = id
    self.name = name
  }
}

/// Without a primary value, and with relations to its own type and to one with.
struct Leaf: MagicObject {
  @MagicValue var text: String
  @MagicValue var count: Int = 0
  @OptionMagicValue var next: Leaf?
  @OptionMagicValue var owner: Person?
  @MagicValue var others: MagicalSet<Leaf>
  @OptionMagicValue var people: [Person]?
  @MagicValue var byAge: [Int: Person] = [:]

  init() {
    others = []
  }

  init(_ text: String) {
    self.init()
    _text.wrappedValue = text
  }
}

/// Needs an object.
struct Shelf: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var first: Leaf
  @OptionMagicValue var label: Int?

  init() {}

  init(_ number: Int, _ first: Leaf) {
    self.number = number
    self.first = first
  }
}
