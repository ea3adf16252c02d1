import Foundation
import MagicData
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct QueryObservationTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func titles(_ magic: MagicData, by name: String) -> Elements<[String]> {
    Elements { seen in
      let query = magic.query(of: Work.self).where { $0.author.name == name || $0.tags.contains { $0.name == name } }
      for try await works in query.sorted(by: \.title).limit(3).observe() { seen.yield(works.map(\.title)) }
    }
  }

  @Test(arguments: [MagicData.Volatile.memory, .temporary])
  func eachChangeGivesWhatIsAskedForThen(type: MagicData.Volatile) async throws {
    let magic = try await MagicData(type: type)
    let seen = titles(magic, by: "W")
    // Of types that the database has never seen.
    #expect(await seen.next() == [])
    let work = Work("Sea", Writer("W"))
    try await magic.update(work)
    #expect(await seen.next() == ["Sea"])
    try await magic.update(Work("Moon", Writer("W")))
    #expect(await seen.next() == ["Moon", "Sea"])
    // By way of a relation.
    let other = Work("Sun", Writer("A"))
    other.tags = [Tag("x")]
    try await magic.update(other)
    #expect(await seen.next() == ["Moon", "Sea"])
    let tag = try #require(try await magic.object(of: Tag.self).first)
    tag.name = "W"
    try await magic.update(tag)
    #expect(await seen.next() == ["Moon", "Sea", "Sun"])
    try await magic.remove(Writer("W"))
    #expect(await seen.next() == ["Sun"])
    try await magic.query(of: Work.self).remove()
    #expect(await seen.next() == [])
  }

  /// Another opening of the file stands for another process.
  @Test func whatOthersWriteIsSeenAndOtherTypesAreNot() async throws {
    let (magic, other) = (try await MagicData(path: folder["db"]), try await MagicData(path: folder["db"]))
    let seen = titles(magic, by: "W")
    #expect(await seen.next() == [])
    for number in 1...3 {
      try await magic.update(Cat("\(number)", 1))
      try await other.update(Work("\(number)", Writer("W")))
      #expect(await seen.next() == (1...number).map { "\($0)" })
    }
  }

  @Test func valuesAreObserved() async throws {
    struct Plain: MagicConvertible {
      var title: String
      init(_ work: Work) { title = work.title }
      func makeModel() -> Work { Work(title, Writer("W")) }
    }
    let magic = try await MagicData(path: folder["db"])
    let values = magic.values(of: Plain.self)
    let some = Elements<[String]> { seen in
      for try await plain in values.observe(where: { $0.author.name == "W" }, sort: \.title, .descending, limit: 2) {
        seen.yield(plain.map(\.title))
      }
    }
    let all = Elements<Int> { seen in
      for try await plain in values.observe() { seen.yield(plain.count) }
    }
    #expect(await some.next() == [])
    #expect(await all.next() == 0)
    try await magic.update(contentsOf: ["a", "c", "b"].map { Work($0, Writer("W")) })
    #expect(await some.next() == ["c", "b"])
    #expect(await all.next() == 3)
  }

  private nonisolated(nonsending) func drain(_ query: MagicQuery<Work>) async throws {
    for try await _ in query.observe() {}
  }

  @Test func aQueryThatCannotBeToldIsRefused() async throws {
    let magic = try await MagicData(path: folder["db"])
    await #expect { try await drain(magic.query(of: Work.self).where { $0.shout == "W" }) } throws: {
      ($0 as? MagicDataError)?.code == .query
    }
    try await magic.transaction { tx in
      await #expect { try await drain(tx.query(of: Work.self)) } throws: {
        ($0 as? MagicDataError)?.code == .transaction
      }
    }
  }

  @Test func theEndOfTheDatabaseIsTheEnd() async throws {
    let magic = try await MagicData(path: folder["db"])
    let seen = titles(magic, by: "W")
    #expect(await seen.next() == [])
    try await magic.close()
    #expect(await seen.next() == nil)
    try await seen.finish()
  }
}
