import Foundation
import MagicData
import TestSupport
import Testing

/// Signals end every command: its exit code is the signal's, and nothing is half done.
@Suite(.timeLimit(.minutes(15))) struct ReplaySignalTests {
  let fixture: ReplayFixture

  init() throws {
    fixture = try ReplayFixture()
  }

  private func path(_ name: String) -> String { fixture.path(name) }

  private func writeMany() async throws {
    try await fixture.work("a") { magic in
      try await magic.update(
        contentsOf: (0..<20_000).map { Note("\($0)", "a title of some length, so that a pipe cannot hold all of them") })
    }
  }

  private func start(_ command: [String], output: Any, errors: Any = FileHandle.nullDevice) throws -> ChildProcess {
    try Tool.replay.start([command[0], path("a")] + command.dropFirst(), output: output, errors: errors)
  }

  /// Waits until a process has printed a text; `false` if it ends before.
  private func prints(_ text: String, _ pipe: Pipe) -> Bool {
    var output = ""
    while !output.contains(text) {
      let more = pipe.fileHandleForReading.availableData
      guard !more.isEmpty else { return false }
      output += String(decoding: more, as: UTF8.self)
    }
    return true
  }

  // MARK: Reading

  /// SQLite is interrupted in the middle of a reading, which waits for who takes what is printed.
  @Test func whoPrintsObjectsIsInterrupted() async throws {
    try await writeMany()
    for (command, signal) in [
      (["state"], SIGINT), (["state", "--json"], SIGTERM), (["diff", "--from", "2025-01-01"], SIGINT),
    ] {
      let (output, errors) = (Pipe(), Pipe())
      let process = try start(command, output: output, errors: errors)
      #expect(try output.fileHandleForReading.read(upToCount: 10)?.count == 10)
      kill(process.processIdentifier, signal)
      // It goes on when somebody reads, and has heard of the signal before all is read.
      var read = Data()
      while let more = try output.fileHandleForReading.read(upToCount: 4_096), !more.isEmpty {
        read += more
        try await Task.sleep(for: .milliseconds(50))
      }
      let printed = String(decoding: read, as: UTF8.self)
      let message = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      #expect(process.terminationStatus == 128 + signal, "\(command): \(message)")
      #expect(message.contains("interrupted; what was printed may be cut off"), "\(command): \(message)")
      #expect(!command.contains("--json") || printed.contains("\"code\":\"cancelled\""), "\(command)")
    }
  }

  /// As another program may leave a pipe that it shares.
  private func nonBlockingPipe() throws -> Pipe {
    let pipe = Pipe()
    let end = pipe.fileHandleForWriting.fileDescriptor
    try #require(fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) == 0)
    return pipe
  }

  @Test func aNonBlockingPipeGetsAll() async throws {
    try await writeMany()
    let output = try nonBlockingPipe()
    let process = try start(["state"], output: output)
    let printed = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(process.terminationStatus == 0)
    #expect(try printed == Tool.replay.run("state", path("a")).output)
  }

  /// Nobody takes what is printed, and who is interrupted does not wait for it.
  @Test func whoHasNoRoomInANonBlockingPipeIsInterrupted() async throws {
    try await writeMany()
    let output = try nonBlockingPipe()
    let process = try start(["state"], output: output)
    #expect(try output.fileHandleForReading.read(upToCount: 10)?.count == 10)
    kill(process.processIdentifier, SIGTERM)
    let latest = ContinuousClock.now + .seconds(30)
    while process.isRunning, ContinuousClock.now < latest { try await Task.sleep(for: .milliseconds(20)) }
    try #require(!process.isRunning)
    #expect(process.terminationStatus == 128 + SIGTERM)
  }

  /// What comes with the first signal is one with it; a later one does not wait for who takes what is printed.
  @Test func aLaterSignalEndsAtOnce() async throws {
    try await writeMany()
    let output = Pipe()
    let process = try start(["state"], output: output)
    #expect(try output.fileHandleForReading.read(upToCount: 10)?.count == 10)
    while try held(output) < 60_000 { try await Task.sleep(for: .milliseconds(20)) }
    // What is left of the room is gone soon.
    try await Task.sleep(for: .milliseconds(200))
    // At once: a test waits for its turn among others as long as for a second.
    for number in [SIGTERM, SIGHUP, SIGTERM, SIGINT] { kill(process.processIdentifier, number) }
    try await Task.sleep(for: .milliseconds(1_500))
    #expect(process.isRunning)
    kill(process.processIdentifier, SIGTERM)
    let latest = ContinuousClock.now + .seconds(30)
    while process.isRunning, ContinuousClock.now < latest { try await Task.sleep(for: .milliseconds(20)) }
    try #require(!process.isRunning)
    #expect(process.terminationStatus == 128 + SIGTERM)
  }

  /// How many bytes a pipe has that nobody has read.
  private func held(_ pipe: Pipe) throws -> Int32 {
    #if os(Linux)
      let question: UInt = 0x541b
    #else
      let question: UInt = 0x4004_667f
    #endif
    var count: Int32 = 0
    try #require(ioctl(pipe.fileHandleForReading.fileDescriptor, question, &count) == 0)
    return count
  }

  /// At any moment: who has not come to the end says so.
  @Test func whoReadsIsInterrupted() async throws {
    try await writeMany()
    let seed = seeds(1)[0]
    var chance = Seeded(seed)
    for command in [["verify"], ["undo", "--since", "2025-01-01", "--dry-run"]] {
      for _ in 0..<4 {
        let process = try start(command, output: FileHandle.nullDevice)
        try await Task.sleep(for: .milliseconds(chance.below(900)))
        kill(process.processIdentifier, SIGINT)
        // Before the program listens, the signal ends it.
        #expect([0, 130].contains(process.terminationStatus), "\(command), MAGIC_SEED=\(seed)")
      }
    }
  }

  // MARK: A terminal

  /// Runs `magic-replay` on a terminal of its own, and sends all of its processes a signal when it has printed a text: Ctrl-C,
  /// as the terminal does.
  ///
  /// - Parameter isAlone: whether the program alone hears of it, as when somebody ends it by its number.
  private func run(_ arguments: [String], until text: String, signal: Int32, isAlone: Bool = false) throws -> Tool.Result {
    let script = """
      import os, pty, signal, sys, time
      signal.pthread_sigmask(signal.SIG_SETMASK, [])
      signal.alarm(60)
      number, text = int(sys.argv[1]), sys.argv[2].encode()
      alone = sys.argv.pop(3) == "alone"
      child, terminal = pty.fork()
      if child == 0: os.execv(sys.argv[3], sys.argv[3:])
      shown = b""
      while text not in shown: shown += os.read(terminal, 1000)
      time.sleep(0.5)  # A shell that is about to start a program misses it.
      if alone: os.kill(child, number)
      elif number == signal.SIGINT: os.write(terminal, b"\\x03")
      else: os.killpg(child, number)
      sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
      """
    return try Tool.python.run(
      arguments: ["-c", script, "\(signal)", text, isAlone ? "alone" : "all", Tool.replay.path.path] + arguments)
  }

  @Test(arguments: [SIGINT, SIGTERM]) func aQuestionIsInterrupted(signal: Int32) async throws {
    for title in ["first", "second"] { try await fixture.write(title, to: "a", id: "n") }
    let log = try Tool.replay.run("log", path("a")).output
    let result = try run(["undo", path("a"), "--transaction", "2"], until: "[y/N]", signal: signal)
    #expect(result.status == 128 + signal, "\(result)")
    #expect(try Tool.replay.run("log", path("a")).output == log)
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  // MARK: Bisecting

  @Test(arguments: [SIGINT, SIGTERM]) func theCommandOfBisectIsInterruptedByTheTerminal(signal: Int32) async throws {
    try await fixture.write("first", to: "a", id: "n")
    let result = try run(["bisect", path("a"), "--test", "echo begun; sleep 90"], until: "begun", signal: signal)
    #expect(result.status == 128 + signal, "\(result)")
  }

  @Test(arguments: [SIGHUP, SIGTERM]) func bisectOnATerminalEndsWhatItRuns(signal: Int32) async throws {
    try await fixture.write("first", to: "a", id: "n")
    let result = try run(
      ["bisect", path("a"), "--test", "echo begun; exec sleep 90"], until: "begun", signal: signal, isAlone: true)
    #expect(result.status == 128 + signal, "\(result)")
  }

  /// Told alone, `bisect` ends what it runs, and waits for what does not listen; that this succeeds then says nothing.
  @Test(arguments: [SIGINT, SIGTERM], ["echo begun; sleep 90", "trap '' TERM; echo begun; sleep 2"])
  func bisectEndsWhatItRuns(signal: Int32, test: String) async throws {
    try await fixture.write("first", to: "a", id: "n")
    let errors = Pipe()
    let process = try start(["bisect", "--test", test], output: FileHandle.nullDevice, errors: errors)
    #expect(prints("begun", errors))
    let clock = ContinuousClock()
    let begin = clock.now
    kill(process.processIdentifier, signal)
    #expect(process.terminationStatus == 128 + signal)
    #expect(clock.now - begin < .seconds(60))
  }

  /// Any code but 0 is a failure, also those with which a shell tells of signals; 126, 127 and a signal end it all.
  @Test func theCommandItselfMayBeAtFault() async throws {
    try await fixture.write("fine", to: "a", id: "n")
    for test in ["exit 125", "exit 128", "exit 143", "exit 200", "exit 255", "sh -c 'kill -9 $$'; exit $?"] {
      let result = try Tool.replay.run("bisect", path("a"), "--test", test)
      #expect(result.status == 1 && result.errors.contains("fails with an empty database"), "\(test): \(result)")
    }
    for (test, status, message) in [
      ("exit 126", 1, "could not be run: exit code 126"), ("exit 127", 1, "could not be run: exit code 127"),
      ("kill -9 $$", 1, "ended by a signal: 9"), ("kill -INT $$", 130, "interrupted"), ("kill -TERM $$", 143, "interrupted"),
    ] as [(String, Int32, String)] {
      let result = try Tool.replay.run("bisect", path("a"), "--test", test)
      #expect(result.status == status && result.errors.contains(message), "\(test): \(result)")
    }
  }
}
