import Foundation
import MagicData
import MagicReplication
import MagicTransport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct Syncing {
  @Test func anAppIsKeptInStep() async throws {
    let temporary = try TemporaryFolder()
    let shared = temporary["shared"].path
    let other = try await MagicData(path: temporary["other"])
    try await other.update(Note(title: "Buy milk"))
    try await MagicReplicator(other, remote: FolderRemote(path: shared)).push()
    let (shown, continuation) = AsyncStream.makeStream(of: String.self)
    @Sendable func show(_ text: Any...) { continuation.yield("\(text)") }
    let magic = try await MagicData(path: temporary["app"])

    let watching = Task {
      let replicator = MagicReplicator(magic, remote: FolderRemote(path: shared))
      let events = replicator.events
      let syncing = Task { try await replicator.run() }
      told: for await event in events {
        switch event {
        case .progress(let progress): show(progress.transactions, "of", progress.totalTransactions)
        case .conflict(let conflict): show(conflict.object, conflict.lost.value ?? "", "lost to", conflict.won.value ?? "")
        case .parked(let replica): show("the clock of", replica.replica, "runs ahead")
        case .forked(let error), .retrying(let error, _): show(error.message)
        case .inStep: show("in step")
        case .stopped: break told
        default: break
        }
      }
      syncing.cancel()
      try await syncing.value
    }

    var texts: [String] = []
    for await text in shown {
      texts.append(text)
      if text == #"["in step"]"# { break }
    }
    watching.cancel()
    try await watching.value
    #expect(texts == [#"[1, "of", 1]"#, #"["in step"]"#])
    #expect(try await magic.object(of: Note.self).map(\.title) == ["Buy milk"])
  }

  @Test func aDatabaseIsServed() async throws {
    let temporary = try TemporaryFolder()
    let magic = try await MagicData(path: temporary["served"])
    try await magic.update(Note(title: "Buy milk"))
    let other = try await MagicData(path: temporary["other"])
    let (shown, continuation) = AsyncStream.makeStream(of: String.self)
    @Sendable func show(_ text: String, _ addresses: [String]) { continuation.yield(addresses[0]) }

    let server = MagicServer(magic, at: ["tcp://127.0.0.1:0"])
    let serving = Task { try await server.run { addresses in show("listening at", addresses) } }

    var found: String?
    for await address in shown {
      found = address
      break
    }
    let address = try #require(found)

    let remote = try SocketRemote(address)
    try await MagicReplicator(other, remote: remote).sync()

    #expect(try await other.object(of: Note.self).map(\.title) == ["Buy milk"])
    serving.cancel()
    try await serving.value
  }
}
