import Foundation
import MagicData
import TestSupport
import Testing

enum Level: Int, Magical {
  case easy = 1
  case hard = 2
}

enum Step: MagicalCodable, Equatable {
  case bake(minutes: Int)
  case rest
}

struct Recipe: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var title: String
  @MagicValue var level: Level = .easy
  @MagicValue var steps: [Step] = []
  @OptionMagicValue var source: URL?
  var isOpen = false

  init() {}
}

final class Player: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var score: Int = 0

  init() {}
}

/// The examples of what a model can be.
@Suite struct Models {
  @Test func valuesOfSeveralKindsAreStored() async throws {
    let magic = try await MagicData(type: .memory)

    let recipe = Recipe()
    recipe.title = "Bread"
    recipe.level = .hard
    recipe.steps = [.rest, .bake(minutes: 40)]
    let zIndex = try await magic.update(recipe)
    print("recipe", recipe.number, "has the z index", zIndex)

    let hard = try await magic.query(of: Recipe.self).where { $0.level == .hard }.all()

    #expect(hard.map(\.steps) == [[.rest, .bake(minutes: 40)]])
    #expect(hard.map(\.source) == [nil])
    #expect(recipe.number == 1)
    #expect(magic.zIndex(of: recipe) == zIndex)
    if Recipe.hasPrimaryValue, let place = magic.zIndex(of: recipe) {
      print("recipe", recipe.number, "has the z index", place)
    }
  }

  @Test func classesAreModels() async throws {
    let magic = try await MagicData(type: .memory)
    let player = Player()
    player.name = "Ada"
    try await magic.update(player)
    #expect(try await magic.object(of: Player.self, primary: "Ada").score == 0)
    #expect(player.hasPrimaryValue)
  }

  /// The second of the exceptions.
  @Test func aNumberOfARolledBackTransactionIsGivenAgain() async throws {
    struct Stop: Error {}
    let magic = try await MagicData(type: .memory)
    let (undone, other) = (Recipe(), Recipe())
    (undone.title, other.title) = ("Undone", "Other")
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        try await tx.update(undone)
        throw Stop()
      }
    }
    #expect(undone.number == 1)
    try await magic.update(other)
    #expect(other.number == 1)
    try await magic.update(undone)
    #expect(undone.number == 2)
  }

  /// The third of them.
  @Test func aNumberThatALaterThousandSetsMeansTheObjectThatHasIt() async throws {
    let magic = try await MagicData(type: .memory)
    let recipes = (0..<1_001).map { _ in Recipe() }
    for recipe in recipes { recipe.title = "Bread" }
    recipes[1_000].number = 7
    recipes[1_000].title = "Cake"
    try await magic.update(contentsOf: recipes)
    #expect(try await magic.count(of: Recipe.self) == 1_000)
    #expect(try await magic.object(of: Recipe.self, primary: 7).title == "Cake")
  }

  @Test func nilIsFetchedAsTheDefault() async throws {
    struct Lamp: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var colour: String? = "white"
      init() {}
    }
    let magic = try await MagicData(type: .memory)
    let lamp = Lamp()
    lamp.colour = nil
    try await magic.update(lamp)
    #expect(try await magic.object(of: Lamp.self, primary: lamp.id).colour == "white")
  }
}
