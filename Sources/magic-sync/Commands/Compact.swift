import ArgumentParser
import Console
import Foundation
import MagicData
import MagicReplication
import MagicTransport

struct Compact: Command {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Gives up history that every replica has acknowledged, and makes few files of many.",
    discussion: """
      Of a database: what was superseded goes, of a field the values before the last; objects, digest and what a later merge comes to stay as they are. What removed objects held \
      goes a step later, once every replica has heard that nobody needs it. As long as \
      some replica has not acknowledged (magic-sync peers), what it may lack stays. Full history is kept until this is asked for.
      Of a remote's folder: many small segments become few, and what killed writers left is deleted.
      Of both: a checkpoint in the folder takes the place of history, so that a new replica starts from the state.

      Examples:
        magic-sync compact notes --dry-run
        magic-sync compact notes --keep 90d
        magic-sync compact /mnt/share/notes
        magic-sync compact notes /mnt/share/notes
      """)

  @Argument(help: ArgumentHelp("A database, or a remote's folder.", valueName: "DB or REMOTE"), completion: .file())
  var path: String

  @Argument(
    help: ArgumentHelp("The remote of a database: a name of `remote list`, or a folder.", valueName: "REMOTE"),
    completion: .file())
  var remote: String?

  @Option(
    help: ArgumentHelp(
      "Keep history that is younger than this: 2w, 90d, 12h, 30m or 45s. (MAGIC_SYNC_KEEP)", valueName: "duration")
  )
  var keep: String?

  @OptionGroup var dryRun: DryRunOption
  @OptionGroup var output: OutputOptions

  private var isDryRun: Bool { dryRun.isOn }

  func validate() throws {
    _ = try keeping()
    guard !path.isEmpty else { throw ValidationError("the path of what is compacted is empty.") }
    guard !RemoteAddress.isServer(path) else {
      throw ValidationError(
        "\(path) is a server: compact takes a database or a folder, and what a server has is compacted where it is.")
    }
  }

  /// How much history stays.
  private func keeping() throws -> Duration {
    guard let text = keep ?? EnvironmentVariable.text("KEEP") else { return .zero }
    let units: [Character: Int64] = ["w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1]
    guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), 0...1_000_000 ~= count else {
      throw ValidationError("--keep takes a number and a unit, as 2w, 90d, 12h, 30m or 45s.")
    }
    return .seconds(count * unit)
  }

  func perform() async throws -> Outcome {
    let keeping = try keeping()
    let named = remote == nil ? (try? RemoteLocation(path)) : nil
    var isFolder: ObjCBool = false
    if case .bundle(let file) = named, FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder),
      !isFolder.boolValue
    {
      throw ValidationError("\(file.path) is a bundle, which is written anew by a push; compact takes a database or a folder.")
    }
    if case .folder(let folder) = named, folder.isThere {
      guard keep == nil else { throw ValidationError("--keep is for a database's history.") }
      return Content(nil, try await folder.compact(isDryRun: isDryRun), [], isDryRun: isDryRun).outcome
    }
    let database = try CommandDatabase(path, output)
    guard let remote else {
      func compact(_ magic: MagicData) async throws -> (database: CompactionReport, peers: [ReplicationStatus.Peer]) {
        (try await magic.compact(keeping: keeping, isDryRun: isDryRun), try await magic.replicas())
      }
      let report = isDryRun ? try await database.look(compact) : try await database.use(compact)
      return Content(report.database, nil, report.peers, isDryRun: isDryRun).outcome
    }
    let place = try await RemoteLocation.meant(by: remote, in: database)
    guard case .folder(let folder) = place else {
      throw ValidationError(
        "\(place.text) is no folder: what a server has is compacted where it is, and a bundle is written anew by a push.")
    }
    func compact(
      _ magic: MagicData
    ) async throws -> (database: CompactionReport, folder: FolderCompactionReport, peers: [ReplicationStatus.Peer]) {
      let report = try await Reporter(output).follow(MagicReplicator(magic, remote: folder).remembering()) { [isDryRun] in
        try await $0.compact(keeping: keeping, isDryRun: isDryRun)
      }
      return (report.database, report.folder, try await magic.replicas())
    }
    let report = isDryRun ? try await database.look(compact) : try await database.use(compact)
    return Content(report.database, report.folder, report.peers, isDryRun: isDryRun).outcome
  }

  /// What programs get.
  private struct Content: Encodable, Sendable {
    struct Database: Encodable, Sendable {
      let entries, keptEntries, journalBytes, keptJournalBytes, bytes, newBytes, purged, unsent: Int
      let waitsFor: [String]
      let behind: [String: Int]
      let isBeyondMemory: Bool
    }

    struct Folder: Encodable, Sendable {
      let segments, newSegments, checkpoints, newCheckpoints, bytes, newBytes, leftovers, leftoverBytes: Int
      let contents, contentBytes: Int
      let waitsFor: String?
    }

    /// Who lacks something is named up to so many.
    private static let mostBehind = 10

    let isDryRun: Bool
    let database: Database?
    let remote: Folder?
    /// What is known of the replicas, by their ids.
    private let peers: [String: ReplicationStatus.Peer]

    private enum CodingKeys: CodingKey {
      case isDryRun, database, remote
    }

    init(
      _ database: CompactionReport?, _ folder: FolderCompactionReport?, _ peers: [ReplicationStatus.Peer], isDryRun: Bool
    ) {
      self.isDryRun = isDryRun
      self.peers = Dictionary(peers.map { ($0.replica, $0) }) { first, _ in first }
      self.database = database.map {
        Database(
          entries: $0.entries, keptEntries: $0.keptEntries, journalBytes: $0.bytes, keptJournalBytes: $0.keptBytes,
          bytes: $0.fileBytes, newBytes: $0.newFileBytes, purged: $0.purged, unsent: $0.unsent, waitsFor: $0.waitsFor,
          behind: $0.behind, isBeyondMemory: $0.isBeyondMemory)
      }
      remote = folder.map {
        Folder(
          segments: $0.segments, newSegments: $0.newSegments, checkpoints: $0.checkpoints, newCheckpoints: $0.newCheckpoints,
          bytes: $0.bytes, newBytes: $0.newBytes, leftovers: $0.leftovers, leftoverBytes: $0.leftoverBytes,
          contents: $0.contents, contentBytes: $0.contentBytes, waitsFor: $0.waitsFor)
      }
    }

    var outcome: Outcome { Outcome(text: text, content: self) }

    private var text: String {
      ((database.map(lines(of:)) ?? []) + (remote.map(lines(of:)) ?? [])).joined(separator: "\n")
    }

    private func lines(of database: Database) -> [String] {
      var lines: [String] = []
      // All that stays as it is is no history to give up, whatever it was counted of.
      if database.entries == database.keptEntries, database.journalBytes <= database.keptJournalBytes {
        lines.append("database: no history to give up")
      } else {
        let file = isDryRun ? "" : "; the file has \(database.newBytes.asBytes), where it had \(database.bytes.asBytes)"
        lines.append(
          """
          database: of \(database.entries.counted("change")) \(database.keptEntries.grouped) \(isDryRun ? "would stay" : "stay"), of \
          \(database.journalBytes.asBytes) \(database.keptJournalBytes.asBytes)\(file)
          """)
      }
      if database.purged > 0 {
        lines.append(
          "\(isDryRun ? "would purge" : "purged") \(database.purged.counted("removed object")): what \(database.purged == 1 ? "it" : "they") held goes with a compaction after every replica has heard of it"
        )
      }
      if database.isBeyondMemory {
        lines.append(
          """
          more is acknowledged than is remembered (10,000 replicas, 1,000,000 ends of what they hold): what some say is not heard, and history stays; expire replicas \
          that are no more: magic-sync peers DB
          """)
      }
      lines += awaited(by: database)
      if database.unsent > 0 {
        lines.append(
          "\(database.unsent.counted("transaction")) of this database \(database.unsent == 1 ? "stays" : "stay") until pushed"
        )
      }
      return lines
    }

    /// Whom history waits for.
    private func awaited(by database: Database) -> [String] {
      var lines: [String] = []
      for replica in database.waitsFor {
        // Who is expired is remembered, and heard once it pushes again.
        let nothing = database.isBeyondMemory ? "nothing that is remembered" : "nothing"
        lines.append(
          "waits for replica \(replica.called(peers[replica]?.name)), which has acknowledged \(nothing); let it push, or expire it: magic-sync peers DB --expire \(replica)"
        )
      }
      for (replica, transactions) in database.behind.sorted(by: { $0.key < $1.key }).prefix(Content.mostBehind) {
        let heard = peers[replica]?.acknowledged.map { ", last heard of on \($0)," } ?? ""
        lines.append(
          "\(transactions.counted("transaction")) \(transactions == 1 ? "stays" : "stay") until replica \(replica.called(peers[replica]?.name))\(heard) has acknowledged \(transactions == 1 ? "it" : "them")"
        )
      }
      if database.behind.count > Content.mostBehind {
        lines.append("and \((database.behind.count - Content.mostBehind).counted("other replica")): magic-sync peers DB")
      }
      if !database.behind.isEmpty {
        lines.append("expire whoever does not come back: magic-sync peers DB --expire REPLICA")
      }
      return lines
    }

    private func lines(of remote: Folder) -> [String] {
      var lines: [String] = []
      let (files, verb) = (remote.segments.countedSegments(and: remote.checkpoints), isDryRun ? "would become" : "became")
      lines.append(
        remote.segments == remote.newSegments && remote.bytes == remote.newBytes
          ? "remote: \(files), nothing to be made fewer"
          : """
          remote: \(files) \(verb) \(remote.newSegments.countedSegments(and: remote.newCheckpoints)), \
          \(remote.bytes.asBytes) \(verb) \(remote.newBytes.asBytes)
          """)
      if let checkpoint = remote.waitsFor {
        lines.append(
          """
          remote: history stays there until this database has taken \(checkpoint): sync, which says why if it does not take it
          """)
      }
      if remote.leftovers > 0 {
        lines.append(
          "remote: \(isDryRun ? "would delete" : "deleted") \(remote.leftovers.counted("temporary file")) of killed writers, \(remote.leftoverBytes.asBytes)"
        )
      }
      if remote.contents > 0 {
        lines.append(
          "remote: \(isDryRun ? "would delete" : "deleted") \(remote.contents.counted("content")) of assets that nothing names, \(remote.contentBytes.asBytes)"
        )
      }
      return lines
    }
  }
}
