import ArgumentParser
import Console
import MagicData
import MagicReplication
import MagicTransport

struct Apply: Command {
  static let configuration = CommandConfiguration(
    commandName: "apply",
    abstract: "Rebuilds a database from journals alone.",
    discussion: """
      The database is a new replica, with objects, relations, journal, and the assets that the sources have. Whole, up to a moment, or of some replicas alone, it belongs to the \
      sources' data set: a sync brings the rest. With --type or --skip, and where history was given up and what was kept of it is damaged, it is a data set of its own, which does not \
      sync with them. --until, --type, --replica and --skip are not taken from the environment.

      Examples:
        magic-replay apply /mnt/share/notes --into rebuilt
        magic-replay apply notes --into before --until "2026-01-31T12:00:00Z"
        magic-replay apply notes --into without --skip 1a2b3c4d:17
      """)

  @Argument(
    help: ArgumentHelp(
      "The journals: databases, folder remotes, segment files, bundles, exports, - for a pipe, or URLs.", valueName: "SOURCE"),
    completion: .file())
  var sources: [String]

  @OptionGroup var target: TargetOptions
  @OptionGroup var connection: ConnectionOptions

  @Option(help: ArgumentHelp("Only what was written then or before.", valueName: "time"))
  var until: String?

  @Option(help: "Only objects of this type. May be given several times.")
  var type: [String] = []

  @Option(
    help: ArgumentHelp("Only what this replica wrote: its id, or how that begins. May be given several times.", valueName: "id")
  )
  var replica: [String] = []

  @Option(
    help: ArgumentHelp("Without this transaction, as log prints it. May be given several times.", valueName: "replica:sequence")
  )
  var skip: [String] = []

  @OptionGroup var accepted: AcceptOption

  @Flag(help: "Merge in another order, which must come to the same; prints the digest. (MAGIC_REPLAY_SHUFFLE)")
  var shuffle = false

  @Option(help: "With --shuffle: the number that the order follows from. (MAGIC_REPLAY_SEED)")
  var seed: UInt64?

  @OptionGroup var output: OutputOptions

  private var isShuffled: Bool { shuffle || EnvironmentVariable.flag("SHUFFLE") }

  /// What is left out stands on the command line alone: a variable that was set for another command would cut the database
  /// without a word.
  private func plan() throws -> RebuildPlan {
    var plan = RebuildPlan()
    plan.until = try until.map { try MagicMoment($0) }
    plan.types = Set(type)
    plan.replicas = try replica.replicas()
    plan.accepted = accepted.replicas.sorted()
    plan.skipped = try skip.map { try MagicMoment(transaction: $0) }
    if isShuffled {
      plan.seed =
        seed ?? EnvironmentVariable.int("SEED").map { UInt64(bitPattern: Int64($0)) } ?? UInt64.random(in: 1...999_999)
    }
    return plan
  }

  func validate() throws {
    guard !sources.isEmpty else { throw ValidationError("name a source at least.") }
    try checkInput(of: sources)
    guard seed == nil || isShuffled else { throw ValidationError("--seed goes with --shuffle.") }
    guard !sources.contains(where: { CommandDatabase.areSame($0, target.into) }) else {
      throw ValidationError("--into names a source, which is read until the end; name another path.")
    }
    _ = try checking { try plan() }
  }

  func perform() async throws -> Outcome {
    var plan = try plan()
    var opened: [JournalSource] = []
    for address in sources {
      opened.append(try await RemoteAddress.source(at: rereadable(address), options: connection.options))
    }
    return try await target.build(output, isPart: plan.isPart) { magic, merged in
      plan.merged = merged
      let report = try await magic.rebuild(from: opened, plan)
      return (report, plan.seed == nil ? nil : try await magic.digest(), plan.seed)
    }
  }
}

/// Where a database is built.
struct TargetOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The database that is made.", valueName: "DB"), completion: .file())
  var into: String

  @Flag(
    help:
      "Put it in the place of a database that is there, which nobody may have open, if nothing of the sources is damaged or missing. (MAGIC_REPLAY_FORCE)"
  )
  var force = false

  /// - Parameter isPart: whether only what matches something is taken, which may be nothing.
  func build(
    _ output: OutputOptions, isPart: Bool = false,
    _ body: (_ magic: MagicData, _ merged: @Sendable @escaping (Int) -> Void) async throws -> (
      report: RebuildReport, digest: String?, seed: UInt64?
    )
  ) async throws -> Outcome {
    let database = try CommandDatabase(into)
    let force = force || EnvironmentVariable.flag("FORCE")
    let lock = try await database.madeAlone()
    defer { withExtendedLifetime(lock) {} }
    guard force || !database.exists else {
      throw MagicDataError(
        .exists,
        "there is a database at \(database.path) already; name another path, or put the new one in its place with --force")
    }
    func tell(_ report: RebuildReport) throws {
      try output.tell(report.read)
      try output.tell(MagicReadReport(report.pull, from: database.path))
    }
    func rebuild(_ magic: MagicData) async throws -> (report: RebuildReport, digest: String?, seed: UInt64?) {
      let line = Terminal.isTerminal && !output.quiet && !output.json ? MergedLine() : nil
      defer { line?.clear() }
      return try await body(magic) { line?.show($0) }
    }
    let replaces = database.exists
    func build(_ magic: MagicData) async throws -> (report: RebuildReport, digest: String?, seed: UInt64?) {
      let made = try await rebuild(magic)
      guard made.report.transactions > 0 || made.report.isComplete else {
        try tell(made.report)
        throw MagicDataError(.damaged, "nothing of the sources could be taken, so no database was made")
      }
      // The same of a name that was mistyped.
      guard !isPart || made.report.changes > 0 else {
        throw MagicDataError(
          .notFound, "nothing in the sources is of what --type, --replica and --until ask for, so no database was made")
      }
      // A file that was cut, or a folder that has not come whole, would take the place of what may be the only copy.
      guard !replaces || made.report.holdsAll else {
        try tell(made.report)
        let reason = made.report.changes > 0 ? "not all of the sources could be taken" : "the sources hold nothing"
        throw MagicDataError(
          made.report.changes > 0 ? .damaged : .notFound,
          "\(reason), so the database at \(database.path) stays; name another path, or move it away first")
      }
      return made
    }
    let (report, digest, seed) = force ? try await database.replace(build) : try await database.useOrBuild(build)
    try tell(report)
    let content = Content(report, database.path, digest, seed)
    return Outcome(text: content.text, content: content, status: report.isComplete ? .success : .partlyDone)
  }

  private struct Content: Encodable {
    let path: String
    let transactions, changes, assets, missingAssets: Int
    let isOwnDataSet: Bool
    let digest: String?
    let seed: UInt64?

    init(_ report: RebuildReport, _ path: String, _ digest: String?, _ seed: UInt64?) {
      self.path = path
      (transactions, changes) = (report.transactions, report.changes)
      (assets, missingAssets) = (report.pull.assets, report.pull.missingAssets)
      isOwnDataSet = report.isOwnDataSet
      (self.digest, self.seed) = (digest, seed)
    }

    var text: String {
      let source = "\(transactions.counted("transaction")) with \(changes.counted("change"))"
      var lines = ["made the database \(path.printable) of \(source)"]
      if assets > 0 { lines.append("\(assets.counted("asset")) came along") }
      if missingAssets > 0 {
        lines.append("\(missingAssets.counted("asset")) of objects could not be had: the sources lack the content")
      }
      if isOwnDataSet { lines.append("it is a data set of its own, and does not sync with the source's") }
      if let digest, let seed { lines.append("shuffled with --seed \(seed): digest \(digest)") }
      return lines.joined(separator: "\n")
    }
  }
}
