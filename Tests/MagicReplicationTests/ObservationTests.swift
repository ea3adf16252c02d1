import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct ObservationTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func replica(_ name: String) throws -> Replica {
    try Replica(folder[name], folder["remote"], world)
  }

  /// H-37, M-22: an app can tell what a merge brought from what it wrote itself.
  @Test func aPullGivesObserversWhatItMerged() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("1", "first"))
    try await a.replicator.sync()
    var notes = b.magic.observe(of: Note.self).makeAsyncIterator()
    var changes = try await b.magic.changes().makeAsyncIterator()
    #expect(try await notes.next()?.map(\.title) == [])
    // What is local comes in between, and other types do not count.
    try await b.magic.update(Event("local"))
    try await b.replicator.pull()
    #expect(try await notes.next()?.map(\.title) == ["first"])
    let (local, merged) = (try #require(try await changes.next()), try #require(try await changes.next()))
    #expect(local.origin == .local)
    #expect(local.objects.map(\.type) == ["Event"])
    #expect(merged.origin == .replica(try await a.magic.statistics().replica))
    #expect(merged.objects.map(\.primary) == [.text("1")])
    #expect(abs(merged.time.timeIntervalSince1970 * 1_000 - Double(world.milliseconds)) < 10)
    #expect(try await b.magic.statistics().replicas.map(\.lastSequence).sorted() == [1, 1])
  }

  @Test func aQueryIsAskedAgainAfterAMerge() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    let query = b.magic.query(of: Person.self).where { $0.friend.name == "W" || $0.pages.contains { $0.text == "x" } }
    var people = query.observe().makeAsyncIterator()
    #expect(try await people.next()?.isEmpty == true)
    let (person, friend, leaf) = (Person("1", "A"), Person("2", "W"), Leaf("y"))
    person.friend = friend
    try await a.magic.update(person)
    try await a.replicator.sync()
    try await b.replicator.pull()
    #expect(try await people.next()?.map(\.id) == ["1"])
    friend.name = "V"
    person.pages = [leaf]
    try await a.magic.update(person)
    try await a.replicator.sync()
    try await b.replicator.pull()
    #expect(try await people.next()?.map(\.id) == [])
    leaf.text = "x"
    try await a.magic.update(leaf)
    try await a.replicator.sync()
    try await b.replicator.pull()
    #expect(try await people.next()?.map(\.id) == ["1"])
  }

  /// A merge through another opening of the file stands for one by another process, such as `magic-sync`.
  @Test func aMergeThroughAnotherOpeningIsSeen() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    let watched = try replica("b")
    var notes = watched.magic.observe(of: Note.self).makeAsyncIterator()
    #expect(try await notes.next()?.isEmpty == true)
    for number in 1...3 {
      try await a.magic.update(Note("\(number)", "x"))
      try await a.replicator.push()
      try await b.replicator.pull()
      #expect(try await notes.next()?.count == number)
    }
  }
}
