import Foundation
import MagicData
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// The program that an `ssh:` address runs.
@Suite(.timeLimit(.minutes(15))) struct ProgramTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// What runs in the place of ssh. A program that was written this moment may be open to write to in another's child, and is
  /// busy then; what it reads is not.
  private func run(_ script: String) throws {
    try Data("\(script)\n".utf8).write(to: folder["script"])
  }

  private func replicator() async throws -> MagicReplicator {
    let program = folder["ssh"]
    try Data("#!/bin/sh\n. '\(folder["script"].path)'\n".utf8).write(to: program)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.path)
    var options = SocketRemote.Options()
    options.ssh = program.path
    return MagicReplicator(
      try await MagicData(path: folder["a"]), remote: try SocketRemote("ssh://far.example.org/notes", options: options))
  }

  /// The tool at the other end ends as it does here, and so does what waits for it.
  @Test func whatTheOtherEndEndsWithIsTold() async throws {
    let replicator = try await replicator()
    let meanings: [(Int, MagicDataError.Code)] = [
      (1, .failed), (5, .busy), (6, .notAllowed), (7, .incompatible), (8, .fork), (9, .full), (127, .notFound),
      (255, .unreachable),
    ]
    for (status, code) in meanings {
      try run("exit \(status)")
      await expectCode(code, naming: "ssh://far.example.org/notes") { try await replicator.pull() }
    }
  }

  /// What a shell prints before it is no frame, and says so.
  @Test func whatAShellPrintsIsTold() async throws {
    let replicator = try await replicator()
    try run("echo 'Welcome to far.example.org'\ncat > /dev/null")
    await expectCode(.failed, naming: "its startup files must print nothing") { try await replicator.pull() }
  }

  #if os(Linux)
    /// What it inherited would stay open for as long as it runs.
    @Test func itGetsNoSocketThatIsOpenHere() async throws {
      let server = try await RunningServer(
        MagicServer(folder: FolderRemote(folder["hub"]), at: ["tcp://127.0.0.1:0"], options: RunningServer.quiet))
      let list = folder["list"]
      let replicator = try await replicator()
      try run("ls -l /proc/$$/fd > '\(list.path)'\nexit 255")
      await expectCode(.unreachable) { try await replicator.pull() }
      // Each line ends as `3 -> socket:[1234]`.
      let lines = try String(contentsOf: list, encoding: .utf8).split(separator: "\n").map { $0.split(separator: " ") }
      let open = lines.filter { $0.count > 3 && Int($0[$0.count - 3]) ?? 0 > 2 }.map { String($0[$0.count - 1]) }
      #expect(lines.count > 3 && !open.contains { $0.hasPrefix("socket:") }, "\(open)")
      try await server.stop()
    }
  #endif
}
