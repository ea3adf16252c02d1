import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// Replicas that follow a server.
@Suite(.timeLimit(.minutes(15))) struct FollowingTests {
  /// W-11: a server says once what it holds, be it in answer to a push, in the middle of a round that pulls no more.
  @Test(arguments: [RemoteKind.hub, .peer]) func noChangeIsMissed(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    let tasks = [a, b].map { replica in Task { try await replica.replicator.run(every: .milliseconds(20)) } }
    for number in 0..<60 {
      try await a.magic.update(Note("1", "\(number)"))
      // Without any word a round begins after a minute.
      #expect(try await isSeen("\(number)", in: b.magic, within: .seconds(40)), "change \(number) was not told")
    }
    for task in tasks {
      task.cancel()
      try await task.value
    }
    try await place.stop()
  }

  /// L-11: a session that stays meets any number of reasons to come again under another id, one after the other.
  @Test func whoFollowsMayGetAnyNumberOfIDs() async throws {
    let place = try await Place(.hub)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    let tasks = [a, b].map { replica in Task { try await replica.replicator.run(every: .milliseconds(20)) } }
    for number in 0..<12 {
      try await a.magic.update(Note("1", "\(number)"))
      #expect(try await isSeen("\(number)", in: b.magic, within: .seconds(40)), "change \(number) did not come")
      // As where a merge has found that somebody else writes under the id.
      try await a.magic.store.write { [store = a.magic.store] db in
        try store.leaveReplica(from: 1_000, withFloor: false, db)
      }
    }
    for task in tasks {
      task.cancel()
      try await task.value
    }
    try await place.stop()
  }

  /// F-14: contents follow their objects, and nobody tells of them.
  @Test(arguments: [RemoteKind.folder, .hub]) func contentsThatComeLaterAreLookedFor(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    try await a.magic.update(Photo("1", "late"))
    #expect(try await a.replicator.push().assets == 1)
    let contents = place.files.appendingPathComponent("assets")
    try FileManager.default.moveItem(at: contents, to: place.folder["aside"])
    #expect(try await b.replicator.pull().missingAssets == 1)
    let following = Task { try await b.replicator.run(every: .milliseconds(20)) }
    try await Task.sleep(for: .seconds(1))
    try FileManager.default.moveItem(at: place.folder["aside"], to: contents)
    let photo = try await b.magic.object(of: Photo.self, primary: "1")
    let latest = ContinuousClock.now + .seconds(40)
    // Without any word a round begins after a minute.
    while ContinuousClock.now < latest, (try? photo.content?.load()) != "late" {
      try await Task.sleep(for: .milliseconds(50))
    }
    #expect(try photo.content?.load() == "late")
    following.cancel()
    try await following.value
    try await place.stop()
  }

  /// C-5, L-22: a server that holds back what comes from a clock that is ahead is not asked again and again.
  @Test func whatIsHeldBackIsNotSentWithoutEnd() async throws {
    let place = try await Place(.peer)
    let ahead = Replica(try place.magic("ahead", skew: 2 * 3_600_000), try place.remote())
    try await ahead.magic.update(Note("1", "from tomorrow"))
    let events = ahead.replicator.events
    let (heard, first) = AsyncStream.makeStream(of: Void.self)
    let counting = Task {
      var sent = 0
      for await event in events {
        guard case .sent = event else { continue }
        sent += 1
        first.yield()
      }
      return sent
    }
    let following = Task { try await ahead.replicator.run(every: .milliseconds(20)) }
    for await _ in heard { break }
    try await Task.sleep(for: .seconds(1))
    following.cancel()
    try await following.value
    counting.cancel()
    let sent = await counting.value
    #expect(1...4 ~= sent, "it was sent \(sent) times")
    #expect(try await place.served?.statistics().transactions == 0)
    // It is said.
    let report = try await ahead.replicator.sync()
    #expect(report.push.unread.first?.message.contains("--accept") == true, "\(report)")
    try await place.stop()
  }

  private func isSeen(_ title: String, in magic: MagicData, within time: Duration) async throws -> Bool {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        for try await notes in magic.observe(of: Note.self) where notes.first?.title == title { return true }
        return false
      }
      group.addTask {
        try await Task.sleep(for: time)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
  }

  /// W-18: what a data set of many replicas says of each other is more than a frame holds.
  @Test(arguments: [RemoteKind.hub, .peer]) func manyMembersKeepNobodyFromSyncing(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.sync()
    try await know(130, in: a.magic)
    for number in 2...3 {
      try await a.magic.update(Note("\(number)", "more"))
      #expect(try await a.replicator.sync().push.transactions == 1)
    }
    try await place.stop()
  }

  /// Members who have all said what they have of each other: 130 of them take 1.4 MB to say.
  private func know(_ count: Int, in magic: MagicData) async throws {
    let replicas = (0..<count).map { ReplicaID(UInt64($0 + 1), 7) }
    var frontier = NamedFrontier()
    for replica in replicas {
      frontier[replica] = .init(sequence: 1, name: TransactionName(stamp: Stamp(1 << 16), tag: 1))
    }
    try await magic.store.write { [frontier] db in
      for replica in replicas {
        var member = MemberReplica(replica)
        member.acknowledged = .init(time: 1, frontier: frontier)
        try member.store(db)
      }
    }
  }
}
