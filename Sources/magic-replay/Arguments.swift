import ArgumentParser
import Console
import Foundation
import MagicData
import MagicReplication
import MagicTransport

struct SourceArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      """
      The journal: a database, a folder remote, a segment file, a bundle, an export, - for one of these files that comes through a pipe, or a server's tcp:, tls:, \
      unix: or ssh: URL.
      """,
      valueName: "SOURCE"))
  var address: String

  func open(_ options: SocketRemote.Options) async throws -> JournalSource {
    try await RemoteAddress.source(at: rereadable(address), options: options)
  }
}

/// What came through pipes, until the program ends.
private let scratch = Locked<[ScratchFolder]>([])

/// A source's address; of `-`, and of what else can be read only once, that of a copy.
func rereadable(_ address: String) throws -> String {
  let (isInput, path) = (address == "-", RemoteAddress.absolute(address))
  var status = stat()
  let isThere = stat(path, &status) == 0
  guard isInput || isThere && [S_IFIFO, S_IFCHR].contains(status.st_mode & S_IFMT) else { return address }
  let descriptor = isInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else {
    throw MagicDataError(.notAllowed, "\(path) could not be opened: \(String(cString: strerror(errno)))")
  }
  defer { if !isInput { close(descriptor) } }
  let folder = try ScratchFolder("pipe")
  scratch.withLock { $0.append(folder) }
  let file = folder.url.appendingPathComponent(isInput ? "standard-input" : "pipe")
  let read = BundleFile.reading(descriptor, isInput ? "standard input" : path)
  try DurableFile.write(to: file) { append in
    while true {
      let bytes = try read(1 << 20)
      guard !bytes.isEmpty else { return }
      try append(bytes)
    }
  }
  return file.path
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
