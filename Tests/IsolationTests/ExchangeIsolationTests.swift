import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

struct Note: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String
  init() {}
  init(_ id: String, _ title: String) {
    self.id = id
    self.title = title
  }
}

struct Event: MagicObject {
  @MagicValue var text: String
  init() {}
  init(_ text: String) { self.text = text }
}

/// Whoever calls goes on where it was, optimized as well (see `ObjectIsolationTests`).
@Suite @MainActor struct ExchangeIsolationTests {
  struct Replica {
    let magic: MagicData
    let replicator: MagicReplicator
  }

  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func replica(_ name: String, remote: String = "remote") async throws -> Replica {
    let magic = try await MagicData(path: folder[name])
    return Replica(magic: magic, replicator: MagicReplicator(magic, remote: FolderRemote(folder[remote])))
  }

  @Test func exchangesComeBack() async throws {
    let (a, b) = (try await replica("a"), try await replica("b"))
    for round in 0..<3 {
      try await a.magic.update(Note("\(round)", "note"))
      #expect(MainQueue.isCurrent)
      try await a.replicator.sync()
      #expect(MainQueue.isCurrent)
      let pulled = try await b.replicator.pull()
      #expect(MainQueue.isCurrent)
      #expect(pulled.transactions == 1)
      try await b.magic.update(Event("event"))
      #expect(MainQueue.isCurrent)
      _ = try await b.replicator.push()
      #expect(MainQueue.isCurrent)
      // Of nothing.
      try await b.replicator.sync()
      #expect(MainQueue.isCurrent)
    }
    try await a.replicator.pull()
    #expect(MainQueue.isCurrent)
    let digest = try await a.magic.digest()
    #expect(MainQueue.isCurrent)
    #expect(try await b.magic.digest() == digest)
    #expect(MainQueue.isCurrent)
  }

  @Test func errorsComeBack() async throws {
    let (a, other) = (try await replica("a"), try await replica("b", remote: "elsewhere"))
    for replica in [a, other] {
      try await replica.magic.update(Note("n", "note"))
      try await replica.replicator.sync()
    }
    let stray = MagicReplicator(other.magic, remote: FolderRemote(folder["remote"]))
    let none = MagicReplicator(a.magic, remote: FolderRemote(folder["none"]))
    for replicator in [stray, none] {
      await #expect(throws: MagicDataError.self) { try await replicator.pull() }
      #expect(MainQueue.isCurrent)
    }
    await #expect(throws: MagicDataError.self) { try await stray.push() }
    #expect(MainQueue.isCurrent)
    await #expect(throws: MagicDataError.self) { try await stray.sync() }
    #expect(MainQueue.isCurrent)
    try await a.magic.close()
    #expect(MainQueue.isCurrent)
    await #expect(throws: MagicDataError.self) { try await a.magic.digest() }
    #expect(MainQueue.isCurrent)
  }

  private actor Owner {
    /// Belongs to the actor, over every exchange.
    let note = Note("n", "first")

    func edit(_ replica: Replica) async throws -> String {
      for title in ["second", "third"] {
        try await replica.magic.update(note)
        try await replica.replicator.sync()
        assertIsolated()
        note.title = title
        _ = try await replica.magic.digest()
        assertIsolated()
      }
      return note.title
    }
  }

  @Test func anActorGoesOnAsItself() async throws {
    #expect(try await Owner().edit(replica("a")) == "third")
    #expect(MainQueue.isCurrent)
  }

  /// The blocking face reads what an exchange brought, on the thread that it was called on.
  @Test func theBlockingFaceStaysWhereItIs() async throws {
    let (a, b) = (try await replica("a"), try await replica("b"))
    try await a.magic.update(Note("n", "note"))
    try await a.replicator.sync()
    try await b.replicator.pull()
    let thread = pthread_self()
    try b.magic.blocking.transaction { transaction in
      #expect(pthread_equal(pthread_self(), thread) != 0)
      let note = try transaction.object(of: Note.self, primary: "n")
      note.title = "edited"
      try transaction.update(note)
    }
    #expect(MainQueue.isCurrent)
    try await b.replicator.push()
    try await a.replicator.pull()
    #expect(MainQueue.isCurrent)
    #expect(try a.magic.blocking.object(of: Note.self, primary: "n").title == "edited")
  }
}
