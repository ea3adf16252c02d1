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
      When a replica last wrote is the time of its last known transaction, by its own clock. What it has acknowledged it said with its last push: history that \
      all have acknowledged can be given up (magic-sync compact). A replica that has been silent for long, and will not come back soon, can be expired: it is \
      not waited for any more, until it pushes again. It loses nothing by it. \
      A name is for people: others hear of it with the next push, and the latest one that anybody has given counts.

      Examples:
        magic-sync peers notes
        magic-sync peers notes --name laptop
        magic-sync peers notes --name phone --of 3f9a01
        magic-sync peers notes --expire 3f9a01
        magic-sync peers notes /mnt/share/notes --json
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  @Option(
    help: ArgumentHelp(
      "Expire the replica of this name, or whose id begins with these digits, four at least. It is asked for here alone.",
      valueName: "REPLICA"))
  var expire: String?

  @OptionGroup var naming: NameOption

  @Option(
    name: .customLong("of"),
    help: ArgumentHelp(
      "Whom --name names, if not this database: a replica as --expire takes it. It is said here alone.", valueName: "REPLICA"))
  var named: String?

  func validate() throws {
    guard expire != "", named != "" else {
      throw ValidationError("a replica is meant by its name, or the first digits of its id, four digits at least.")
    }
    guard naming.name != nil || named == nil else { throw ValidationError("--of is for --name.") }
    guard naming.name == nil || expire == nil && remote.address == nil else {
      throw ValidationError("--name names a replica in the database alone, and a remote hears of it with the next push.")
    }
  }

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path, output)
    if let name = naming.name {
      let replica = try await database.use { magic in try await magic.setReplicaName(name, of: named) }
      return Outcome(
        text: "replica \(replica) is called \(name.printable): others hear of it with the next push",
        content: ["replica": replica, "name": name])
    }
    if let replica = expire {
      let place = try await remote.placeIfAny(in: database, connection)
      let expired = try await asking(database, place) { magic, remote in
        if let remote { return try await MagicReplicator(magic, over: remote).expire(replica) }
        return try await magic.expire(replica)
      }
      return Outcome(
        text: "expired replica \(expired): it is not waited for until it pushes again", content: ["expired": expired])
    }
    let (peers, hasRemote, failure) = try await remote.askedIfItCanBe(in: database, connection) { place, failure in
      let asked = failure == nil ? place : nil
      let peers = try await asking(database, asked) { magic, remote in
        if let remote { return try await MagicReplicator(magic, over: remote).remembering().status().peers }
        return try await magic.replicas()
      }
      return (peers, asked != nil, failure)
    }
    for peer in peers {
      if output.json { try output.event("peer", peer) } else { try output.line(peer.text(hasRemote: hasRemote)) }
    }
    if let failure { Terminal.say(failure.message, .red) }
    return Outcome(
      text: "", content: Content(peers: peers.count, error: failure.map { ErrorRecord($0) }),
      status: failure?.code.exitCode ?? .success)
  }

  private struct Content: Encodable {
    let peers: Int
    /// Why the remote was not looked at.
    let error: ErrorRecord?
  }

  private func asking<Result>(
    _ database: CommandDatabase, _ place: RemoteLocation?,
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
    var text = "\(replica.called(name))  here \(here.grouped)"
    if hasRemote { text += ", there \(there.grouped)" }
    if reach > there { text += " (and up to \(reach.grouped) beyond a gap)" }
    if known > max(here, reach) { text += " (and up to \(known.grouped) acknowledged by who has them)" }
    text += lastSeen.map { ", last wrote \($0)" } ?? ", has written nothing"
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

extension String {
  /// A replica's id, with what people call it.
  func called(_ name: String?) -> String { name.map { "\(self) (\($0.printableInParentheses))" } ?? self }
}

extension UInt64 {
  var grouped: String { Int(clamping: self).grouped }
}
