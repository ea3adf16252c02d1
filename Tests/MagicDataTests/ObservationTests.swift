import Foundation
import MagicData
import TestSupport
import Testing

/// The names of the cats, each time that a consumer is given them.
private func cats(_ magic: MagicData) -> Elements<[String]> {
  Elements { seen in
    for try await cats in magic.observe(of: Cat.self) { seen.yield(cats.map(\.name)) }
  }
}

@Suite(.timeLimit(.minutes(15))) struct ObservationTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test(arguments: [MagicData.Volatile.memory, .temporary])
  func theFirstElementIsWhatIsThereAndEachChangeGivesAnother(type: MagicData.Volatile) async throws {
    let magic = try await MagicData(type: type)
    try await magic.update(Cat("Tom", 4))
    let seen = cats(magic)
    #expect(await seen.next() == ["Tom"])
    try await magic.update(Cat("Kit", 1))
    #expect(await seen.next() == ["Tom", "Kit"])
    try await magic.transaction { transaction in
      try await transaction.update(Cat("Mia", 1))
      try await transaction.remove(Cat("Tom", 4))
    }
    #expect(await seen.next() == ["Kit", "Mia"])
    try await magic.removeAll(of: Cat.self)
    #expect(await seen.next() == [])
  }

  @Test func aTypeThatTheDatabaseHasNeverSeenIsObserved() async throws {
    let magic = try await MagicData(path: folder["db"])
    let seen = cats(magic)
    #expect(await seen.next() == [])
    try await MagicData(path: folder["db"]).update(Cat("Tom", 4))
    #expect(await seen.next() == ["Tom"])
  }

  @Test func otherTypesAndWhatWasRolledBackGiveNothing() async throws {
    struct Stop: Error {}
    let magic = try await MagicData(path: folder["db"])
    let seen = cats(magic)
    #expect(await seen.next() == [])
    for number in 0..<20 {
      let place = Place()
      place.number = number
      try await magic.update(place)
      await #expect(throws: Stop.self) {
        try await magic.transaction { transaction in
          try await transaction.update(Cat("Nobody", 0))
          throw Stop()
        }
      }
      // Nothing of it is new, so nothing is written.
      if number > 0 { try await magic.update(place) }
    }
    try await magic.update(Cat("Tom", 4))
    #expect(await seen.next() == ["Tom"])
  }

  /// After a burst the last element is what is there, however its commits fell together.
  @Test(arguments: seeds(5)) func aBurstEndsWithWhatIsThere(seed: UInt64) async throws {
    let (magic, other) = (try await MagicData(path: folder["db"]), try await MagicData(path: folder["db"]))
    let observers = [cats(magic), cats(magic), cats(other)]
    let count = 30
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, writer) in [magic, other, magic].enumerated() {
        group.addTask {
          var chance = Seeded(seed + UInt64(number))
          for index in 0..<count {
            try await writer.update(Cat("\(number)-\(index)", 1))
            for _ in 0..<chance.below(20) { await Task.yield() }
          }
        }
      }
      try await group.waitForAll()
    }
    for observer in observers {
      var last: [String]?
      repeat {
        let names = try #require(await observer.next(), "MAGIC_SEED=\(seed)")
        // Never back in time.
        #expect(names.count >= last?.count ?? 0, "MAGIC_SEED=\(seed)")
        last = names
      } while last?.count != 3 * count
    }
  }

  /// H-40: another process, which tells this one nothing, is found by asking; whoever asks for all may leave.
  @Test func changesOfAnotherOpeningAreSeenByAllObservers() async throws {
    let (magic, other) = (try await MagicData(path: folder["db"]), try await MagicData(path: folder["db"]))
    var observers = (0..<5).map { _ in cats(magic) }
    for observer in observers { #expect(await observer.next() == []) }
    var names: [String] = []
    while !observers.isEmpty {
      names.append("\(observers.count)")
      try await other.update(Cat(names[names.count - 1], 1))
      for observer in observers { #expect(await observer.next() == names) }
      let first = observers.removeFirst()
      first.cancel()
      #expect(await first.next() == nil)
    }
  }

  @Test(arguments: [true, false]) func anObservationOfAFileThatIsNotInItsPlaceEnds(isReplaced: Bool) async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 1))
    let file = folder["db/default.sqlite3"]
    var iterator = magic.observe(of: Cat.self).makeAsyncIterator()
    #expect(try await iterator.next()?.count == 1)
    if isReplaced {
      try FileManager.default.moveItem(at: file, to: folder["aside"])
      try Data().write(to: file)
    } else {
      try FileManager.default.removeItem(at: file)
    }
    await #expect { _ = try await iterator.next()?.count } throws: { ($0 as? MagicDataError)?.code == .notFound }
  }

  @Test func cancellingEndsTheSequenceWithoutAnError() async throws {
    let magic = try await MagicData(path: folder["db"])
    let seen = cats(magic)
    #expect(await seen.next() == [])
    seen.cancel()
    #expect(await seen.next() == nil)
    try await seen.finish()
    let late = Task {
      var cats = magic.observe(of: Cat.self).makeAsyncIterator()
      withUnsafeCurrentTask { $0?.cancel() }
      return try await cats.next() == nil
    }
    #expect(try await late.value)
  }

  @Test(arguments: [0, 1, 5]) func closingEndsAllSequences(observers: Int) async throws {
    let magic = try await MagicData(path: folder["db"])
    let seen = (0..<observers).map { _ in cats(magic) }
    for observer in seen { #expect(await observer.next() == []) }
    let changes = Elements<MagicChanges> { seen in
      for try await changes in try await magic.changes() { seen.yield(changes) }
    }
    try await magic.update(Cat("Tom", 4))
    try await magic.close()
    for observer in seen {
      while await observer.next() != nil {}
      try await observer.finish()
    }
    while await changes.next() != nil {}
    try await changes.finish()
    var after = magic.observe(of: Cat.self).makeAsyncIterator()
    #expect(try await after.next() == nil)
    #expect(try await after.next() == nil)
  }

  @Test func nothingIsLeftRunningWhenNobodyWaits() async throws {
    func use() async throws -> Held {
      let magic = try await MagicData(type: .temporary)
      var first = magic.observe(of: Cat.self).makeAsyncIterator()
      #expect(try await first.next()?.count == 0)
      var changes = try await magic.changes().makeAsyncIterator()
      try await magic.update(Cat("Tom", 4))
      #expect(try await changes.next()?.objects.count == 1)
      let waiting = cats(magic)
      #expect(await waiting.next() == ["Tom"])
      waiting.cancel()
      try await waiting.finish()
      return Held(magic.store)
    }
    // What runs for a sequence holds the store.
    let held = try await use()
    #expect(held.store == nil)
  }

  private struct Held {
    weak var store: Store?

    init(_ store: Store) {
      self.store = store
    }
  }

  @Test func aTypeThatCannotBeStoredIsAnErrorOfTheFirstElement() async throws {
    enum Other {
      struct Cat: MagicObject {
        @PrimaryMagicValue var name: String
        init() {}
      }
    }
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    var cats = magic.observe(of: Other.Cat.self).makeAsyncIterator()
    await #expect { _ = try await cats.next() } throws: { ($0 as? MagicDataError)?.code == .model }
    #expect(try await cats.next() == nil)
  }

  @Test func aChangeOfAnObjectThatIsReachedGivesAnother() async throws {
    struct Owner: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var name: String
      init() {}
    }
    struct Dog: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var owner: Owner?
      @OptionMagicValue var friend: Dog?
      init() {}
    }
    let magic = try await MagicData(path: folder["db"])
    let seen = Elements<[String?]> { seen in
      for try await dogs in magic.observe(of: Dog.self) { seen.yield(dogs.map { $0.owner?.name }) }
    }
    #expect(await seen.next() == [])
    let (dog, owner) = (Dog(), Owner())
    owner.name = "Jon"
    dog.owner = owner
    try await magic.update(dog)
    #expect(await seen.next() == ["Jon"])
    owner.name = "Liz"
    try await magic.update(owner)
    #expect(await seen.next() == ["Liz"])
    try await magic.remove(owner)
    #expect(await seen.next() == [nil])
  }

  /// Short reads wait on threads that long ones need to end.
  @Test func manyReadersOfAllKindsComeToAnEnd() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(contentsOf: (0..<100).map { Cat("\($0)", 1) })
    let observers = (0..<8).map { _ in cats(magic) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          for index in 0..<10 {
            if number == 0 { try await magic.update(Cat("new \(index)", 1)) }
            #expect(try await magic.has(of: Cat.self, primary: "\(number)"))
            if number.isMultiple(of: 2) { #expect(try await magic.object(of: Cat.self).count >= 100) }
          }
        }
      }
      try await group.waitForAll()
    }
    for observer in observers {
      while let names = await observer.next(), names.count < 110 {}
    }
  }

  /// Objects stay where they are fetched: an actor's, and not Sendable.
  @MainActor @Test func elementsBelongToTheirConsumer() async throws {
    let magic = try await MagicData(type: .memory)
    var shown: [Cat] = []
    try await magic.update(Cat("Tom", 4))
    for try await cats in magic.observe(of: Cat.self) {
      MainActor.assertIsolated()
      shown = cats
      guard let first = cats.first, cats.count == 1 else { break }
      first.weight += 1
      try await magic.update(first)
      try await magic.update(Cat("Kit", 1))
    }
    #expect(shown.map(\.weight) == [5, 1])
  }
}
