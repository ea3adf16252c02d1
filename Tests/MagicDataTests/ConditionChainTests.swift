import Foundation
import TestSupport
import Testing

@testable import MagicData

@Suite struct ConditionChainTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// To copy what is there for each part would take minutes.
  @Test(arguments: [false, true]) func aChainIsMadeInALoop(isBefore: Bool) throws {
    let fields = MagicFields<Work>()
    let part: MagicPredicate = fields.pages == 1
    var chain: MagicPredicate = fields.pages == 0
    for _ in 0..<200_000 { chain = isBefore ? part || chain : chain || part }
    guard case .any(let parts) = try chain.condition(on: fields.magicRoot) else {
      Issue.record("it is no chain")
      return
    }
    #expect(parts.count == 200_001)
  }

  @Test func whatIsAskedOfOneObjectIsAskedTogether() throws {
    let fields = MagicFields<Work>()
    let names = ["A", "B", "C"].map { (name: String) -> MagicPredicate in fields.author.name == name }
    let pages: MagicPredicate = fields.pages == 1
    let either = (names[0] || pages) || (names[1] || names[2])
    guard case .any(let parts) = try either.condition(on: fields.magicRoot), case .holds(_, .any(let some))? = parts.first
    else {
      Issue.record("nothing is asked of the author")
      return
    }
    #expect((parts.count, some.count) == (2, 3))
    let both = (names[0] && pages) && (names[1] && names[2])
    guard case .all(let more) = try both.condition(on: fields.magicRoot), case .holds(_, .all(let all))? = more.first
    else {
      Issue.record("nothing is asked of the author")
      return
    }
    #expect((more.count, all.count) == (2, 3))
  }

  /// Within each other, so that no chain takes them together.
  private static func nested(_ levels: Int, in column: MagicColumn<String>) -> MagicPredicate {
    (0..<levels).reduce(column == "a") { (inner: MagicPredicate, level: Int) in
      level % 2 == 0 ? inner && column != "b" : inner || column == "c"
    }
  }

  /// What walks conditions goes down by calls: on Apple's systems a thread's stack has 512 KB.
  @Test(arguments: [30, 98, 500, 10_000, 100_000]) func whatIsTooDeepIsRefused(levels: Int) async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Book("a"))
    let count: Result<Int, any Error> = await withCheckedContinuation { continuation in
      let thread = Thread {
        let query = magic.query(of: Book.self).where { ConditionChainTests.nested(levels, in: $0.title) }
        continuation.resume(returning: Result { try magic.blocking.count(query) })
      }
      thread.stackSize = 512 * 1_024
      thread.start()
    }
    switch count {
    case .success(let count):
      // SQLite's parser takes the first, and with some builds the second.
      #expect(levels < MagicPredicate.deepest && count == 1)
    case .failure(let error):
      #expect(levels > 30 && (error as? MagicDataError)?.code == .tooLarge, "\(error)")
    }
  }

  @Test func whatIsAskedOfMembersIsWithinTheRest() throws {
    let fields = MagicFields<Work>()
    let taken = fields.tags.contains { ConditionChainTests.nested(90, in: $0.name) }
    _ = try taken.condition(on: fields.magicRoot)
    let refused: [MagicPredicate] = [
      fields.tags.contains { ConditionChainTests.nested(98, in: $0.name) },
      fields.tags.allSatisfy { ConditionChainTests.nested(97, in: $0.name) },
    ]
    for predicate in refused {
      let error = #expect(throws: MagicDataError.self) { try predicate.condition(on: fields.magicRoot) }
      #expect(error?.code == .tooLarge)
    }
    // What is turned round twice is as it was.
    let turned = (0..<1_000).reduce(taken) { (inner: MagicPredicate, _: Int) in !inner }
    _ = try turned.condition(on: fields.magicRoot)
  }

  @Test(arguments: [8, 10_000]) func aWayLeadsOverEightRelationsAtLeast(relations: Int) async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Work("a", Writer("W")))
    let query = magic.query(of: Work.self).where { work -> MagicPredicate in
      var last = work
      for _ in 0..<relations { last = last.sequel }
      return last.title == "a"
    }
    guard relations > 8 else {
      #expect(try await query.count() == 0)
      return
    }
    await #expect { try await query.count() } throws: { ($0 as? MagicDataError)?.code == .tooLarge }
  }

  /// Two chains that go on from one have nothing of each other.
  @Test func chainsThatBeginAlikeAreApart() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(contentsOf: (0..<5).map { Book("\($0)", year: $0) })
    let isThree: @Sendable (MagicFields<Book>) -> MagicPredicate = { fields in
      let years = (0..<5).map { (year: Int) -> MagicPredicate in fields.year == year }
      let base = years[0] || years[1]
      let (one, two) = (base || years[2] || years[3], base || years[2] || years[4])
      let inTurn = base || (years[4] || years[2])
      return one && !two && !inTurn && !base
    }
    #expect(try await magic.query(of: Book.self).where(isThree).all().map(\.title) == ["3"])
    let isTwo: @Sendable (MagicFields<Book>) -> MagicPredicate = { fields in
      let long = (100..<200).reduce(fields.year == 2) { (chain: MagicPredicate, year: Int) in chain || fields.year == year }
      return (fields.year == 3 || long) && (fields.pages == 1 || long)
    }
    #expect(try await magic.query(of: Book.self).where(isTwo).all().map(\.title) == ["2"])
  }
}
