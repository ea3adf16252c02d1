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
      valueName: "SOURCE"), completion: .file())
  var address: String

  func open(_ options: SocketRemote.Options) async throws -> JournalSource {
    try await RemoteAddress.source(at: rereadable(address), options: options)
  }
}

extension JournalSource {
  /// Says that nothing matches, and of a type that was mistyped which ones there are.
  func sayNothing(_ text: String, of type: String?) async throws {
    let unknown: String? = if let type { try await self.unknown(type: type) } else { nil }
    Terminal.say(text + (unknown.map { ": \($0)" } ?? ""), .yellow)
  }
}

/// What came through pipes, until the program ends.
private let scratch = Locked<[ScratchFolder]>([])

/// A source's address; of `-`, and of what else can be read only once, that of a copy, which messages call as what was copied.
func rereadable(_ address: String) throws -> String {
  if address == "-" { return try copy(of: STDIN_FILENO, "standard input") }
  guard !RemoteAddress.isServer(address) else { return address }
  let path = try RemoteAddress.sourcePath(address)
  var status = stat()
  guard stat(path, &status) == 0, [S_IFIFO, S_IFCHR].contains(status.st_mode & S_IFMT) else { return address }
  let descriptor = try opened(path)
  defer { close(descriptor) }
  return try copy(of: descriptor, path)
}

/// Standard input is read once.
func checkInput(of addresses: [String]) throws {
  guard addresses.filter({ $0 == "-" }).count < 2 else {
    throw ValidationError("- is standard input, which is read once; name a file for another source.")
  }
}

/// To open a pipe with a name waits for who writes to it, and cannot be cancelled: a thread of its own does.
private func opened(_ path: String) throws -> Int32 {
  let (result, isThere) = (Locked<(descriptor: Int32, number: Int32)>((-1, 0)), DispatchSemaphore(value: 0))
  Thread.detachNewThread {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    let number = errno
    result.withLock { $0 = (descriptor, number) }
    isThere.signal()
  }
  while isThere.wait(timeout: .now() + .milliseconds(100)) == .timedOut { try Task.checkCancellation() }
  let (descriptor, number) = result.withLock { $0 }
  guard descriptor >= 0 else {
    throw MagicDataError(.notAllowed, "\(path) could not be opened: \(String(cString: strerror(number)))")
  }
  return descriptor
}

/// The path of a file with all that is read until the end.
private func copy(of descriptor: Int32, _ name: String) throws -> String {
  let folder = try ScratchFolder("pipe")
  scratch.withLock { $0.append(folder) }
  let file = folder.url.appendingPathComponent("pipe")
  DisplayName.set(name, of: file.path)
  let read = StreamReader.reading(descriptor, name)
  do {
    try DurableFile.write(to: file) { append in
      while true {
        let bytes = try read(1 << 20)
        guard !bytes.isEmpty else { return }
        try append(bytes)
      }
    }
  } catch let error as MagicDataError where error.code == .full {
    throw folder.isFull(for: name, cause: error)
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
    selection.since = try (since ?? EnvironmentVariable.text("SINCE")).map { try MagicMoment($0) }
    selection.until = try (until ?? EnvironmentVariable.text("UNTIL")).map { try MagicMoment($0) }
    return selection
  }

  func validate() throws { _ = try checking { try selection() } }
}

extension [String] {
  /// What was given, or the twin of the option.
  func or(_ twin: String) -> [String] { isEmpty ? EnvironmentVariable.text(twin).map { [$0] } ?? [] : self }

  /// How ids of replicas begin, as they were given, or in the twin of the option.
  func replicas(or twin: String) throws -> [String] { try or(twin).replicas() }

  /// How ids of replicas begin. All of them begin with an empty text, as an unset variable of the shell gives it, and none with
  /// what is no digit of one.
  func replicas() throws -> [String] {
    let replicas = map { $0.lowercased() }
    for id in replicas where !(1...32 ~= id.utf8.count && id.allSatisfy { $0.isASCII && $0.isHexDigit }) {
      throw ValidationError("--replica takes a replica's id, or how that begins, in hexadecimal digits, and not '\(id)'.")
    }
    return replicas
  }
}

/// A time that cannot be read is a wrong argument.
func checking<Result>(_ body: () throws -> Result) throws -> Result {
  do { return try body() } catch let error as MagicDataError { throw ValidationError(error.message + ".") }
}
