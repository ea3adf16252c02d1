import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Status: Command {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Prints what waits to go out and to come in, and what it all takes.",
    discussion: """
      Changes nothing, but that a copy of a database becomes a replica of its own. \
      Of a database that knows no remote, as one that is served, what it has by itself; so too where the remote is away, with the exit code that says why. \
      With --check the exit code is 4 unless database and remote hold the same. `magic-replay diff DB REMOTE` prints what differs.

      Examples:
        magic-sync status notes
        magic-sync status notes /mnt/share/notes --check --quiet
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var connection: ConnectionOptions

  @Flag(help: "Exit with 4 if something waits. (MAGIC_SYNC_CHECK)")
  var check = false

  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path, output)
    return try await remote.askedIfItCanBe(in: database, connection) { place, failure in
      if let place, failure == nil { return try await outcome(database, place) }
      let failure = failure ?? (isCheck ? RemoteLocation.noneIsNamed : nil)
      let content = try await alone(database, place, without: failure)
      if let failure { Terminal.say(failure.message, .red) }
      return Outcome(text: isSilent ? "" : content.text, content: content, status: failure?.code.exitCode ?? .success)
    }
  }

  /// What the database has by itself.
  private func alone(
    _ database: CommandDatabase, _ place: RemoteLocation?, without error: MagicDataError?
  ) async throws -> Content {
    try await database.use { magic in
      var remotes: [NamedRemote]?
      if place == nil, error != nil { remotes = try await magic.remotes() }
      return Content(
        nil, try await magic.statistics(), try await magic.compact(isDryRun: true), database.path, place?.text,
        peers: try await magic.replicas(), remotes: remotes, error: error)
    }
  }

  private func outcome(_ database: CommandDatabase, _ place: RemoteLocation) async throws -> Outcome {
    let (status, statistics, history) = try await place.use(.pull, for: database) { remote in
      try await database.use { magic in
        (
          try await MagicReplicator(magic, over: remote).remembering().status(), try await magic.statistics(),
          try await magic.compact(isDryRun: true)
        )
      }
    }
    let content = Content(status, statistics, history, database.path, place.text, peers: status.peers)
    return Outcome(
      text: isSilent ? "" : content.text, content: content, status: isCheck && !status.isInStep ? .differs : .success)
  }

  /// The exit code is what was asked for.
  private var isSilent: Bool { isCheck && output.quiet }
  private var isCheck: Bool { check || EnvironmentVariable.flag("CHECK") }

  /// What programs get.
  private struct Content: Encodable {
    struct Store: Encodable {
      let path, replica: String
      let sequence, transactions, entries, journalBytes, bytes: Int
    }

    /// What compact would give up.
    struct History: Encodable {
      let entries, bytes: Int
      let waitsFor: [String]
      let isBeyondMemory: Bool
    }

    struct Place: Encodable {
      let address: String
      let segments, checkpoints, bytes: Int
      let unusable: [String]
    }

    /// This, the remote and what waits: `nil` without a remote.
    let isInStep: Bool?
    let database: Store
    let history: History
    let remote: Place?
    /// Transactions that wait.
    let out, `in`: UInt64?
    /// Contents of assets that do.
    let outAssets, inAssets: Int?
    /// Branches of ids that are closed, which a pull takes under others.
    let inBranches: Int?
    let parked: [ReplicationStatus.Peer]
    let skewMilliseconds: Int64?
    let peers: [ReplicationStatus.Peer]
    /// Those that the database knows, where it does not tell which is meant.
    let remotes: [NamedRemote]?
    /// Why the remote was not looked at.
    let error: ErrorRecord?
    /// Where that is.
    private let address: String?

    /// How many are named of those that have acknowledged nothing.
    private static let mostNamed = 3

    private enum CodingKeys: String, CodingKey {
      case isInStep, database, history, remote, out, `in`, outAssets, inAssets, inBranches, parked, skewMilliseconds, peers
      case remotes, error
    }

    init(
      _ status: ReplicationStatus?, _ statistics: MagicStatistics, _ history: CompactionReport, _ path: String,
      _ address: String?, peers: [ReplicationStatus.Peer], remotes: [NamedRemote]? = nil, error: MagicDataError? = nil
    ) {
      (self.remotes, self.error, self.address) = (remotes, error.map { ErrorRecord($0) }, address)
      database = Store(
        path: path, replica: statistics.replica,
        sequence: statistics.replicas.first { $0.id == statistics.replica }?.lastSequence ?? 0,
        transactions: statistics.transactions, entries: statistics.entries, journalBytes: statistics.journalBytes,
        bytes: statistics.bytes)
      self.history = History(
        entries: history.entries - history.keptEntries, bytes: history.freedBytes, waitsFor: history.waitsFor,
        isBeyondMemory: history.isBeyondMemory)
      remote = status.flatMap { status in
        address.map { address in
          Place(
            address: address, segments: status.segments, checkpoints: status.checkpoints,
            bytes: status.segmentBytes + status.checkpointBytes, unusable: status.unusable)
        }
      }
      (isInStep, out, `in`) = (status?.isInStep, status?.out, status?.in)
      (outAssets, inAssets, inBranches) = (status?.outAssets, status?.inAssets, status?.inBranches)
      self.peers = peers
      parked = peers.filter { $0.parkedMilliseconds != nil }
      skewMilliseconds = status?.skewMilliseconds
    }

    var text: String {
      let name = peers.first { $0.isOwn }?.name
      var lines = [
        "database  \(database.path): replica \(database.replica.called(name)), sequence \(database.sequence.grouped)",
        "journal   \(database.transactions.counted("transaction")), \(database.entries.counted("change")): "
          + "\(database.journalBytes.asBytes) of \(database.bytes.asBytes)",
        "history   \(historyText)",
      ]
      guard let remote, let isInStep else { return (lines + notLookedAt).joined(separator: "\n") }
      lines += [
        "remote    \(remote.address)\(files(of: remote))",
        "out       \(waiting(out ?? 0, outAssets ?? 0, 0, "to be pushed"))",
        "in        \(waiting(`in` ?? 0, inAssets ?? 0, inBranches ?? 0, "to be pulled"))",
      ]
      for peer in peers where peer.here != peer.there || peer.hasGap { lines.append("peer      \(peer.text())") }
      for peer in parked {
        let replica = peer.replica.called(peer.name)
        lines.append("parked    \((peer.there - peer.here).grouped) of replica \(replica), until its time has come")
      }
      if let skewMilliseconds, skewMilliseconds > 60_000 {
        lines.append(
          "skew      the latest write in the remote is \(skewMilliseconds / 60_000) minutes ahead of this machine's clock")
      }
      lines += remote.unusable.map { "unusable  \($0)" }
      return (lines + [isInStep ? "in step" : "not in step"]).joined(separator: "\n")
    }

    /// The remote that is none or away, and who had not acknowledged all when the database last heard of him.
    private var notLookedAt: [String] {
      guard error != nil, remotes?.isEmpty != true else { return ["remote    none"] }
      let names = remotes.map { $0.map { "\($0.name) \($0.address)" } } ?? [address ?? ""]
      return peers.filter { !$0.isOwn && $0.unacknowledged > 0 }.map { "peer      \($0.text(hasRemote: false))" }
        + names.map { "remote    \($0), which was not looked at" }
    }

    /// Not of a server that tells of no segments, as one of a database.
    private func files(of remote: Place) -> String {
      guard remote.segments + remote.checkpoints > 0 || !peers.contains(where: { $0.there > 0 }) else { return "" }
      return ": \(remote.segments.countedSegments(and: remote.checkpoints)), \(remote.bytes.asBytes)"
    }

    private var historyText: String {
      guard history.waitsFor.isEmpty else {
        let nothing = history.isBeyondMemory ? "nothing that is remembered" : "nothing"
        let named = history.waitsFor.prefix(Content.mostNamed).map { id in
          id.called(peers.first { $0.replica == id }?.name)
        }
        let (isOne, others) = (history.waitsFor.count == 1, history.waitsFor.count - named.count)
        let who = named.joined(separator: ", ") + (others > 0 ? " and \(others.counted("other"))" : "")
        return """
          all is kept: \(isOne ? "replica" : "replicas") \(who) \(isOne ? "has" : "have") acknowledged \(nothing); let \(isOne ? "it" : "them") push, or expire \
          \(isOne ? "it" : "them"): magic-sync peers DB --expire REPLICA
          """
      }
      return "compact would give up \(history.entries.counted("change")), \(history.bytes.asBytes)"
    }

    private func waiting(_ transactions: UInt64, _ assets: Int, _ branches: Int, _ what: String) -> String {
      var counts: [String] = []
      if transactions > 0 { counts.append(Int(clamping: transactions).counted("transaction")) }
      if assets > 0 { counts.append("the \(assets == 1 ? "content" : "contents") of \(assets.counted("asset"))") }
      if branches > 0 { counts.append("\(branches.counted("branch", "branches")) of ids that are closed") }
      guard !counts.isEmpty else { return "nothing waits \(what)" }
      let isOne = counts.count == 1 && (transactions == 1 || assets == 1 || branches == 1)
      return "\(counts.joined(separator: " and ")) \(isOne ? "waits" : "wait") \(what)"
    }
  }
}
