import ArgumentParser
import Console
import Foundation
import MagicData
import MagicReplication

struct Push: Command {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Sends what the remote lacks.",
    discussion: """
      Makes the remote's folder if the folder above is there, and the database has not exchanged with one there before: else a drive may not be mounted, and --anew makes it all \
      the same. To a .magicbundle file it adds what that lacks; with - a bundle of the whole journal goes to \
      standard output, and the result to standard error.

      Examples:
        magic-sync push notes /mnt/share/notes
        magic-sync push notes notes.magicbundle
        magic-sync push notes - | ssh host magic-sync pull notes -
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var anew: AnewOption
  @OptionGroup var output: OutputOptions

  var isOutputTaken: Bool { remote.isPipe }
  var afterInterruption: String {
    remote.isPipe ? "the bundle is cut off" : "everything is whole, and the next run brings what is missing"
  }

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path, isOutputTaken ? nil : output)
    let place = try await remote.place(in: database, connection)
    try anew.check(place)
    guard !place.isPipe || isatty(STDOUT_FILENO) == 0 else {
      throw ValidationError("a bundle is no text for a terminal; redirect standard output, or name a file.")
    }
    let (isNew, report) = try await database.use { magic in
      try await anew.putBack(place, magic, output)
      let isNew = !place.isPipe && !place.isThere
      let report = try await place.use(.push, settling: magic) { remote in
        let replicator = MagicReplicator(magic, over: remote).remembering(makingAnew: anew.isOn)
        return try await Reporter(output, isOutputTaken: place.isPipe).follow(replicator) { try await $0.push() }
      }
      return (isNew, report)
    }
    if report.missingAssets > 0, !output.quiet {
      Terminal.say(
        """
        the content of \(report.missingAssets.counted("asset")) is neither here nor in the remote: `magic-sync verify` names the files, and a \
        pull from a remote that has them brings them
        """, .yellow)
    }
    let exchanged = ExchangeSummary(madeRemote: isNew, pushed: TransferSummary(report))
    return exchanged.outcome(database.path, place.text, report.status, output)
  }
}
