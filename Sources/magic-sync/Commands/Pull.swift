import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Pull: Command {
  static let configuration = CommandConfiguration(
    commandName: "pull",
    abstract: "Fetches and merges what the database lacks.",
    discussion: """
      Makes the database if it is not there. What is damaged in the remote, or waits, is said and keeps nothing else back; after an error or an
      interruption the database is as it was, but that what had come whole from a server stays. With --watch it goes on with what the remote gets, until it is \
      interrupted, and sends nothing: for who may only read. With --dry-run it says what would come, and which values would lose, and changes nothing, but that a copy of a \
      database that asks a server becomes a replica of its own; `magic-replay diff DB REMOTE` prints what differs.

      Examples:
        magic-sync pull notes /mnt/share/notes
        magic-sync pull notes --dry-run
        magic-sync pull notes notes.magicbundle
        magic-sync pull notes tls://hub.example.org --token-file token --watch
        ssh host magic-sync push notes - | magic-sync pull notes -
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var accepted: AcceptOption
  @OptionGroup var watching: WatchOptions
  @OptionGroup var dryRun: DryRunOption
  @OptionGroup var output: OutputOptions

  var afterInterruption: String {
    dryRun.isOn ? "nothing was changed" : "everything is whole, and the next run brings what is missing"
  }

  func validate() throws {
    guard !dryRun.isOn || !watching.isOn else { throw ValidationError("--dry-run is for one exchange, without --watch.") }
  }

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path, output)
    if dryRun.isOn { return try await look(database) }
    let place = try await remote.place(in: database, connection, isMade: true)
    if watching.isOn { return try await follow(database, place) }
    let lock = try await database.madeAlone()
    defer { withExtendedLifetime(lock) {} }
    let isNew = database.isNew
    let report = try await place.breakingOff { place in
      try await place.use(.pull, for: database) { remote in
        try await database.useOrFetch { magic in
          try await Reporter(output).follow(MagicReplicator(magic, over: remote).remembering()) { [accepted] in
            try await $0.pull(accepting: accepted.replicas)
          }
        }
      }
    }
    let exchanged = ExchangeSummary(madeDatabase: isNew, pulled: TransferSummary(report))
    return exchanged.outcome(database.path, place.text, report.status, output)
  }

  /// What would come.
  private func look(_ database: CommandDatabase) async throws -> Outcome {
    let place = try await remote.place(in: database, connection)
    let reporter = Reporter(output, isDryRun: true)
    let report = try await place.use(.pull, for: database) { remote in
      try await database.look { magic in
        try await reporter.follow(MagicReplicator(magic, over: remote).remembering()) { [accepted] in
          let report = try await $0.pull(accepting: accepted.replicas, isDryRun: true)
          await reporter.count(dryRun: report)
          return report
        }
      }
    }
    let exchanged = ExchangeSummary(isDryRun: true, pulled: TransferSummary(report))
    return exchanged.outcome(database.path, place.text, report.status, output)
  }

  private func follow(_ database: CommandDatabase, _ place: RemoteLocation) async throws -> Outcome {
    let remote = try place.followed()
    try accepted.checkIsForOne()
    try place.checkIsNotAlone(database)
    let isNew = try await database.useOrInit()
    let reporter = Reporter(output, isContinuous: true)
    try await database.use { magic in
      if !output.quiet {
        if isNew { Terminal.say("made the database \(database.path)") }
        if !place.isThere { Terminal.say("the remote \(place.text) is not there; it is awaited") }
        Terminal.say("following \(place.text) until interrupted; nothing is sent from \(database.path)")
      }
      try await reporter.follow(MagicReplicator(magic, over: remote).remembering()) { [pause = watching.pause] in
        try await $0.keepPulling(every: .seconds(pause)) { _ in await reporter.goOn() }
      }
    }
    return Outcome(text: "", content: await ExchangeSummary(madeDatabase: isNew, pulled: reporter.pulled))
  }
}
