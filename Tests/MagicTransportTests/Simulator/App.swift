import Foundation
import MagicData
import TestSupport

/// What an app of any version knows.
enum App {
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

  /// Without a primary value.
  struct Leaf: MagicObject {
    @MagicValue var text: String

    init() {}

    init(_ text: String) {
      self.text = text
    }
  }

  /// With numbers that the database hands out.
  struct Errand: MagicObject {
    @PrimaryMagicValue var number: Int
    @MagicValue var title: String
    @OptionMagicValue var parent: Errand?
    @MagicValue var related: MagicalSet<Errand> = []

    init() {}
  }
}

/// What both versions of the app know as `Item`.
protocol Item: MagicObject {
  var id: String { get }
  init(_ id: String, _ chance: inout Seeded)
  func change(_ chance: inout Seeded)
}

enum OldApp {
  struct Item: MagicTransportTests.Item {
    @PrimaryMagicValue var id: String
    @MagicValue var title: String

    init() {}

    init(_ id: String, _ chance: inout Seeded) {
      self.id = id
      title = "old \(chance.below(100))"
    }

    func change(_ chance: inout Seeded) { title = "old \(chance.below(100))" }
  }
}

enum NewApp {
  struct Item: MagicTransportTests.Item {
    @PrimaryMagicValue var id: String
    @MagicValue var title: String
    @OptionMagicValue var colour: String?
    @MagicValue var rank: Int = 1

    init() {}

    init(_ id: String, _ chance: inout Seeded) {
      self.id = id
      title = "new \(chance.below(100))"
    }

    func change(_ chance: inout Seeded) {
      if chance.below(2) == 0 { colour = chance.pick(["red", "blue", nil]) } else { rank = chance.below(9) }
    }
  }
}
