import MagicJournal
import Testing

/// What concurrent changes of relations come to (Protocol/merge.md, M-13 to M-15).
@Suite struct RelationTests {
  private let made = RelationHistory.Write(1, 1, [.links(["a", "b"])])

  /// L-5: each element has its own latest write.
  @Test func concurrentChangesOfASetAreBothKept() throws {
    let other = RelationHistory.Write(3, 2, [.links(["c"], out: ["b"])])
    try expect([made, .init(2, 1, [.links(["d"], out: ["a"])]), other], row: [.links(["c", "d"])])
  }

  /// L-4.
  @Test func theLaterOfTwoChangesOfOneElementWins() throws {
    try expect([made, .init(2, 1, [.links([], out: ["a"])]), .init(3, 2, [.links(["a"])])], row: [.links(["a", "b"])])
    try expect([made, .init(2, 1, [.links(["a"])]), .init(3, 2, [.links([], out: ["a"])])], row: [.links(["b"])])
  }

  /// H-1, L-4.
  @Test func atOneVersionAnElementIsInRatherThanOut() throws {
    try expect([.init(2, 1, [.links([], out: ["a"])]), .init(2, 1, [.links(["a"])])], row: [.links(["a"])])
  }

  @Test func aDictionaryFoldsByItsKeys() throws {
    let writes: [RelationHistory.Write] = [
      .init(1, 1, [.rooms(["x": 1, "y": 2])]), .init(2, 1, [.rooms(["x": 3])]), .init(3, 2, [.rooms(["y": nil, "z": 4])]),
    ]
    try expect(writes, row: [.rooms(["x": 3, "z": 4])])
  }

  @Test func aListIsOneValue() throws {
    try expect([.init(1, 1, [.agenda([1, 2])]), .init(2, 1, [.agenda([2, 2, 1])])], row: [.agenda([2, 2, 1])])
  }

  @Test func aSetWithNothingInItShowsNothing() throws {
    try expect([made, .init(2, 1, [.links([], out: ["a", "b"])])], row: [])
  }

  /// L-6: what was in when the object was removed does not come back with a revival, and does with an update that did not know.
  @Test func aRevivalVoidsElementsAndAnUpdateDoesNot() throws {
    let remove = RelationHistory.Write(2, 1, nil)
    try expect([made, remove, .init(3, 1, [.links(["c"])], base: 2)], row: [.links(["c"])])
    try expect([made, remove, .init(3, 2, [.links(["c"], out: ["b"])])], row: [.links(["a", "c"])])
  }

  /// An element that was put in without knowledge of the remove, but later than it, stays in a revival.
  @Test func aRevivalKeepsElementsAboveItsBase() throws {
    let remove = RelationHistory.Write(2, 1, nil)
    try expect([made, remove, .init(3, 2, [.links(["d"])]), .init(4, 1, [.links(["c"])], base: 2)], row: [.links(["c", "d"])])
  }

  /// H-24: a name that stands for two kinds shows what was written last, and keeps the other.
  @Test func ofRivalsTheOneThatWasWrittenLastShows() throws {
    let text = RelationHistory.Write(2, 1, [.linksText("none")])
    try expect([made, text], row: [.linksText("none")])
    try expect([made, text, .init(3, 2, [.links(["c"])])], row: [.links(["a", "b", "c"])])
    let numbers = RelationHistory.Write(4, 1, [.linksToCounts([7])])
    try expect([made, numbers], row: [.linksToCounts([7])])
    // Taking an element out is a write, too.
    try expect([made, numbers, .init(5, 2, [.links([], out: ["a"])])], row: [.links(["b"])])
    try expect([made, text, .init(5, 2, [.links([], out: ["a", "b"])])], row: [])
  }

  /// H-1: with nothing else to tell, the kind and the target's name do, whatever came first and however fields are numbered.
  @Test func rivalsOfOneVersionAreToldApartByKindAndTarget() throws {
    try expect([made, .init(1, 1, [.linksToCounts([7])])], row: [.links(["a", "b"])])
    try expect([made, .init(1, 1, [.linksText("none")])], row: [.links(["a", "b"])])
    try expect([.init(1, 1, [.parent(nil)]), .init(1, 1, [.parent("a")])], row: [.parent("a")])
  }

  /// M-12.
  @Test func takenOutElementsAreNotInTheDigest() throws {
    let history = try RelationHistory([made, .init(2, 1, [.links([], out: ["a"])])])
    var digest = Digest()
    digest.add(history.state, history.key, of: history.schema.types[0])
    let one = try RelationHistory([.init(1, 1, [.links(["b"])]), .init(2, 1, [])])
    var expected = Digest()
    expected.add(one.state, one.key, of: one.schema.types[0])
    #expect(digest == expected)
    #expect(history.state != one.state)
  }

  /// J-2, J-23: the net effect of two entries in one transaction is what the two would have come to.
  @Test func fieldsOfOneTransactionAreOverlaidElementByElement() throws {
    let changes: [[RelationHistory.Change]] = [
      [.links(["a", "b"]), .agenda([1])], [.links(["c"], out: ["a"]), .agenda([2]), .rooms(["x": 1])],
      [.rooms(["x": nil, "y": 2])],
      [.linksText("text")], [.linksToCounts([1])], [.links([], out: ["c"])],
    ]
    let schema = try RelationHistory([]).schema
    for first in changes {
      for second in changes {
        let (first, second) = (RelationHistory.fields(first), RelationHistory.fields(second))
        let joined = first.overlaid(by: second, of: schema.types[0])
        #expect(joined.map(\.field) == joined.map(\.field).sorted())
        #expect(Set(joined.map { schema.types[0].slots[$0.field] }).count == joined.count)
        let (together, apart) = (try RelationHistory(fields: [joined]), try RelationHistory(fields: [first, second]))
        // Of rivals in one transaction only the later one is kept, so there may be more apart.
        if Set((first + second).map(\.field)).count == joined.count { #expect(together.state.row == apart.state.row) }
      }
    }
  }

  @Test func valuesOfRelationsStaySmall() {
    #expect(MemoryLayout<Value>.size <= 17)
  }

  @Test func ofAnElementGivenTwiceTheLastCounts() {
    let a = ObjectKey.primary(.text("a"))
    #expect(Value.set(of: [SetElement(key: a), SetElement(key: a, isIn: false)]) == .set([SetElement(key: a, isIn: false)]))
    #expect(
      Value.dictionary(of: [DictionaryElement(name: [49], key: a), DictionaryElement(name: [49], key: nil)])
        == .dictionary([DictionaryElement(name: [49], key: nil)]))
  }

  /// H-32: an element may take two bytes in a file, and counts for what it takes in memory (J-20).
  @Test func elementsCountTowardsATransactionsSize() {
    let value = Value.list([ObjectKey](repeating: .primary(.integer(1)), count: 1_000))
    let entry = Entry(type: 0, key: .primary(.integer(1)), operation: .update, fields: [FieldValue(field: 0, value: value)])
    #expect(entry.size == 16 + 2 + 4 + value.encodedLength + 16_000)
  }

  private func expect(_ writes: [RelationHistory.Write], row: [RelationHistory.Change]) throws {
    let expected = RelationHistory.fields(row)
    for writes in [writes, writes.reversed(), writes + writes] {
      #expect(try RelationHistory(writes).state.row == expected)
    }
  }

  /// K-24: what is void by a purge, in parts that fit an entry each, and each element in one of them.
  @Test func whatAPurgeTookIsToldInParts() throws {
    let large = String(repeating: "p", count: 12 << 20)
    let type = try RelationHistory([]).schema.types[0]
    var all = try RelationHistory([
      .init(1, 1, [.linksText(large), .parent(large + "p"), .rooms(["x": 1, "y": 2])]), .init(2, 1, [.rooms(["x": nil])]),
      .init(3, 1, nil), .init(5, 1, purge: 2),
    ]).state
    #expect(all.values.isEmpty)
    let parts = all.purged(of: type)
    #expect(parts.count == 1)
    #expect(parts[0].map(\.field) == [1, 3, 5])
    let again = try RelationHistory([
      .init(1, 1, [.linksText(large), .parent(large + "p"), .agenda([1])]), .init(2, 1, [.parent(large + large)]),
      .init(3, 1, nil),
      .init(5, 1, purge: 2),
    ]).state
    #expect(again.purged(of: type).count == 2)
    #expect(again.purged(of: type).flatMap { $0.map(\.field) }.sorted() == [1, 4, 5])
    // What somebody has written since is not among it; nor is what a revival made void.
    all = try RelationHistory([
      .init(1, 1, [.linksText("a"), .parent("p")]), .init(3, 1, nil), .init(5, 1, purge: 2), .init(4, 2, [.parent("q")]),
    ]).state
    #expect(all.purged(of: type).map { $0.map(\.field) } == [[1]])
    all = try RelationHistory([
      .init(1, 1, [.linksText("a"), .parent("p")]), .init(3, 1, nil), .init(5, 1, purge: 2),
      .init(4, 2, [.parent("q")], base: 3),
    ]).state
    #expect(all.purged(of: type).isEmpty)
  }

  /// K-24, M-14: of two fields of one name the same one shows when they are written anew, though all that is has one version
  /// then.
  @Test func ofRivalsThatAPurgeTookTheOneThatShowedComesBack() throws {
    let (set, text) = (RelationHistory.Change.links(["b"]), RelationHistory.Change.linksText("a"))
    for (first, last) in [(set, text), (text, set)] {
      let before: [RelationHistory.Write] = [.init(1, 1, [first, .parent("p")]), .init(2, 1, [last])]
      let purged: [RelationHistory.Write] =
        before + [.init(3, 1, nil), .init(5, 1, purge: 2), .init(6, 2, [.agenda([1])])]
      let state = try RelationHistory(purged).state
      let parts = state.purged(of: try RelationHistory([]).schema.types[0])
      #expect(parts == [RelationHistory.fields([last, .parent("p")])])
      let anew = try RelationHistory(purged + [.init(7, 3, purge: 2, but: [last, .parent("p")])])
      #expect(anew.state.row == RelationHistory.fields([last, .parent("p"), .agenda([1])]))
      #expect(anew.state.purged(of: anew.schema.types[0]).isEmpty)
      // Once the other one shows, since somebody has written to it, what it held comes back as well.
      let later = try RelationHistory(purged + [.init(8, 2, [.links(["c"])])]).state
      let type = try RelationHistory([]).schema.types[0]
      #expect(later.purged(of: type) == [RelationHistory.fields([set, .parent("p")])])
    }
  }
}
