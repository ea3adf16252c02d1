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
      interruption the database is as it was, but that what had come whole from a server stays.

      Examples:
        magic-sync pull notes /mnt/share/notes
        magic-sync pull notes notes.magicbundle
        ssh host magic-sync push notes - | magic-sync pull notes -
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var accepted: AcceptOption
  @OptionGroup var output: OutputOptions

  var afterInterruption: String { "everything is whole, and the next run brings what is missing" }

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path)
    let place = try await remote.place(in: database, connection, isMade: true)
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
    let exchanged = Exchanged(madeDatabase: isNew, pulled: Moved(report))
    return Outcome(text: exchanged.sentences(database.path, place.text), content: exchanged, status: report.status)
  }
}
