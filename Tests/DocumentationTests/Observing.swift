import Foundation
import MagicData
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct Observing {
  @Test func whatIsThereIsShownAndKeptUpToDate() async throws {
    let magic = try await MagicData(type: .temporary)
    let (shown, continuation) = AsyncStream.makeStream(of: Int.self)
    let task = Task {
      func show(_ notes: [Note]) { continuation.yield(notes.count) }

      for try await notes in magic.observe(of: Note.self) {
        show(notes)
      }
    }
    var counts = shown.makeAsyncIterator()
    #expect(await counts.next() == 0)
    try await magic.update(Note(title: "Buy milk"))
    #expect(await counts.next() == 1)
    task.cancel()
    try await task.value
  }

  @Test func aQueryIsObserved() async throws {
    let magic = try await MagicData(type: .temporary)
    let (shown, continuation) = AsyncStream.makeStream(of: [String].self)
    let task = Task {
      func show(_ notes: [Note]) { continuation.yield(notes.map(\.title)) }

      for try await best in magic.query(of: Note.self).where({ $0.stars > 3 }).sorted(by: \.title).limit(10).observe() {
        show(best)
      }
    }
    var titles = shown.makeAsyncIterator()
    #expect(await titles.next() == [])
    let note = Note(title: "Buy milk")
    note.stars = 4
    try await magic.update(note)
    #expect(await titles.next() == ["Buy milk"])
    task.cancel()
    try await task.value
  }

  @Test func transactionsAreActedOn() async throws {
    let magic = try await MagicData(type: .temporary)
    let (forgotten, continuation) = AsyncStream.makeStream(of: MagicChanges.Primary?.self)
    let task = Task {
      func forget(_ type: String, _ primary: MagicChanges.Primary?) { continuation.yield(primary) }

      for try await transaction in try await magic.changes() {
        for object in transaction.objects where object.operation == .remove {
          forget(object.type, object.primary)
        }
      }
    }
    // Whether the task has begun to listen is not known here, so it is told until it hears.
    let writer = Task {
      while !Task.isCancelled {
        let note = Note(title: "Buy milk")
        try await magic.update(note)
        try await magic.remove(note)
        await Task.yield()
      }
    }
    var removed = forgotten.makeAsyncIterator()
    guard case .text = await removed.next() else {
      Issue.record("no note was forgotten")
      return
    }
    task.cancel()
    writer.cancel()
    _ = (await task.result, await writer.result)
  }

  @Test func transactionsTellWhereTheyWereWritten() async throws {
    let magic = try await MagicData(type: .temporary)
    let (shown, continuation) = AsyncStream.makeStream(of: String.self)
    @Sendable func show(_ origin: String, _ time: Date) { continuation.yield(origin) }

    let changes = try await magic.changes()
    let listening = Task {
      for try await transaction in changes {
        switch transaction.origin {
        case .local: show("here", transaction.time)
        case .replica(let id): show(id, transaction.time)
        }
      }
    }

    try await magic.update(Note(title: "Buy milk"))
    var origins = shown.makeAsyncIterator()
    #expect(await origins.next() == "here")
    listening.cancel()
    try await listening.value
  }

  @Test func aCopyIsADatabase() async throws {
    let temporary = try TemporaryFolder()
    let copy = temporary["copy"]
    let magic = try await MagicData(type: .temporary)
    try await magic.update(Note(title: "Buy milk"))

    try await magic.backup(to: copy)
    let statistics = try await magic.statistics()
    print(statistics.bytes, "bytes,", statistics.transactions, "transactions, replica", statistics.replica)

    #expect(try await MagicData(path: copy).object(of: Note.self).count == 1)
  }
}
