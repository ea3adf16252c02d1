import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Peers: Command {
  static let configuration = CommandConfiguration(
    commandName: "peers",
    abstract: "Prints the replicas that are known, and how far each has come here and in the remote.",
    discussion: """
      Of a database that knows no remote, as one that is served, what it knows by itself. \
      When a replica was last seen is the time of its last known transaction, by its own clock. What it has acknowledged it said with its last push: history that \
      all have acknowledged can be given up (magic-sync compact). A replica that has been silent for long, and will not come back soon, can be expired: it is \
      not waited for any more, until it pushes again. It loses nothing by it.

      Examples:
        magic-sync peers notes
        magic-sync peers notes --expire 3f9a01
        magic-sync peers notes /mnt/share/notes --json
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  @Option(
    help: ArgumentHelp(
      "Expire the replica whose id begins with these digits, four at least. It is asked for here alone.",
      valueName: "REPLICA"))
  var expire: String?

  func validate() throws {
    guard expire.map({ $0.count >= 4 }) ?? true else {
      throw ValidationError("--expire takes the first digits of a replica's id, four digits at least.")
    }
  }

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path)
    // One that is only served knows of no remote, and of the others by itself.
    let place = try await remote.placeIfAny(in: database, connection)
    if let replica = expire {
      let expired = try await asking(database, place) { magic, remote in
        if let remote { return try await MagicReplicator(magic, over: remote).expire(replica) }
        return try await magic.expire(replica)
      }
      return Outcome(
        text: "expired replica \(expired): it is not waited for until it pushes again", content: ["expired": expired])
    }
    let peers = try await asking(database, place) { magic, remote in
      if let remote { return try await MagicReplicator(magic, over: remote).remembering().status().peers }
      return try await magic.replicas()
    }
    for peer in peers {
      if output.json { try output.event("peer", peer) } else { try output.line(peer.text(hasRemote: place != nil)) }
    }
    return Outcome(text: "", content: ["peers": peers.count])
  }

  private func asking<Result>(
    _ database: CommandDatabase, _ place: RemotePlace?,
    _ body: (MagicData, (any MagicReplication.Remote)?) async throws -> Result
  ) async throws -> Result {
    guard let place else { return try await database.use { magic in try await body(magic, nil) } }
    return try await place.use(.pull, for: database) { remote in
      try await database.use { magic in try await body(magic, remote) }
    }
  }
}

extension ReplicationStatus.Peer {
  func text(hasRemote: Bool = true) -> String {
    var text = "\(replica)  here \(here.grouped)"
    if hasRemote { text += ", there \(there.grouped)" }
    if reach > there { text += " (and up to \(reach.grouped) beyond a gap)" }
    if known > max(here, reach) { text += " (and up to \(known.grouped) acknowledged by who has them)" }
    text += lastSeen.map { ", last seen \($0)" } ?? ", has written nothing"
    if isOwn { text += ", this database" }
    if let acknowledged, !isOwn {
      text += ", acknowledged " + (unacknowledged == 0 ? "all" : "all but \(unacknowledged.grouped)") + " on \(acknowledged)"
    } else if !isOwn {
      text += ", has acknowledged nothing" + (isBeyondMemory ? " that is remembered" : "")
    }
    if isExpired { text += ", expired" }
    if let parkedMilliseconds { text += ", its clock is \(parkedMilliseconds / 60_000) minutes ahead" }
    return text
  }
}

extension UInt64 {
  var grouped: String { Int(clamping: self).grouped }
}
