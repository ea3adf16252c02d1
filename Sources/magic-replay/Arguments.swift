import ArgumentParser
import Console
import MagicData
import MagicReplication
import MagicTransport

struct SourceArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "The journal: a database, a folder remote, a segment file, a bundle, an export, or a server's tcp:, tls:, unix: or ssh: URL.",
      valueName: "SOURCE"))
  var address: String

  func open(_ options: SocketRemote.Options) async throws -> JournalSource {
    try await RemoteAddress.source(at: address, options: options)
  }
}

/// Which part of a journal is meant.
struct WindowOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Only what this replica wrote: its id, or how that begins. May be given several times.", valueName: "id")
  )
  var replica: [String] = []

  @Option(help: ArgumentHelp("Only what was written then or later.", valueName: "time"))
  var since: String?

  @Option(help: ArgumentHelp("Only what was written then or before.", valueName: "time"))
  var until: String?

  func selection() throws -> LogSelection {
    var selection = LogSelection()
    selection.replicas = try replica.replicas(or: "REPLICA")
    selection.since = try (since ?? Twin.text("SINCE")).map { try MagicMoment($0) }
    selection.until = try (until ?? Twin.text("UNTIL")).map { try MagicMoment($0) }
    return selection
  }

  func validate() throws { _ = try checking { try selection() } }
}

extension [String] {
  /// What was given, or the twin of the option.
  func or(_ twin: String) -> [String] { isEmpty ? Twin.text(twin).map { [$0] } ?? [] : self }

  /// The same of how ids of replicas begin. All of them begin with an empty text, as an unset variable of the shell gives it.
  func replicas(or twin: String) throws -> [String] {
    let replicas = or(twin).map { $0.lowercased() }
    guard !replicas.contains("") else {
      throw ValidationError("--replica takes a replica's id, or how that begins, and not ''.")
    }
    return replicas
  }
}

/// A time that cannot be read is a wrong argument.
func checking<Result>(_ body: () throws -> Result) throws -> Result {
  do { return try body() } catch let error as MagicDataError { throw ValidationError(error.message + ".") }
}
