import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Peers: Command {
  static let configuration = CommandConfiguration(
    commandName: "peers",
    abstract: "Prints the replicas that are known, and how far each has come here and in the remote.",
    discussion: """
      When a replica was last seen is the time of its last known transaction, by its own clock.

      Examples:
        magic-sync peers notes
        magic-sync peers notes /mnt/share/notes --json
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path)
    let place = try await remote.place(in: database)
    let status = try await place.use(.pull) { remote in
      try await database.use { magic in try await MagicReplicator(magic, over: remote).status() }
    }
    for peer in status.peers {
      if output.json { try output.event("peer", peer) } else { try output.line(peer.text) }
    }
    return Outcome(text: "", content: ["peers": status.peers.count])
  }
}

extension ReplicationStatus.Peer {
  var text: String {
    var text = "\(replica)  here \(here.grouped), there \(there.grouped)"
    if reach > there { text += " (and up to \(reach.grouped) beyond a gap)" }
    text += lastSeen.map { ", last seen \($0)" } ?? ", has written nothing"
    if isOwn { text += ", this database" }
    if let parkedMilliseconds { text += ", its clock is \(parkedMilliseconds / 60_000) minutes ahead" }
    return text
  }
}

extension UInt64 {
  var grouped: String { Int(clamping: self).grouped }
}
