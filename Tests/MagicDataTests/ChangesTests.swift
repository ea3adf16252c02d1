import Foundation
import MagicData
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct ChangesTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// What was read ahead is not given out any more: who looks up what it is about would get an error.
  @Test func itEndsWithTheDatabase() async throws {
    let magic = try await MagicData(path: folder["db"])
    var changes = try await magic.changes().makeAsyncIterator()
    for number in 0..<5 { try await magic.update(Cat("\(number)", 1)) }
    #expect(try await changes.next()?.objects.first?.primary == .text("0"))
    try await magic.close()
    #expect(try await changes.next() == nil)
  }

  @Test func aTransactionTellsWhatItDid() async throws {
    let world = World()
    let magic = MagicData(
      store: try Store(.file(DatabaseLocation(folder["db"]), mustExist: false), world.surroundings()))
    try await magic.update(Cat("Before", 1))
    var changes = try await magic.changes().makeAsyncIterator()
    let tom = Cat("Tom", 4)
    let zIndex = try await magic.update(tom)
    tom.owner = "Jon"
    try await magic.update(tom)
    world.advance(5_000)
    try await magic.transaction { transaction in
      let place = Place()
      place.number = 7
      try await transaction.remove(tom)
      try await transaction.update(place)
      try await transaction.update(Session.named("A"))
    }
    let made = try #require(try await changes.next())
    #expect(made.origin == .local)
    #expect(abs(made.time.timeIntervalSince1970 - Double(world.milliseconds) / 1_000 + 5) < 0.01)
    #expect(
      made.objects == [
        .init(type: "Cat", operation: .update, primary: .text("Tom"), zIndex: zIndex, fields: ["weight", "lives"])
      ])
    #expect(
      try await changes.next()?.objects == [
        .init(type: "Cat", operation: .update, primary: .text("Tom"), zIndex: zIndex, fields: ["owner"])
      ])
    let last = try #require(try await changes.next())
    #expect(last.time > made.time)
    #expect(
      last.objects == [
        .init(type: "Cat", operation: .remove, primary: .text("Tom"), zIndex: zIndex, fields: []),
        .init(type: "Place", operation: .update, primary: .integer(7), zIndex: 1, fields: []),
        .init(type: "Session", operation: .update, primary: nil, zIndex: 1, fields: ["title"]),
      ])
  }

  /// Also if they come faster than they are read, from two openings of the file (H-40), and some are rolled back.
  @Test(arguments: [0, 1]) func eachTransactionComesOnceAndInOrder(pause: Int) async throws {
    struct Stop: Error {}
    let (magic, other) = (try await MagicData(path: folder["db"]), try await MagicData(path: folder["db"]))
    let sequence = try await magic.changes()
    let reader = Task {
      var names: [String] = []
      for try await changes in sequence {
        for object in changes.objects { if case .text(let name) = object.primary { names.append(name) } }
        for _ in 0..<(pause * 50) { await Task.yield() }
        if names.count == 1_200 { return names }
      }
      return names
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, writer) in [magic, other].enumerated() {
        group.addTask {
          for index in 0..<250 { try await writer.update(Cat("\(number) \(index)", 1)) }
          _ = try? await writer.transaction { transaction in
            try await transaction.update(Cat("nobody", 1))
            throw Stop()
          }
          try await writer.update(contentsOf: (250..<600).map { Cat("\(number) \($0)", 1) })
        }
      }
      try await group.waitForAll()
    }
    let names = try await reader.value
    #expect(Set(names).count == 1_200)
    for number in 0..<2 {
      let own = names.filter { $0.hasPrefix("\(number) ") }
      #expect(own == (0..<600).map { "\(number) \($0)" })
    }
    // Another iterator begins where the sequence does.
    var again = sequence.makeAsyncIterator()
    var count = 0
    while count < 1_200, let changes = try await again.next() { count += changes.objects.count }
    #expect(count == 1_200)
  }

  @Test func cancellingEndsTheSequenceWithoutAnError() async throws {
    let magic = try await MagicData(type: .memory)
    let seen = Elements<Int> { seen in
      let changes = try await magic.changes()
      seen.yield(0)
      for try await changes in changes { seen.yield(changes.objects.count) }
    }
    #expect(await seen.next() == 0)
    try await magic.update(Cat("Tom", 4))
    #expect(await seen.next() == 1)
    seen.cancel()
    #expect(await seen.next() == nil)
    try await seen.finish()
  }
}

extension Session {
  fileprivate static func named(_ title: String) -> Session {
    let session = Session()
    session.title = title
    return session
  }
}
