import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

@Suite struct TransactionTests {
  struct Stop: Error {}

  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func cats(_ magic: MagicData? = nil) async throws -> [String: Double] {
    let cats = try await (magic ?? self.magic).object(of: Cat.self)
    return Dictionary(uniqueKeysWithValues: cats.map { ($0.name, $0.weight) })
  }

  /// The journal's transactions, as operations with their fields' names.
  private func journal() async throws -> [[String]] {
    let dump = try await NaiveFold(journalOf: magic).dump
    #expect(try await Dump(magic) == dump)
    return try await magic.store.read { db in
      let reader = try JournalReader(db)
      let schema = reader.schema.schema
      var transactions: [[String]] = []
      try reader.forEachTransaction(of: try DatabaseState(db).replica, after: 0) { transaction in
        transactions.append(
          transaction.entries.map { entry in
            let fields = entry.fields.map { schema.types[entry.type].fields[$0.field].name.text }
            return (["\(entry.operation)".prefix { $0 != "(" }.description] + fields).joined(separator: " ")
          })
      }
      return transactions
    }
  }

  @Test func severalChangesAreOneTransaction() async throws {
    try await magic.update(Cat("Old", 1))
    let count = try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      try await tx.update(Cat("Kit", 1))
      try await tx.remove(Cat("Old", 1))
      #expect(try await tx.has(of: Cat.self, primary: "Tom"))
      #expect(try await tx.object(of: Cat.self, primary: "Kit").weight == 1)
      return try await tx.object(of: Cat.self).count
    }
    #expect(count == 2)
    #expect(try await cats() == ["Tom": 4, "Kit": 1])
    #expect(try await journal().map(\.count) == [1, 3])
  }

  /// J-2: whichever instance it was that was saved, and with how many others.
  @Test func whatIsWrittenAgainHasOneEntry() async throws {
    try await magic.update(contentsOf: (0..<40).map { Cat("\($0)", 1) })
    let all = { () async throws in try await self.magic.query(of: Cat.self).sorted(by: \.name).all() }
    let (heavy, owned, old) = (try await all(), try await all(), try await all())
    try await magic.transaction { tx in
      for cat in heavy { cat.weight = 7 }
      for cat in owned { cat.owner = "Ann" }
      for cat in old { cat.lives = 1 }
      try await tx.update(contentsOf: heavy)
      try await tx.update(contentsOf: owned)
      for cat in old.prefix(20) { try await tx.update(cat) }
      heavy[0].weight = 8
      try await tx.update(heavy[0])
    }
    let entries = try await journal()[1]
    #expect(entries.count == 40)
    #expect(entries.count { $0 == "update weight lives owner" } == 20 && entries.count { $0 == "update weight owner" } == 20)
    // Another one begins with the entries of the first.
    try await magic.update(contentsOf: old)
    let more = try await journal()[2]
    #expect(more == Array(repeating: "update lives", count: 20))
    let cats = try await all()
    #expect(cats.allSatisfy { $0.lives == 1 && $0.owner == "Ann" })
    #expect(cats.map(\.weight) == [8] + Array(repeating: 7, count: 39))
  }

  /// J-17: also of the object that had the highest, whatever comes next and however it is saved.
  @Test func noZIndexIsGivenTwice() async throws {
    struct Thing: MagicObject {
      @MagicValue var number: Int
      init() {}
      init(_ number: Int) { self.number = number }
    }
    var given: Set<Int> = []
    func save(_ cats: [Cat], _ things: [Thing], atOnce: Bool) async throws {
      if atOnce {
        try await magic.update(contentsOf: cats)
        try await magic.update(contentsOf: things)
      } else {
        for cat in cats { try await magic.update(cat) }
        for thing in things { try await magic.update(thing) }
      }
      for zIndex in cats.map({ magic.zIndex(of: $0) }) { #expect(given.insert(try #require(zIndex)).inserted) }
      for zIndex in things.map({ magic.zIndex(of: $0) }) { #expect(given.insert(-(try #require(zIndex))).inserted) }
    }
    for round in 0..<6 {
      let (cats, things) = ((0..<3).map { Cat("\(round).\($0)", 1) }, (0..<3).map { Thing($0) })
      try await save(cats, things, atOnce: round % 2 == 0)
      for cat in cats.dropFirst(round % 3) { try await magic.remove(cat) }
      for thing in things.dropFirst(round % 3) { try await magic.remove(thing) }
      // Within one transaction, too.
      let (other, last) = (Cat("\(round)", 2), Cat("\(round).last", 3))
      try await magic.transaction { tx in
        try await tx.update(other)
        try await tx.remove(other)
        try await tx.update(contentsOf: [last])
      }
      #expect(given.insert(try #require(magic.zIndex(of: last))).inserted)
    }
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
  }

  /// All of them in one transaction, or none: H-5.
  @Test func manyAreRemovedAsOne() async throws {
    let all = (0..<2_500).map { Cat("\($0)", Double($0)) }
    try await magic.update(contentsOf: all)
    var seen: [Int] = []
    try await magic.remove(contentsOf: all.dropLast(3)) { seen.append($0) }
    #expect(seen == [1_000, 2_000, 2_497])
    #expect(try await cats() == ["2497": 2_497, "2498": 2_498, "2499": 2_499])
    #expect(try await journal().map(\.count) == [2_500, 2_497])
    try await magic.update(all[0])
    await #expect {
      try await magic.remove(contentsOf: [all[0], all[2_499], Cat("Never saved", 1)])
    } throws: {
      ($0 as? MagicDataError)?.code == .notSaved
    }
    #expect(try await cats().keys.sorted() == ["0", "2497", "2498", "2499"])
    // One that comes twice is removed once; within a transaction what was done before stays.
    try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      try? await tx.remove(contentsOf: [all[0], Cat("Never saved", 1)])
      try await tx.remove(contentsOf: [all[2_499], all[2_498], all[2_499]])
    }
    #expect(try await cats().keys.sorted() == ["0", "2497", "Tom"])
    try magic.blocking.remove(contentsOf: [all[0], all[2_497]])
    #expect(try await cats() == ["Tom": 4])
    #expect(try await journal().map(\.count) == [2_500, 2_497, 1, 3, 2])
    // Without a primary value as well, however far apart it comes.
    let sessions = (0..<1_500).map { _ in
      let session = Session()
      session.title = "one"
      return session
    }
    try await magic.update(contentsOf: sessions)
    try await magic.remove(contentsOf: sessions + sessions.prefix(3))
    #expect(try await magic.count(of: Session.self) == 0)
  }

  /// Each is free again once its part is removed, and another has its memory.
  @Test func objectsThatAreFetchedFromElsewhereOneByOneAreAllRemoved() async throws {
    let one = try await MagicData(type: .memory)
    let two = try await MagicData(type: .memory)
    let names = (0..<2_500).map { "\($0)" }
    for magic in [one, two] { try await magic.update(contentsOf: names.map { Cat($0, 1) }) }
    let cats = sequence(state: names.makeIterator()) { names in
      names.next().flatMap { try? one.blocking.object(of: Cat.self, primary: $0) }
    }
    try await two.remove(contentsOf: cats)
    #expect(try await two.count(of: Cat.self) == 0)
  }

  /// H-5 (C-3, J-19), and instances as well: they are as if they had not been saved.
  @Test func whatThrowsIsRolledBackWhole() async throws {
    let (tom, kit, session) = (Cat("Tom", 4), Cat("Kit", 1), Session())
    session.title = "one"
    try await magic.update(tom)
    let before = try await (Dump(magic), magic.store.read { db in try DatabaseState(db).lastStamp })
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        tom.weight = 5
        try await tx.update(tom)
        try await tx.update(kit)
        try await tx.update(session)
        try await tx.removeAll(of: Cat.self)
        throw Stop()
      }
    }
    #expect(try await Dump(magic) == before.0)
    #expect(try await magic.store.read { db in try DatabaseState(db).lastStamp } == before.1)
    #expect(try await journal().count == 1)
    // The next save of each writes what the rolled back one had written.
    try await magic.update(kit)
    try await magic.update(tom)
    try await magic.update(session)
    #expect(try await cats() == ["Tom": 5, "Kit": 1])
    #expect(try await magic.object(of: Session.self).map(\.title) == ["one"])
    #expect(try await journal().count == 4)
  }

  @Test func aNestedTransactionIsRolledBackAlone() async throws {
    let (tom, kit) = (Cat("Tom", 4), Cat("Kit", 1))
    try await magic.transaction { tx in
      try await tx.update(tom)
      await #expect(throws: Stop.self) {
        try await tx.transaction { tx in
          tom.weight = 5
          try await tx.update(tom)
          try await tx.update(kit)
          try await tx.transaction { tx in try await tx.update(Cat("Inner", 1)) }
          throw Stop()
        }
      }
      #expect(try await tx.object(of: Cat.self).map(\.weight) == [4])
      try await tx.transaction { tx in try await tx.update(Cat("New", 2)) }
    }
    #expect(try await cats() == ["Tom": 4, "New": 2])
    try await magic.update(tom)
    #expect(try await cats() == ["Tom": 5, "New": 2])
    #expect(try await journal().map(\.count) == [2, 1])
  }

  /// All savepoints have one name: the innermost is meant.
  @Test func theInnermostOfNestedTransactionsIsRolledBackAlone() async throws {
    try await magic.transaction { tx in
      try await tx.update(Cat("first", 1))
      try await tx.transaction { tx in
        try await tx.update(Cat("second", 2))
        await #expect(throws: Stop.self) {
          try await tx.transaction { tx in
            try await tx.update(Cat("third", 3))
            throw Stop()
          }
        }
        try await tx.update(Cat("fourth", 4))
      }
    }
    #expect(try await cats() == ["first": 1, "second": 2, "fourth": 4])
    try magic.blocking.transaction { tx in
      try tx.transaction { tx in
        try tx.update(Cat("fifth", 5))
        #expect(throws: Stop.self) {
          try tx.transaction { tx in
            try tx.update(Cat("sixth", 6))
            throw Stop()
          }
        }
      }
    }
    #expect(try await cats() == ["first": 1, "second": 2, "fourth": 4, "fifth": 5])
    #expect(try await journal().map(\.count) == [3, 1])
  }

  /// One operation that fails leaves nothing of itself, and the transaction goes on.
  @Test func afterAFailedOperationATransactionCanGoOn() async throws {
    try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      await #expect(throws: MagicDataError.self) { try await tx.update(Cat()) }
      await #expect(throws: MagicDataError.self) { try await tx.remove(Cat("nobody", 1)) }
      await #expect(throws: MagicDataError.self) {
        try await tx.update(contentsOf: [Cat("a", 1), Cat("b", 2), Cat()])
      }
      try await tx.update(Cat("Kit", 1))
    }
    #expect(try await cats() == ["Tom": 4, "Kit": 1])
    #expect(try await journal() == [["update weight lives", "update weight lives"]])
  }

  /// Parts have no savepoints of their own: the first ones are undone by that of the call they belong to.
  @Test func ofManyThatFailNoPartIsLeftAndTheTransactionGoesOn() async throws {
    let held = (0..<1_100).map { Cat("held \($0)", 1) }
    try await magic.update(contentsOf: held)
    let before = try await journal().count
    // The database finds the fault, in the third part.
    try await magic.store.write { db in
      try db.execute(
        sql: "CREATE TRIGGER refuse BEFORE INSERT ON Cat WHEN NEW.name = 'bad' BEGIN SELECT RAISE(ABORT, 'bad'); END")
    }
    func fail(_ part: Int) -> [Cat] {
      for cat in held { cat.weight = Double(part) }
      return held + (0..<1_500).map { Cat("\(part) \($0)", 1) } + [Cat("bad", 1)] + (0..<1_500).map { Cat("more \($0)", 1) }
    }
    try await magic.transaction { tx in
      try await tx.update(Cat("before", 1))
      await #expect(throws: MagicDataError.self) { try await tx.update(contentsOf: fail(2)) }
      await #expect(throws: MagicDataError.self) { try await tx.remove(contentsOf: held + [Cat("never saved", 1)]) }
      try await tx.update(contentsOf: [held[0], Cat("after", 1)])
    }
    try magic.blocking.transaction { tx in
      #expect(throws: MagicDataError.self) { try tx.update(contentsOf: fail(3)) }
      #expect(throws: MagicDataError.self) { try tx.remove(contentsOf: held + [Cat("never saved", 1)]) }
      try tx.update(contentsOf: [held[1], Cat("after all", 1)])
    }
    await #expect { try await magic.update(contentsOf: fail(4)) } throws: { "\($0)".contains("bad") }
    #expect(throws: MagicDataError.self) { try magic.blocking.update(contentsOf: fail(5)) }
    let weights = try await magic.object(of: Cat.self).map(\.weight)
    #expect(weights == [2, 3] + Array(repeating: 1, count: 1_101))
    #expect(try await journal().count == before + 2)
    // Every instance knows what is stored of it.
    try await magic.update(contentsOf: held)
    #expect(try await magic.object(of: Cat.self).filter { $0.weight == 5 }.count == 1_100)
  }

  /// A nested transaction that is over is not the next one at its place.
  @Test func whatANestedBodyWasGivenIsOfNoUseInTheNextOne() async throws {
    try magic.blocking.transaction { tx in
      var over: MagicBlockingTransaction?
      try tx.transaction { over = $0 }
      try tx.transaction { next in
        #expect(throws: MagicDataError.self) { try over?.update(Cat("Tom", 1)) }
        try next.update(Cat("Kit", 1))
      }
      try tx.update(contentsOf: [Cat("Ada", 1)]) { _ in
        #expect(throws: MagicDataError.self) { try over?.update(Cat("Tom", 1)) }
      }
    }
    #expect(try await cats() == ["Kit": 1, "Ada": 1])
  }

  /// J-2, J-11, J-23.
  @Test func anObjectHasOneEntryTheNetEffect() async throws {
    try await magic.update(Cat("Tom", 4))
    try await magic.transaction { tx in
      let tom = try await tx.object(of: Cat.self, primary: "Tom")
      tom.weight = 5
      try await tx.update(tom)
      tom.lives = 8
      try await tx.update(tom)
      tom.weight = 6
      try await tx.update(tom)
    }
    try await magic.transaction { tx in
      try await tx.remove(Cat("Tom", 0))
      try await tx.update(Cat("Tom", 7))
    }
    #expect(try await magic.object(of: Cat.self, primary: "Tom").lives == 9)
    try await magic.transaction { tx in
      let session = Session()
      session.title = "short"
      try await tx.update(session)
      session.rating = 1
      try await tx.update(session)
      try await tx.remove(session)
      let other = Session()
      other.title = "stays"
      try await tx.update(other)
      try await tx.update(Cat("Kit", 1))
      try await tx.remove(Cat("Kit", 1))
    }
    #expect(
      try await journal() == [
        ["update weight lives"], ["update weight lives"], ["revival weight lives"], ["remove", "birth title", "remove"],
      ])
    #expect(try await magic.object(of: Session.self).map(\.title) == ["stays"])
    #expect(try await cats() == ["Tom": 7])
  }

  @Test func aCancelledTransactionIsRolledBack() async throws {
    let magic = magic
    let (entered, go) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
    let task = Task {
      try await magic.transaction { tx in
        try await tx.update(Cat("Tom", 4))
        entered.continuation.finish()
        // Until the task is cancelled.
        for await _ in go.stream {}
      }
    }
    for await _ in entered.stream {}
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await cats().isEmpty)
    try await magic.update(Cat("Kit", 1))
    #expect(try await cats() == ["Kit": 1])
  }

  /// Two databases' transactions that wait for each other.
  @Test func whoIsCancelledWaitsNoLonger() async throws {
    let magic = magic
    let other = try await MagicData(type: .memory)
    let (entered, go) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
    let holder = Task {
      try await other.transaction { tx in
        entered.continuation.finish()
        for await _ in go.stream {}
        try await tx.update(Cat("Ann", 1))
      }
    }
    for await _ in entered.stream {}
    // One waits when it is cancelled, one was cancelled before.
    let waiting = Task { try await magic.transaction { _ in try await other.update(Cat("Tom", 4)) } }
    try await Task.sleep(for: .milliseconds(50))
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await other.update(Cat("Tom", 4))
    }
    await #expect(throws: CancellationError.self) { try await early.value }
    // Whoever stands behind them comes in.
    let last = Task { try await other.update(Cat("Kit", 1)) }
    go.continuation.finish()
    try await holder.value
    _ = try await last.value
    #expect(try await Set(other.object(of: Cat.self).map(\.name)) == ["Ann", "Kit"])
    #expect(try await cats().isEmpty)
  }

  /// It would wait for itself.
  @Test(arguments: [true, false]) func theDatabaseItselfIsRefusedWithinATransaction(inMemory: Bool) async throws {
    let magic = inMemory ? try await MagicData(type: .memory) : magic
    try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      await #expect { try await magic.update(Cat("Kit", 1)) } throws: { ($0 as? MagicDataError)?.code == .transaction }
      await #expect { try await magic.transaction { _ in } } throws: { ($0 as? MagicDataError)?.code == .transaction }
      if inMemory {
        await #expect { try await magic.object(of: Cat.self) } throws: { ($0 as? MagicDataError)?.code == .transaction }
      } else {
        // Reads see what was there before.
        #expect(try await magic.object(of: Cat.self).isEmpty)
      }
    }
    #expect(try await cats(magic) == ["Tom": 4])
  }

  /// Objects do not leave their owner: an actor's are gone through, and encoded, on the actor.
  @Test func aTransactionStaysWithItsOwner() async throws {
    struct Watched: MagicalCodable {
      init() {}
      init(from decoder: any Decoder) throws {}
      func encode(to encoder: any Encoder) throws { Owner.shared.assertIsolated() }
    }
    struct Watch: MagicObject {
      @MagicValue var watched: Watched
      init() {}
      init(_ watched: Watched) { self.watched = watched }
    }
    actor Owner {
      static let shared = Owner()
      func save(in magic: MagicData) async throws {
        let watches = (0..<3).lazy.map { _ in
          Owner.shared.assertIsolated()
          return Watch(Watched())
        }
        try await magic.update(contentsOf: watches)
        try await magic.transaction { tx in
          Owner.shared.assertIsolated()
          try await tx.update(Watch(Watched()))
          Owner.shared.assertIsolated()
          try await tx.transaction { tx in try await tx.update(Watch(Watched())) }
        }
        try await TransactionTests.save(Watch(Watched()), in: magic)
        try await magic.update(Watch(Watched()))
        #expect(try await magic.object(of: Watch.self).count == 7)
      }
    }
    try await Owner.shared.save(in: magic)
  }

  private nonisolated(nonsending) static func save(_ object: some MagicObject, in magic: MagicData) async throws {
    try await magic.transaction { tx in try await tx.update(object) }
  }

  /// An actor's methods may come in between each other; a transaction takes one call at a time.
  @Test func overlappingCallsOfOneTransactionAreRefused() async throws {
    actor Owner {
      var tx: MagicTransaction?
      func write(_ name: String) async throws { try await tx?.update(Cat(name, 1)) }
      func run(_ magic: MagicData) async throws -> Int {
        try await magic.transaction { tx in
          self.tx = tx
          let tasks = (0..<6).map { number in Task { try await self.write("\(number)") } }
          var saved = 0
          for task in tasks {
            do {
              try await task.value
              saved += 1
            } catch let error as MagicDataError where error.code == .transaction {}
          }
          self.tx = nil
          return saved
        }
      }
    }
    let saved = try await Owner().run(magic)
    #expect(saved >= 1)
    #expect(try await cats().count == saved)
    #expect(try await journal().map(\.count) == [saved])
  }

  @Test func withinANestedTransactionTheOuterOneIsRefused() async throws {
    try await magic.transaction { outer in
      let inner = try await outer.transaction { inner in
        do {
          try await outer.update(Cat("Tom", 4))
          Issue.record("the outer one was taken")
        } catch let error as MagicDataError { #expect(error.code == .transaction) }
        return inner
      }
      do {
        try await inner.update(Cat("Tom", 4))
        Issue.record("the inner one was taken")
      } catch let error as MagicDataError { #expect(error.code == .transaction) }
    }
    #expect(try await cats().isEmpty)
  }

  /// What was fetched in a transaction that is rolled back may never have been.
  @Test func anInstanceFetchedInARolledBackTransactionForgetsIt() async throws {
    func session(_ title: String) -> Session {
      let session = Session()
      session.title = title
      return session
    }
    var ghost: Session?
    try await magic.update(Cat("Tom", 4))
    try await magic.transaction { tx in
      do {
        try await tx.transaction { tx in
          try await tx.update(session("ghost"))
          ghost = try await tx.object(of: Session.self).first
          throw Stop()
        }
      } catch is Stop {}
      try await tx.update(session("other"))
      ghost?.title = "ghost writes"
      if let ghost { try await tx.update(ghost) }
    }
    #expect(try await magic.object(of: Session.self).map(\.title) == ["other", "ghost writes"])

    var fetched: Cat?
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        try await tx.update(Cat("Tom", 5))
        fetched = try await tx.object(of: Cat.self, primary: "Tom")
        throw Stop()
      }
    }
    fetched?.weight = 5
    if let fetched { try await magic.update(fetched) }
    #expect(try await cats() == ["Tom": 5])
  }

  /// Of a value that was put back it is not known what the database holds, whichever way another value was saved.
  @Test(arguments: [false, true]) func aSaveMakesNothingKnownThatItDidNotWrite(isRun: Bool) async throws {
    let session = Session()
    (session.title, session.rating) = ("t", 1)
    try await magic.update(session)
    var ghost: Session?
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        session.rating = 2
        try await tx.update(session)
        ghost = try await tx.object(of: Session.self).first
        throw Stop()
      }
    }
    let instance = try #require(ghost)
    instance.title = "new"
    if isRun {
      try await magic.update(contentsOf: [instance])
    } else {
      try await magic.update(instance)
    }
    instance.rating = 2
    try await magic.update(instance)
    let found = try await magic.object(of: Session.self)[0]
    #expect((found.title, found.rating) == ("new", 2))
  }

  /// A call that a nested transaction does not wait for is within it, or is refused, or everything is rolled back.
  @Test(arguments: [false, true]) func aNestedTransactionThatDoesNotWaitForItsCallsLeavesNoHalf(isThrown: Bool) async throws {
    actor Owner {
      var tx: MagicTransaction?
      func write(_ number: Int) async throws { try await tx?.update(Cat("ghost \(number)", 1)) }
      func run(_ magic: MagicData, _ number: Int, _ isThrown: Bool) async throws -> Set<String> {
        try await magic.transaction { outer in
          var task: Task<Void, any Error>?
          var isStored = !isThrown
          do {
            try await outer.transaction { inner in
              self.tx = inner
              task = Task { try await self.write(number) }
              for _ in 0..<number % 8 { await Task.yield() }
              if isThrown { throw Stop() }
            }
          } catch is Stop {
          } catch let error as MagicDataError where error.code == .transaction {
            isStored = false
          }
          self.tx = nil
          do { try await task?.value } catch { isStored = false }
          try await outer.update(Cat("real \(number)", 1))
          return isStored ? ["ghost \(number)", "real \(number)"] : ["real \(number)"]
        }
      }
    }
    var stored: Set<String> = []
    for number in 0..<64 {
      do {
        stored.formUnion(try await Owner().run(magic, number, isThrown))
      } catch let error as MagicDataError where error.code == .transaction {}
    }
    #expect(Set(try await cats().keys) == stored)
    #expect(try await faultyPlaces(magic) == [])
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
  }

  /// The same where it is a nested one that is not waited for.
  @Test func aTransactionThatEndsWithinANestedOneIsRolledBack() async throws {
    actor Owner {
      var tx: MagicTransaction?
      func nest(_ begun: AsyncStream<Void>.Continuation, _ end: AsyncStream<Void>) async throws {
        try await tx?.transaction { inner in
          try await inner.update(Cat("ghost", 1))
          begun.finish()
          for await _ in end {}
        }
      }
      func run(_ magic: MagicData) async throws {
        let (end, ends) = AsyncStream.makeStream(of: Void.self)
        var task: Task<Void, any Error>?
        await #expect {
          try await magic.transaction { outer in
            self.tx = outer
            let (begun, begins) = AsyncStream.makeStream(of: Void.self)
            task = Task { try await self.nest(begins, end) }
            for await _ in begun {}
          }
        } throws: {
          ($0 as? MagicDataError)?.code == .transaction
        }
        // Whoever writes next is in a transaction of its own, which the end of the nested one leaves alone.
        try await magic.transaction { next in
          try await next.update(Cat("next", 1))
          ends.finish()
          await #expect(throws: MagicDataError.self) { try await task?.value }
          try await next.update(Cat("last", 1))
        }
      }
    }
    try await Owner().run(magic)
    #expect(Set(try await cats().keys) == ["next", "last"])
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
  }

  /// What was there before is the same object, whatever was undone of it.
  @Test func anInstanceFetchedInARolledBackTransactionStillMeansItsObject() async throws {
    let session = Session()
    session.title = "before"
    try await magic.update(session)
    func fetched(_ change: String?) async throws -> Session {
      var fetched: Session?
      await #expect(throws: Stop.self) {
        try await magic.transaction { tx in
          if let change {
            session.title = change
            try await tx.update(session)
          }
          fetched = try await tx.object(of: Session.self).first
          throw Stop()
        }
      }
      return try #require(fetched)
    }
    for change in [nil, "undone"] {
      let instance = try await fetched(change)
      instance.title = "after \(change ?? "nothing")"
      try await magic.update(instance)
      #expect(try await magic.object(of: Session.self).map(\.title) == ["after \(change ?? "nothing")"])
    }
    try await magic.remove(try await fetched("undone again"))
    #expect(try await magic.object(of: Session.self).isEmpty)
  }

  /// L-7: another try puts in what the first one did, and takes out nothing that came in between.
  @Test(arguments: [false, true]) func anotherTryAfterARollbackTakesOutNobodyElsesMembers(isNested: Bool) async throws {
    let tag = Tag("a")
    let work = Work("Work", Writer("W"))
    (work.tags, work.named) = ([tag], ["a": tag])
    try await magic.update(work)
    var fetched: Work?
    nonisolated(nonsending) func attempt(_ tx: MagicTransaction) async throws -> Work {
      let work = try await tx.object(of: Work.self, primary: "Work")
      work.tags.insert(Tag("c"))
      work.named["c"] = Tag("c")
      try await tx.update(work)
      return work
    }
    if isNested {
      try await magic.transaction { tx in
        try await tx.update(Tag("before"))
        do {
          try await tx.transaction { tx in
            fetched = try await attempt(tx)
            throw Stop()
          }
        } catch is Stop {}
      }
    } else {
      await #expect(throws: Stop.self) {
        try await magic.transaction { tx in
          fetched = try await attempt(tx)
          throw Stop()
        }
      }
    }
    let other = try await magic.object(of: Work.self, primary: "Work")
    other.tags.insert(Tag("b"))
    other.named["b"] = Tag("b")
    try await magic.update(other)
    try await magic.update(#require(fetched))
    let now = try await magic.object(of: Work.self, primary: "Work")
    #expect(now.tags.map(\.name).sorted() == ["a", "b", "c"])
    #expect(now.named.keys.sorted() == ["a", "b", "c"])
  }

  @Test func whatWasFetchedBeforeTheFirstChangeIsKnownAfterARollback() async throws {
    let writer = Writer("W")
    try await magic.update(Work("Work", writer))
    var (before, after): (Writer?, Writer?)
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        before = try await tx.object(of: Writer.self, primary: "W")
        try await tx.update(Writer("X"))
        after = try await tx.object(of: Writer.self, primary: "X")
        throw Stop()
      }
    }
    #expect(before?.works.count == 1)
    #expect(try magic.zIndex(of: #require(before)) == magic.zIndex(of: writer))
    #expect(after?.works.count == 0)
    #expect(try magic.zIndex(of: #require(after)) == nil)
  }

  /// It was there for the nested transaction, and not before the outer one.
  @Test func whatAnOuterTransactionMadeIsForgottenWithIt() async throws {
    var instance: Session?
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        let made = Session()
        made.title = "made"
        try await tx.update(made)
        try? await tx.transaction { tx in
          instance = try await tx.object(of: Session.self).first
          throw Stop()
        }
        throw Stop()
      }
    }
    let left = try #require(instance)
    left.title = "saved anew"
    let other = Session()
    other.title = "other"
    try await magic.update(other)
    try await magic.update(left)
    #expect(try await magic.object(of: Session.self).map(\.title) == ["other", "saved anew"])
  }

  @Test func aRollbackLeavesWhatAnotherDatabaseHolds() async throws {
    let other = try await MagicData(type: .memory)
    let session = Session()
    session.title = "one"
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        try await tx.update(session)
        try await other.update(session)
        throw Stop()
      }
    }
    session.rating = 1
    try await other.update(session)
    #expect(try await other.object(of: Session.self).map(\.rating) == [1])
    #expect(try await magic.object(of: Session.self).isEmpty)
  }

  @Test func aRemoveLeavesWhatAnotherDatabaseHolds() async throws {
    let other = try await MagicData(type: .memory)
    for magic in [magic, other] { try await magic.update(Cat("Tom", 4)) }
    let cat = try await other.object(of: Cat.self, primary: "Tom")
    try await magic.remove(cat)
    let changed = try await other.object(of: Cat.self, primary: "Tom")
    changed.weight = 5
    try await other.update(changed)
    cat.lives = 8
    try await other.update(cat)
    #expect(try await other.object(of: Cat.self, primary: "Tom").weight == 5)
    #expect(try await other.object(of: Cat.self, primary: "Tom").lives == 8)
    #expect(try await magic.object(of: Cat.self).isEmpty)
  }

  /// H-34: SQLite rolls back by itself, and what is said is why.
  @Test func aFullDiskIsSaidAndNothingIsStored() async throws {
    try await magic.update(Cat("Tom", 4))
    let limit = try await magic.store.write { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      return try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages + 30)") ?? 0
    }
    #expect(limit > 30)
    let many = (0..<20_000).map { Cat("\($0)", 1) }
    await #expect { try await magic.update(contentsOf: many) } throws: { ($0 as? MagicDataError)?.code == .full }
    await #expect {
      try await magic.transaction { tx in for cat in many { try await tx.update(cat) } }
    } throws: { ($0 as? MagicDataError)?.code == .full }
    #expect(try await cats() == ["Tom": 4])
    try await magic.store.write { db in try db.execute(sql: "PRAGMA max_page_count = 1000000") }
    try await magic.update(contentsOf: many)
    #expect(try await cats().count == 20_001)
  }

  private func isSettled() async throws -> Bool { try await magic.store.read { db in try DatabaseState(db).isSettled } }

  /// J-35, M-10: who handles what a part throws goes on in the transaction, also where the task was cancelled meanwhile, and
  /// nothing of it is committed then.
  @Test func aPartIsUndoneAloneWhereTheTaskWasCancelled() async throws {
    let magic = magic
    let writing = Task {
      try await magic.store.write { db in
        try AcceptedTime.raise(to: 1_000, db)
        #expect(throws: Stop.self) {
          try db.whole { db in
            try AcceptedTime.raise(to: 2_000, db)
            withUnsafeCurrentTask { $0?.cancel() }
            throw Stop()
          }
        }
        #expect(db.isInsideTransaction)
        #expect(try AcceptedTime.read(db) == 1_000)
        try DatabaseState.settle(DatabaseState(db).dataSet, db)
      }
    }
    await #expect(throws: CancellationError.self) { try await writing.value }
    #expect(try await magic.store.read { db in try AcceptedTime.read(db) } == 0)
    #expect(try await !isSettled())
  }

  /// J-35, F-11: what SQLite has rolled back nobody goes on with, whatever its part threw.
  @Test func aPartOfATransactionThatIsOverSaysSo() async throws {
    await #expect {
      try await magic.store.write { db in
        do {
          try db.whole { db in
            try db.execute(sql: "ROLLBACK")
            throw MagicDataError(.tooLarge, "no room for a schema")
          }
        } catch let error as MagicDataError where error.code == .tooLarge {
          try DatabaseState.settle(DatabaseState(db).dataSet, db)
        }
      }
    } throws: {
      ($0 as? MagicDataError)?.code == .transaction
    }
    await #expect {
      try await magic.store.write { db in
        try db.execute(sql: "ROLLBACK")
        try DatabaseState.settle(DatabaseState(db).dataSet, db)
      }
    } throws: {
      ($0 as? MagicDataError)?.code == .transaction
    }
    #expect(try await !isSettled())
  }

  /// Two openings of one file: the wait for the one must not stop the other.
  @Test func aWaitForSQLiteStopsNobodyElse() async throws {
    let others = [try await MagicData(path: folder["db"]), try await MagicData(path: folder["db"])]
    let magic = magic
    try await magic.update(Cat("Tom", 4))
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (entered, enter) = AsyncStream<Void>.makeStream()
      group.addTask {
        try await magic.transaction { tx in
          try await tx.update(Cat("Kit", 1))
          enter.finish()
          for _ in 0..<20 { try await Task.sleep(for: .milliseconds(1)) }
        }
      }
      for await _ in entered {}
      for (number, other) in others.enumerated() {
        for index in 0..<3 { group.addTask { try await other.update(Cat("\(number)-\(index)", 1)) } }
      }
      try await group.waitForAll()
    }
    #expect(try await cats().count == 8)
  }

  /// A task that a body has started is no longer in the transaction once that is over.
  @Test func aTaskThatOutlivesATransactionMayWrite() async throws {
    let magic = magic
    let (over, end) = AsyncStream<Void>.makeStream()
    let task = try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      return Task {
        for await _ in over {}
        try await magic.update(Cat("Kit", 1))
      }
    }
    end.finish()
    try await task.value
    #expect(try await cats() == ["Tom": 4, "Kit": 1])
  }

  @Test func transactionsOfTwoDatabasesMayBeWithinEachOther() async throws {
    let other = try await MagicData(type: .memory)
    let magic = magic
    try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      try await other.transaction { inner in
        try await inner.update(Cat("Kit", 1))
        await #expect { try await magic.update(Cat("Tom", 5)) } throws: { ($0 as? MagicDataError)?.code == .transaction }
      }
    }
    #expect(try await cats() == ["Tom": 4])
    #expect(try await cats(other) == ["Kit": 1])
  }

  /// Another opening of the same file would wait for the transaction that it is in.
  @Test func withinATransactionAnotherOpeningSaysSo() async throws {
    let other = try await MagicData(path: folder["db"])
    try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      await #expect { try await other.update(Cat("Kit", 1)) } throws: { ($0 as? MagicDataError)?.code == .transaction }
    }
    #expect(try await cats(other) == ["Tom": 4])
  }

  @Test func afterItsEndATransactionIsOfNoUse() async throws {
    let escaped = try await magic.transaction { $0 }
    await #expect { try await escaped.update(Cat("Tom", 4)) } throws: { ($0 as? MagicDataError)?.code == .transaction }
    #expect(try await cats().isEmpty)
  }

  /// Others wait for a transaction, in this process and beside it, and lose nothing.
  @Test(arguments: [true, false]) func transactionsAndUpdatesOfManyTasksLoseNothing(inMemory: Bool) async throws {
    let one = inMemory ? try await MagicData(type: .memory) : magic
    let two = inMemory ? one : try await MagicData(path: folder["db"])
    try await one.update(Cat("count", 0))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        let magic = number.isMultiple(of: 2) ? one : two
        group.addTask {
          for index in 0..<8 {
            if number < 4 {
              try await magic.transaction { tx in
                let count = try await tx.object(of: Cat.self, primary: "count")
                await Task.yield()
                count.weight += 1
                try await tx.update(count)
                try await tx.update(Cat("\(number)-\(index)", 1))
              }
            } else {
              try await magic.update(Cat("\(number)-\(index)", 1))
              _ = try await magic.object(of: Cat.self)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let cats = try await cats(two)
    #expect(cats.count == 65)
    #expect(cats["count"] == 32)
  }

  /// What a rolled back transaction learnt of types is forgotten.
  @Test func aTypeFirstUsedInARolledBackTransactionIsLearntAnew() async throws {
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        try await tx.update(Cat("Tom", 4))
        do {
          try await tx.transaction { tx in
            let place = Place()
            place.number = 1
            try await tx.update(place)
            throw Stop()
          }
        } catch is Stop {}
        let place = Place()
        place.number = 2
        try await tx.update(place)
        throw Stop()
      }
    }
    let session = Session()
    session.title = "takes the first type's id"
    try await magic.update(session)
    try await magic.update(Cat("Tom", 4))
    let place = Place()
    place.number = 3
    try await magic.update(place)
    #expect(try await cats() == ["Tom": 4])
    #expect(try await magic.object(of: Place.self).map(\.number) == [3])
    #expect(try await magic.object(of: Session.self).count == 1)
  }

  /// J-17: z indexes end, and nothing is done by halves there.
  @Test(arguments: [0, 1, 10]) func aRowAtTheLastZIndexLeavesNoRoom(room: Int64) async throws {
    let last = Int64.max - room
    try await magic.update(Cat("Tom", 4))
    _ = try await magic.store.write { db in try db.execute(sql: "UPDATE Cat SET z_index = \(last)") }
    for count in [1, 3, 40] {
      let error = await #expect(throws: MagicDataError.self) {
        try await magic.update(contentsOf: (0..<count).map { Cat("\($0)", 1) })
      }
      #expect(error?.code == .tooLarge)
      await #expect(throws: MagicDataError.self) {
        try await magic.update(Cat("Kit", 1))
      }
    }
    #expect(try await cats() == ["Tom": 4])
  }

  /// Many new objects go with one statement: whichever of them are held already, it comes to the same as one by one.
  @Test(arguments: 0..<20) func manyComeToTheSameAsOneByOne(seed: UInt64) async throws {
    struct Thing: MagicObject {
      @MagicValue var number: Int
      @OptionMagicValue var text: String?
      init() {}
      init(_ number: Int, _ text: String?) {
        self.number = number
        if let text { self.text = text }
      }
    }
    var chance = Seeded(seed)
    let other = try await MagicData(path: folder["other"])
    func save(_ cats: [Cat], _ things: [Thing], in magic: MagicData) async throws {
      guard magic === other else {
        try await magic.update(contentsOf: cats)
        try await magic.update(contentsOf: things)
        return
      }
      for cat in cats { try await magic.update(cat) }
      for thing in things { try await magic.update(thing) }
    }
    for _ in 0..<6 {
      let numbers = (0..<chance.below(80)).map { _ in chance.below(400) }
      let texts = numbers.map { $0 % 7 == 0 ? nil : String(repeating: "x", count: $0) }
      let removed = chance.below(400)
      for magic in [magic, other] {
        let cats = numbers.map { Cat("\($0)", Double($0)) }
        let things = zip(numbers, texts).map { Thing($0, $1) }
        try await save(cats, things, in: magic)
        for (cat, number) in zip(cats, numbers) { #expect(magic.zIndex(of: cat) != nil, "\(number)") }
        for cat in cats { cat.weight += 1 }
        for thing in things { thing.number += 1 }
        try await save(cats, things, in: magic)
        for cat in try await magic.object(of: Cat.self) where cat.name == "\(removed)" { try await magic.remove(cat) }
      }
      #expect(try await cats() == cats(other))
      func things(_ magic: MagicData) async throws -> [String] {
        try await magic.object(of: Thing.self).map { "\($0.number) \($0.text ?? "-")" }
      }
      #expect(try await things(magic) == things(other))
      #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump, "\(seed)")
    }
  }

  @Test func manyObjectsAreSavedAtOnce() async throws {
    var done: [Int] = []
    let repeated = Cat("0", 0)
    try await magic.update(contentsOf: (0..<2_500).map { Cat("\($0)", Double($0)) } + [repeated, repeated]) { done.append($0) }
    #expect(done == [250, 500, 1_000, 2_000, 2_502])
    #expect(try await cats().count == 2_500)
    #expect(try await journal().map(\.count) == [2_500])
    await #expect(throws: MagicDataError.self) {
      try await magic.update(contentsOf: (0..<1_500).map { Cat("new \($0)", 1) } + [Cat()])
    }
    #expect(try await cats().count == 2_500)
    try await magic.update(contentsOf: [Cat]())
    // No table is made for no objects.
    struct Unsaved: MagicObject {
      @PrimaryMagicValue var id: Int
    }
    try await magic.update(contentsOf: [Unsaved]())
    #expect(try await magic.store.read { db in try !db.tableExists("Unsaved") })
    #expect(try await journal().count == 1)
  }
}
