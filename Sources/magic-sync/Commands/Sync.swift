import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Sync: Command {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Pulls, then pushes.",
    discussion: """
      Makes the database, or the remote's folder, if one of the two is not there. A folder with which the database has exchanged before, and that is gone, is not made again without --anew: \
      a drive may not be mounted. With --watch it goes on: after each change of the database, by whatever \
      program, and of the remote's files, until it is interrupted, which then is a success. What may pass, as a share that is not there, is tried again.

      Examples:
        magic-sync sync notes /mnt/share/notes
        magic-sync sync notes
        magic-sync sync notes --watch --interval 5 --json
        magic-sync sync notes --anew
        magic-sync sync notes tls://hub.example.org --token-file token --watch
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var accepted: AcceptOption
  @OptionGroup var anew: AnewOption

  @OptionGroup var watching: WatchOptions
  @OptionGroup var output: OutputOptions

  var afterInterruption: String { "everything is whole, and the next run brings what is missing" }

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path, output)
    let place = try await remote.place(in: database, connection, isMade: true)
    guard !place.isPipe else { throw ValidationError("a pipe goes one way: push to it, or pull from it.") }
    try anew.check(place)
    if watching.isOn { return try await follow(database, place) }
    try place.checkIsNotAlone(database)
    let lock = try await database.madeAlone()
    defer { withExtendedLifetime(lock) {} }
    let isDatabaseNew = database.isNew
    let reporter = Reporter(output)
    let done: (isRemoteNew: Bool, report: (pull: PullReport, push: PushReport))
    do {
      done = try await place.breakingOff { place in
        try await database.useOrFetch { magic in
          try await anew.putBack(place, magic, output)
          let isRemoteNew = !place.isThere
          let report = try await place.use(.both, settling: magic) { remote in
            let replicator = MagicReplicator(magic, over: remote).remembering(makingAnew: anew.isOn)
            return try await reporter.follow(replicator) { [accepted] in try await $0.sync(accepting: accepted.replicas) }
          }
          return (isRemoteNew: isRemoteNew, report: report)
        }
      }
    } catch {
      // A new database goes with what failed.
      if !isDatabaseNew { await reporter.sayMoved() }
      throw error
    }
    let report = done.report
    let exchanged = ExchangeSummary(
      madeDatabase: isDatabaseNew, madeRemote: done.isRemoteNew, pulled: TransferSummary(report.pull),
      pushed: TransferSummary(report.push))
    return exchanged.outcome(
      database.path, place.text, report.pull.isComplete ? report.push.status : report.pull.status, output)
  }

  private func follow(_ database: CommandDatabase, _ place: RemoteLocation) async throws -> Outcome {
    let remote = try place.followed()
    try accepted.checkIsForOne()
    try place.checkIsNotAlone(database)
    let isNew = try await database.useOrInit()
    let reporter = Reporter(output, isContinuous: true)
    let (isRemoteNew, isAwaited) = try await database.use { magic in
      do {
        try await anew.putBack(place, magic, output)
      } catch let error as MagicDataError where error.code == .busy {
        // It may be on its way, and is waited for (F-24).
        if !output.quiet { Terminal.say(error.message, .yellow) }
      }
      let isRemoteNew = !place.isThere
      let replicator = MagicReplicator(magic, over: remote).remembering(makingAnew: anew.isOn)
      let hasMet = try await replicator.hasMet()
      if !output.quiet {
        // A name that was mistyped makes another database.
        if isNew { Terminal.say("made the database \(database.path)") }
        if isRemoteNew {
          let what = hasMet ? "awaited, as it was there before" : "made, or awaited if its folder is not there either"
          Terminal.say("the remote \(place.text) is not there; it is \(what)")
        }
        Terminal.say("following \(database.path) and \(place.text) until interrupted")
      }
      try await reporter.follow(replicator) { [pause = watching.pause] in try await $0.run(every: .seconds(pause)) }
      return (isRemoteNew, hasMet)
    }
    let moved = await ExchangeSummary(
      madeDatabase: isNew, madeRemote: isRemoteNew && !isAwaited && place.isThere, pulled: reporter.pulled,
      pushed: reporter.pushed)
    return Outcome(text: "", content: moved)
  }
}
