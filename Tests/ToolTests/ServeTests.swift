import Foundation
import MagicData
import TestSupport
import Testing

/// Servers and clients as processes.
@Suite(.timeLimit(.minutes(15))) struct ServeTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }

  private func write(_ title: String, to name: String, count: Int = 1) async throws {
    let magic = try await MagicData(path: folder[name])
    try await magic.update(contentsOf: (0..<count).map { Note("\(title) \($0)", title) })
    try await magic.close()
  }

  private func digest(_ name: String) throws -> String { try Tool.sync.run("digest", path(name)).output }

  private func secret(_ name: String, _ text: String) throws -> String {
    try Data(text.utf8).write(to: folder[name])
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(name))
    return path(name)
  }

  @Test(arguments: ["tcp://127.0.0.1:0", "unix:"]) func aHubCarriesWhatOthersPush(kind: String) async throws {
    let server = try ServingProcess([path("hub"), "--listen", kind == "unix:" ? "unix:\(path("socket"))" : kind])
    try await write("a", to: "a", count: 20)
    let pushed = try Tool.sync.run("push", path("a"), server.address)
    #expect(pushed.status == 0, "\(pushed.errors)")
    #expect(pushed.output.hasPrefix("pushed 1 transaction with 20 changes"))
    #expect(try Tool.sync.run("clone", server.address, path("b")).status == 0)
    try await write("b", to: "b")
    // The clone calls it origin.
    #expect(try Tool.sync.run("sync", path("b")).output.contains("pushed 1 transaction"))
    let foreseen = try Tool.sync.run("pull", path("a"), server.address, "--dry-run")
    #expect(foreseen.status == 0 && foreseen.output.hasPrefix("would pull 1 transaction with 1 change"), "\(foreseen)")
    #expect(try Tool.sync.run("status", path("a"), server.address, "--check").status == 4)
    #expect(try Tool.sync.run("pull", path("a"), server.address).status == 0)
    #expect(try Tool.sync.run("status", path("a"), server.address, "--check").status == 0)
    #expect(try digest("a") == digest("b"))
    // The same files as in a folder.
    #expect(try Tool.sync.run("clone", path("hub"), path("c")).status == 0)
    #expect(try digest("c") == digest("a"))
    #expect(try Tool.python.digest(of: server.address) == digest("a"))
    #expect(server.end() == 0)
  }

  /// What a sync has pulled stays, and is said, when its push fails.
  @Test func whatWasPulledBeforeAPushFailedIsSaid() async throws {
    try await write("served", to: "served")
    try await write("a", to: "a")
    let server = try ServingProcess([
      path("served"), "--listen", "tcp://127.0.0.1:0", "--token-file", secret("tokens", "only-reads a read\n"),
    ])
    let synced = try Tool.sync.run("sync", path("a"), server.address, "--token-file", secret("token", "only-reads\n"))
    #expect(synced.status == 6 && synced.errors.contains("pulled 1 transaction"), "\(synced)")
    #expect(synced.errors.contains("`magic-sync pull DB`, with `--watch`"), "\(synced)")
    let status = try Tool.sync.run("status", path("a"), server.address, "--token-file", path("token"))
    #expect(status.output.contains("remote    \(server.address)\n"), "\(status)")
    #expect(server.end() == 0)
  }

  @Test func aServedDatabaseMergesWhatIsPushed() async throws {
    try await write("served", to: "served")
    try await write("a", to: "a")
    let server = try ServingProcess([path("served"), "--listen", "tcp://127.0.0.1:0"])
    let synced = try Tool.sync.run("sync", path("a"), server.address)
    #expect(synced.status == 0, "\(synced.errors)")
    #expect(try digest("a") == digest("served"))
    #expect(try Tool.python.digest(of: server.address) == digest("a"))
    #expect(server.end() == 0)
    #expect(try Tool.sync.run("verify", path("served")).status == 0)
  }

  /// A server is a source as a database or a folder is.
  @Test(arguments: ["served", "hub"]) func aServersJournalIsRead(of place: String) async throws {
    try await write("a", to: "served", count: 3)
    #expect(try Tool.sync.run("push", path("served"), path("hub")).status == 0)
    let tokens = try secret("tokens", "the-right-one\n")
    let server = try ServingProcess([path(place), "--listen", "tcp://127.0.0.1:0", "--token-file", tokens])
    let connection = [server.address, "--token-file", tokens]
    let log = try Tool.replay.run(arguments: ["log"] + connection)
    #expect(log.status == 0, "\(log.errors)")
    #expect(try log.output == Tool.replay.run("log", path("served")).output)
    #expect(try Tool.replay.run(arguments: ["state"] + connection).output == Tool.replay.run("state", path("served")).output)
    let history = try Tool.replay.run(arguments: ["history"] + connection + ["Note", "a 1"])
    #expect(try history.output == Tool.replay.run("history", path("served"), "Note", "a 1").output && !history.output.isEmpty)
    #expect(try Tool.replay.run(arguments: ["verify"] + connection).status == 0)
    #expect(try Tool.replay.run(arguments: ["diff"] + connection + [path("served")]).status == 0)
    #expect(try Tool.replay.run(arguments: ["apply"] + connection + ["--into", path("rebuilt")]).status == 0)
    #expect(try digest("rebuilt") == digest("served"))
    #expect(try Tool.replay.run("log", server.address).status == 6)
    #expect(server.end() == 0)
    let gone = try Tool.replay.run(arguments: ["log"] + connection)
    #expect(gone.status == 5 && gone.errors.contains(server.address), "\(gone.errors)")
  }

  /// What comes to a server is printed, though it was away meanwhile.
  @Test(arguments: ["served", "hub"]) func aServersJournalIsFollowed(of place: String) async throws {
    try await write("first", to: "a")
    try await write("served", to: "served")
    let address = "unix:\(path("socket"))"
    let first = try ServingProcess([path(place), "--listen", address])
    #expect(try Tool.sync.run("sync", path("a"), address).status == 0)
    let log = try FollowingProcess([address, "--type", "Note"])
    #expect(log.prints(#""title":"first""#))
    try await write("second", to: "a")
    #expect(try Tool.sync.run("push", path("a"), address).status == 0)
    #expect(log.prints(#""title":"second""#))
    #expect(first.end() == 0)
    #expect(log.prints(#""event":"retrying""#))
    let again = try ServingProcess([path(place), "--listen", address])
    try await write("third", to: "a")
    #expect(try Tool.sync.run("push", path("a"), address).status == 0)
    #expect(log.prints(#""title":"third""#))
    #expect(log.output.components(separatedBy: #""title":"first""#).count == 2, "\(log.output)")
    #expect(log.end() == 0)
    #expect(again.end() == 0)
  }

  @Test(arguments: ["served", "hub"]) func aServersJournalIsCountedExportedAndBisected(of place: String) async throws {
    try await write("fine", to: "served", count: 3)
    try await write("broken", to: "served")
    try await write("later", to: "served")
    #expect(try Tool.sync.run("push", path("served"), path("hub")).status == 0)
    let server = try ServingProcess([path(place), "--listen", "tcp://127.0.0.1:0"])
    // What it takes where it is kept is another matter.
    func counted(_ source: String) throws -> [String] {
      let result = try Tool.replay.run("stats", source)
      #expect(result.status == 0, "\(result.errors)")
      return result.lines.filter { !$0.hasPrefix("values") }
    }
    let own = try counted(path("served"))
    #expect(try counted(server.address) == own && own.first == "3 transactions, 5 entries, 0 of them removes")
    let exported = try Tool.replay.run("export", server.address)
    #expect(exported.status == 0, "\(exported.errors)")
    #expect(try exported.output == Tool.replay.run("export", path("served")).output)
    let python =
      "import sys,glob; sys.exit(any(b'broken' in open(each,'rb').read() for each in glob.glob(sys.argv[1]+'/default*')))"
    let found = try Tool.replay.run("bisect", server.address, "--test", "python3 -c \"\(python)\" \"$1\"")
    #expect(found.output.contains(":2 is the first after which the command fails\n  update Note broken 0\n"), "\(found)")
    #expect(try Tool.replay.run("verify", server.address).output.hasSuffix("all is well\n"))
    #expect(try Tool.replay.run("verify", server.address, "--repair", "journal").status == 64)
    #expect(try Tool.replay.run("blame", server.address, "Note", "broken 0").output.contains("title=\"broken\""))
    #expect(server.end() == 0)
    for command in [["stats"], ["export"], ["verify"], ["bisect", "--test", "true"]] {
      let gone = try Tool.replay.run(arguments: [command[0], server.address] + command.dropFirst())
      #expect(gone.status == 5 && gone.errors.contains(server.address), "\(gone)")
    }
  }

  /// As ssh would run it: the program at the other end is this one.
  @Test func sshRunsTheServerAtTheOtherEnd() async throws {
    try await write("far", to: "it's far")
    let ssh = folder["ssh"]
    // It runs the last argument in a shell, as sshd does.
    try Data("#!/bin/sh\nfor last; do :; done\nexec /bin/sh -c \"$last\"\n".utf8).write(to: ssh)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: ssh.path)
    let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("magic-sync")
      .path
    let environment = ["MAGIC_SYNC_SSH": ssh.path, "MAGIC_SYNC_REMOTE_PROGRAM": tool]
    let url = "ssh://me@far.example.org" + path("it%27s%20far")
    let cloned = try Tool.sync.run("clone", url, path("a"), environment: environment)
    #expect(cloned.status == 0, "\(cloned.errors)")
    #expect(try digest("a") == digest("it's far"))
    try await write("near", to: "a")
    #expect(try Tool.sync.run("push", path("a"), url, environment: environment).status == 0)
    #expect(try digest("a") == digest("it's far"))
    let missing = try Tool.sync.run("pull", path("a"), url, environment: ["MAGIC_SYNC_SSH": "/nobody/has/this"])
    #expect(missing.status == 1)
    // What ssh ends with says why.
    let unknown = try Tool.sync.run(
      "pull", path("a"), url, environment: ["MAGIC_SYNC_SSH": ssh.path, "MAGIC_SYNC_REMOTE_PROGRAM": "no-such-program"])
    #expect(unknown.status == 1 && unknown.errors.contains("MAGIC_SYNC_REMOTE_PROGRAM"), "\(unknown.errors)")
    try Data("#!/bin/sh\nexit 255\n".utf8).write(to: ssh)
    #expect(try Tool.sync.run("pull", path("a"), url, environment: environment).status == 5)
    // One that says nothing does not stay.
    let (here, gone) = (folder["here"].path, folder["gone"].path)
    let script = "#!/bin/sh\ntrap 'echo > \(gone); exit' TERM\necho > \(here)\nwhile :; do sleep 0.02; done\n"
    try Data(script.utf8).write(to: ssh)
    let hung = try Tool.sync.start(["pull", path("a"), url], environment: environment)
    func waitFor(_ file: String) async throws {
      for _ in 0..<6_000 where !FileManager.default.fileExists(atPath: file) { try await Task.sleep(for: .milliseconds(20)) }
      #expect(FileManager.default.fileExists(atPath: file))
    }
    try await waitFor(here)
    kill(hung.processIdentifier, SIGINT)
    #expect(hung.terminationStatus == 130)
    try await waitFor(gone)
  }

  @Test func exitCodesSayWhatIsTheMatter() async throws {
    try await write("a", to: "a")
    for url in ["tcp://127.0.0.1:1", "unix:\(path("nothing"))"] {
      let result = try Tool.sync.run("sync", path("a"), url)
      #expect(result.status == 5)
      #expect(result.errors.contains(url) && result.errors.split(separator: "\n").count == 1, "\(result.errors)")
    }
    let tokens = try secret("tokens", "the-right-one\n")
    let server = try ServingProcess([path("hub"), "--listen", "tcp://127.0.0.1:0", "--token-file", tokens])
    let wrong = try secret("wrong", "the-wrong-one\n")
    for arguments in [[String](), ["--token-file", wrong]] {
      for verb in ["push", "sync", "pull"] {
        let output = Pipe()
        let process = try Tool.sync.start([verb, path("a"), server.address] + arguments, errors: output)
        let errors = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(process.terminationStatus == 6)
        #expect(errors.contains("token") && errors.split(separator: "\n").count == 1, "\(errors)")
        #expect(!errors.contains("the-wrong-one"))
      }
    }
    #expect(!FileManager.default.fileExists(atPath: path("hub")))
    #expect(try Tool.sync.run("push", path("a"), server.address, "--token-file", tokens).status == 0)
    #expect(try Tool.python.run("-m", "magicreader", "digest", server.address, in: Tool.reader).status == 1)
    #expect(server.end() == 0)
    for arguments in [
      ["--listen", "tcp://0.0.0.0:0"], ["--listen", "tls://127.0.0.1:0"], ["--listen", "gopher://x"], [],
      ["--stdio", "--listen", "tcp://127.0.0.1:0"],
    ] {
      let process = try Tool.sync.start(["serve", path("hub")] + arguments)
      #expect(process.terminationStatus != 0, "\(arguments)")
    }
    // Another data set, and a database whose copy is in use.
    try await write("else", to: "else")
    try Tool.sync.run("push", path("else"), path("elsewhere"))
    let again = try ServingProcess([path("hub"), "--listen", "tcp://127.0.0.1:0"])
    #expect(try Tool.sync.run("sync", path("else"), again.address).status == 7)
  }

  /// What had come of a new database when the way broke off stays, and the rest comes with the next pull.
  @Test func aCloneThatBreaksOffGoesOn() async throws {
    try await pushTwoSegments()
    let server = try ServingProcess([path("hub"), "--listen", "tcp://127.0.0.1:0"])
    let (proxy, through, _) = try startProxy(to: server)
    let broken = try Tool.sync.run("clone", through, path("b"))
    #expect(broken.status == 5 && broken.errors.contains("goes on from there"), "\(broken.errors)")
    #expect(proxy.terminationStatus == 0)
    #expect(try await MagicData(path: folder["b"]).count(of: Note.self) == 2_000)
    #expect(try Tool.sync.run("pull", path("b"), server.address).status == 0)
    #expect(try digest("b") == digest("a"))
    // A server's files are not to be seen from here: the database alone is verified.
    #expect(try Tool.sync.run("verify", path("b")).status == 0)
    #expect(try Tool.sync.run("verify", path("b"), server.address).status == 64)
    #expect(server.end() == 0)
    // Nothing came, so there is nothing to keep.
    #expect(try Tool.sync.run("clone", server.address, path("c")).status == 5)
    #expect(!FileManager.default.fileExists(atPath: path("c")))
  }

  /// W-7: to interrupt is to break the link: what had come whole stays, of a new database too.
  @Test(arguments: ["clone", "pull", "sync"]) func whatHadComeStaysAfterAnInterruption(command: String) async throws {
    try await pushTwoSegments()
    let server = try ServingProcess([path("hub"), "--listen", "tcp://127.0.0.1:0"])
    let (proxy, through, output) = try startProxy(to: server, stalls: true)
    if command == "pull" { try Tool.sync.run("init", path("b")) }
    try FileManager.default.createDirectory(at: folder["tmp"], withIntermediateDirectories: false)
    let errors = Pipe()
    let process = try Tool.sync.start(
      command == "clone" ? [command, through, path("b")] : [command, path("b"), through], errors: errors,
      environment: ["TMPDIR": path("tmp")])
    // The rest is on its way for ever.
    #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "stalls\n")
    func hasCome() -> Bool {
      // Folders in it come and go.
      let files = (try? FileManager.default.subpathsOfDirectory(atPath: path("tmp"))) ?? []
      return files.contains { $0.hasSuffix(".segment") && !$0.contains("/.") }
    }
    let latest = ContinuousClock.now + .seconds(40)
    while !hasCome(), .now < latest { try await Task.sleep(for: .milliseconds(50)) }
    #expect(hasCome())
    kill(process.processIdentifier, SIGINT)
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(process.terminationStatus == 130 && said.contains("interrupted; "), "\(said)")
    #expect(command != "clone" || said.contains("a pull goes on from there"), "\(said)")
    let magic = try await MagicData(path: folder["b"])
    #expect(try await magic.count(of: Note.self) == 2_000)
    try await magic.close()
    #expect(try Tool.sync.run("pull", path("b"), server.address).output.contains("pulled 1 transaction"))
    #expect(try digest("b") == digest("a"))
    kill(proxy.processIdentifier, SIGKILL)
    #expect(server.end() == 0)
  }

  private func pushTwoSegments() async throws {
    for part in 0..<2 {
      let magic = try await MagicData(path: folder["a"])
      try await magic.update(contentsOf: (0..<2_000).map { Note("\(part) \($0)", UUID().uuidString + UUID().uuidString) })
      try await magic.close()
      #expect(try Tool.sync.run("push", path("a"), path("hub")).status == 0)
    }
  }

  /// Lets all of a hub's first segment pass to one client, and a part of the second; then it closes, or says that it stalls and
  /// does.
  private func startProxy(
    to server: ServingProcess, stalls: Bool = false
  ) throws -> (process: ChildProcess, address: String, output: Pipe) {
    let script = """
      import os, socket, sys, threading, time
      port, left = int(sys.argv[1]), int(sys.argv[2])
      there = socket.socket(); there.bind(("127.0.0.1", 0)); there.listen()
      # In one piece, also where Python does not buffer.
      os.write(1, b"%d\\n" % there.getsockname()[1])
      client = there.accept()[0]
      server = socket.create_connection(("127.0.0.1", port))
      def forward():
          while data := client.recv(65536): server.sendall(data)
      threading.Thread(target=forward, daemon=True).start()
      while left > 0 and (data := server.recv(min(left, 65536))):
          client.sendall(data); left -= len(data)
      if len(sys.argv) > 3:
          os.write(1, b"stalls\\n"); time.sleep(600)
      client.close()
      """
    let output = Pipe()
    let port = try #require(server.address.split(separator: ":").last)
    let segments = try FileManager.default.contentsOfDirectory(atPath: path("hub/segments")).map {
      try Data(contentsOf: folder["hub/segments/\($0)"]).count
    }
    let bytes = String(segments.reduce(0, +) - 10_000)
    let proxy = try Tool.python.start(
      ["-c", script, String(port), bytes] + (stalls ? ["stalls"] : []), output: output)
    let own = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).trimmingCharacters(in: .newlines)
    return (proxy, "tcp://127.0.0.1:\(own)", output)
  }

  /// What cannot be waited for carries no session.
  @Test func standardInputAndOutputHaveToBeStreams() throws {
    let errors = Pipe()
    // What the environment says of other servers is not for this one.
    let process = try Tool.sync.start(
      ["serve", path("hub"), "--stdio"], errors: errors,
      environment: ["MAGIC_SYNC_LISTEN": "tcp://127.0.0.1:1", "MAGIC_SYNC_METRICS": "tcp://127.0.0.1:1"])
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(process.terminationStatus == 6 && text.contains("pipes or sockets"), "\(text)")
  }

  @Test func aTokenIsNeverInALog() async throws {
    try await write("a", to: "a")
    let tokens = try secret("tokens", "the-right-one laptop readwrite\n")
    let log = folder["log"]
    try Data().write(to: log)
    let handle = try FileHandle(forWritingTo: log)
    let server = try ServingProcess(
      [path("hub"), "--listen", "tcp://127.0.0.1:0", "--token-file", tokens, "--log-level", "trace"], errors: handle)
    let right = try secret("right", "the-right-one\n")
    #expect(try Tool.sync.run("push", path("a"), server.address, "--token-file", right).status == 0)
    let wrong = try secret("wrong", "the-wrong-one\n")
    #expect(try Tool.sync.run("push", path("a"), server.address, "--token-file", wrong).status == 6)
    #expect(server.end() == 0)
    let text = try String(contentsOf: log, encoding: .utf8)
    #expect(!text.contains("the-right-one") && !text.contains("the-wrong-one"))
    #expect(text.contains("laptop, replica") && text.contains("bytes in") && text.contains("refused"), "\(text)")
    let id = try #require(text.firstMatch(of: /laptop, replica ([0-9a-f]{32})/)?.1)
    #expect(text.contains("somebody who claims to be replica \(id) from 127.0.0.1"), "\(text)")
  }

  /// H-42, W-3: a file of tokens that cannot be read changes nothing, and is said once.
  @Test func tokensAreReadAnew() async throws {
    try await write("a", to: "a")
    let tokens = try secret("tokens", "the-first-one laptop readwrite\n")
    let log = folder["log"]
    try Data().write(to: log)
    let server = try ServingProcess(
      [path("hub"), "--listen", "tcp://127.0.0.1:0", "--token-file", tokens], errors: try FileHandle(forWritingTo: log))
    func push(_ token: String) throws -> Int32 {
      try Tool.sync.run("push", path("a"), server.address, "--token-file", secret("token", token + "\n")).status
    }
    func replace(_ text: String) throws {
      let file = try secret("tokens.new", text)
      try #require(rename(file, tokens) == 0)
    }
    #expect(try push("the-first-one") == 0)
    try replace("the-second-one laptop readwrite\n")
    #expect(try push("the-first-one") == 6)
    #expect(try push("the-second-one") == 0)
    try replace("the-third-one laptop\n")
    for _ in 0..<2 { #expect(try push("the-second-one") == 0) }
    #expect(server.end() == 0)
    let text = try String(contentsOf: log, encoding: .utf8)
    #expect(text.components(separatedBy: "read before hold on: ").count == 2, "\(text)")
    #expect(!text.contains("-one"), "\(text)")
  }

  @Test func aSocketsPathThatIsTooLongIsSaidToBeSo() throws {
    let address = "unix:/" + String(repeating: "x", count: 120)
    let refused = try Tool.sync.run("serve", path("hub"), "--listen", address)
    #expect(refused.status == 64, "\(refused)")
    #expect(refused.errors.contains(address) && refused.errors.contains("a socket's path has fewer than"), "\(refused)")
  }

  /// H-26: killed at any moment, on either side, nothing is lost, and the next run goes on.
  @Test(arguments: seeds(4)) func killedAtAnyMomentNothingIsLost(seed: UInt64) async throws {
    var chance = Seeded(seed)
    let magic = try await MagicData(path: folder["a"])
    for part in 0..<6 {
      try await magic.update(contentsOf: (0..<1_500).map { Note("\(part) \($0)", UUID().uuidString + UUID().uuidString) })
    }
    try await magic.close()
    let kind = chance.below(2) == 0 ? "hub" : "peer.sqlite"
    if kind != "hub" { try Tool.sync.run("init", path(kind)) }
    for _ in 0..<3 {
      let server = try ServingProcess([path(kind), "--listen", "tcp://127.0.0.1:0"])
      let client = try Tool.sync.start(["push", path("a"), server.address])
      try await Task.sleep(for: .milliseconds(chance.below(400)))
      switch chance.below(3) {
      case 0:
        #expect(server.end(SIGKILL) == 128 + SIGKILL)
        #expect([0, 5].contains(client.terminationStatus), "MAGIC_SEED=\(seed)")
      case 1:
        // What is in flight is finished.
        #expect(server.end() == 0, "MAGIC_SEED=\(seed)")
        #expect([0, 5].contains(client.terminationStatus), "MAGIC_SEED=\(seed)")
      default:
        kill(client.processIdentifier, SIGKILL)
        client.waitUntilExit()
        #expect(server.end() == 0, "MAGIC_SEED=\(seed)")
      }
    }
    let server = try ServingProcess([path(kind), "--listen", "tcp://127.0.0.1:0"])
    #expect(try Tool.sync.run("push", path("a"), server.address).status == 0, "MAGIC_SEED=\(seed)")
    #expect(try Tool.sync.run("clone", server.address, path("b")).status == 0, "MAGIC_SEED=\(seed)")
    #expect(try digest("a") == digest("b"), "MAGIC_SEED=\(seed)")
    #expect(server.end() == 0)
  }

  /// TLS with certificates that are made here.
  @Test func tlsKnowsItsServerAndItsClients() async throws {
    try await write("a", to: "a")
    func openssl(_ arguments: String...) throws {
      let process = try Tool.openssl.start(arguments, in: folder.url)
      try #require(process.terminationStatus == 0, "openssl \(arguments)")
    }
    func make(_ name: String, _ subject: String, _ alternative: String) throws {
      try openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "\(name).key")
      try openssl("req", "-new", "-key", "\(name).key", "-subj", subject, "-out", "\(name).csr")
      try Data("subjectAltName=\(alternative)\n".utf8).write(to: folder["\(name).ext"])
      try openssl(
        "x509", "-req", "-in", "\(name).csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile",
        "\(name).ext",
        "-out", "\(name).pem")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path("\(name).key"))
    }
    for authority in ["ca", "other"] {
      try openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
        "/CN=\(authority)",
        "-keyout", "\(authority).key", "-out", "\(authority).pem")
    }
    try make("server", "/CN=server", "IP:127.0.0.1,DNS:localhost")
    try make("client", "/CN=client", "DNS:client")
    let server = try ServingProcess(
      [path("hub"), "--listen", "tls://127.0.0.1:0", "--cert", path("server.pem"), "--key", path("server.key")])
    func status(_ arguments: String..., at address: String? = nil) throws -> (Int32, String) {
      let errors = Pipe()
      let process = try Tool.sync.start(["sync", path("a"), address ?? server.address] + arguments, errors: errors)
      let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      return (process.terminationStatus, text)
    }
    // The system trusts nobody that was made here, and nor does another authority.
    let untrusted = try status()
    #expect(untrusted.0 == 6, "\(untrusted.1)")
    let own = try #require(server.fingerprint)
    #expect(untrusted.1.contains("fingerprint \(own) that is not trusted"), "\(untrusted.1)")
    #expect(try status("--ca", path("other.pem")).0 == 6)
    let nowhere = try status("--ca", path("nowhere.pem"))
    #expect(nowhere.0 == 1 && nowhere.1.contains("No such file"), "\(nowhere.1)")
    let noFile = try status("--ca", path("ca.pem"), "--token-file", folder.url.path)
    #expect(noFile.0 == 1 && noFile.1.contains("is a folder") && !noFile.1.contains("chmod"), "\(noFile.1)")
    #expect(try status("--ca", path("ca.pem")) == (0, ""))
    let byName = server.address.replacingOccurrences(of: "127.0.0.1", with: "localhost")
    #expect(try status("--ca", path("ca.pem"), at: byName).0 == 0)
    // Pinned: the certificate itself, whoever made it.
    let shown = try Tool.openssl.run("x509", "-in", path("server.pem"), "-noout", "-fingerprint", "-sha256").output
    let fingerprint = String(try #require(shown.split(separator: "=").last)).trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(fingerprint.filter { $0 != ":" }.lowercased() == own)
    #expect(try status("--fingerprint", fingerprint).0 == 0)
    let others = String(repeating: "0", count: 64)
    let pinned = try status("--fingerprint", others)
    #expect(pinned.0 == 6 && pinned.1.contains("another certificate with the SHA-256 fingerprint \(own)"), "\(pinned.1)")
    // What the environment has for another server does not mix with what is given.
    for (arguments, variable, value) in [
      (["--ca", path("ca.pem")], "MAGIC_SYNC_FINGERPRINT", others),
      (["--fingerprint", own], "MAGIC_SYNC_CA", path("nowhere.pem")),
      (["--ca", path("ca.pem"), "--cert", path("client.pem"), "--key", path("client.key")], "MAGIC_SYNC_KEY", path("nowhere")),
    ] {
      let mixed = try Tool.sync.run(
        arguments: ["sync", path("a"), server.address] + arguments, environment: [variable: value])
      #expect(mixed.status == 0, "\(arguments): \(mixed)")
    }
    // It is for another name.
    try make("named", "/CN=named", "DNS:other.example")
    let named = try ServingProcess(
      [path("hub"), "--listen", "tls://127.0.0.1:0", "--cert", path("named.pem"), "--key", path("named.key")])
    let (misnamed, shownThere) = (try status("--ca", path("ca.pem"), at: named.address), try #require(named.fingerprint))
    #expect(misnamed.0 == 6 && misnamed.1.contains("for another name than 127.0.0.1"), "\(misnamed.1)")
    #expect(misnamed.1.contains("fingerprint \(shownThere)"), "\(misnamed.1)")
    #expect(named.end() == 0)
    // It is all that counts, whatever name the certificate has, or none.
    let nameless = try ServingProcess(
      [path("hub"), "--listen", "tls://127.0.0.1:0", "--cert", path("other.pem"), "--key", path("other.key")])
    let digits = try Tool.openssl.run("x509", "-in", path("other.pem"), "-noout", "-fingerprint", "-sha256").output
    #expect(
      try status("--fingerprint", String(digits.split(separator: "=")[1].filter { !$0.isWhitespace }), at: nameless.address)
        == (0, ""))
    #expect(nameless.end() == 0)
    // Plain to TLS and TLS to plain: an error, and both serve on.
    let plain = try ServingProcess([path("hub2"), "--listen", "tcp://127.0.0.1:0"])
    #expect(try status(at: server.address.replacingOccurrences(of: "tls:", with: "tcp:")).0 != 0)
    #expect(try status(at: plain.address.replacingOccurrences(of: "tcp:", with: "tls:")).0 != 0)
    #expect(try status("--ca", path("ca.pem")).0 == 0)
    #expect(try status(at: plain.address).0 == 0)
    #expect(server.end() == 0)
    // Who has no certificate stays out.
    let strict = try ServingProcess(
      [
        path("hub"), "--listen", "tls://127.0.0.1:0", "--cert", path("server.pem"), "--key", path("server.key"), "--client-ca",
        path("ca.pem"),
      ])
    let bare = try status("--ca", path("ca.pem"), at: strict.address)
    #expect(bare.0 == 6, "\(bare.1)")
    let foreign = try status(
      "--ca", path("ca.pem"), "--cert", path("other.pem"), "--key", path("other.key"), at: strict.address)
    #expect(foreign.0 == 6 && !foreign.1.contains("sslError"), "\(foreign.1)")
    #expect(
      try status("--ca", path("ca.pem"), "--cert", path("client.pem"), "--key", path("client.key"), at: strict.address) == (
        0, ""
      ))
    #expect(strict.end() == 0)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path("server.key"))
    let open = try Tool.sync.start(
      ["serve", path("hub"), "--listen", "tls://127.0.0.1:0", "--cert", path("server.pem"), "--key", path("server.key")])
    #expect(open.terminationStatus == 6)
  }

  /// J-29: what a server is reached with goes with its name: a fingerprint and paths, and never what a file holds.
  @Test func aNameKeepsTheWayToItsServer() async throws {
    try await write("a", to: "a")
    let certificate = try Tool.openssl.run(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=server", "-keyout", "server.key", "-out", "server.pem", in: folder.url)
    try #require(certificate.status == 0, "\(certificate)")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path("server.key"))
    let shown = try Tool.openssl.run("x509", "-in", path("server.pem"), "-noout", "-fingerprint", "-sha256").output
    let fingerprint = String(try #require(shown.split(separator: "=").last)).trimmingCharacters(in: .whitespacesAndNewlines)
    let (token, wrong) = (try secret("token", "the-right-one\n"), try secret("wrong", "the-wrong-one\n"))
    let server = try ServingProcess(
      [
        path("hub"), "--listen", "tls://127.0.0.1:0", "--cert", path("server.pem"), "--key", path("server.key"), "--token-file",
        token,
      ])
    let given = ["--fingerprint", fingerprint, "--token-file", "token"]
    let added = try Tool.sync.run(arguments: ["remote", "add", "a", "hub", server.address] + given, in: folder.url)
    #expect(added.status == 0, "\(added)")
    let synced = try Tool.sync.run("sync", path("a"))
    #expect(synced.status == 0, "\(synced)")
    // What is given to a command goes before, and the environment after.
    #expect(try Tool.sync.run("sync", path("a"), "--token-file", wrong).status == 6)
    #expect(try Tool.sync.run("sync", path("a"), "--fingerprint", String(repeating: "0", count: 64)).status == 6)
    #expect(try Tool.sync.run("sync", path("a"), "hub", environment: ["MAGIC_SYNC_TOKEN_FILE": wrong]).status == 0)
    let cloned = try Tool.sync.run(arguments: ["clone", server.address, "b"] + given, in: folder.url)
    #expect(cloned.status == 0, "\(cloned)")
    try await write("b", to: "b")
    #expect(try Tool.sync.run("sync", path("b")).status == 0)
    func listed(_ name: String) throws -> String { try Tool.sync.run("remote", "list", path(name)).output }
    let kept = "\t--fingerprint \(fingerprint) --token-file \(token)\n"
    let (ofAdded, ofCloned) = (try listed("a"), try listed("b"))
    #expect(ofAdded.hasPrefix("hub\ttls://") && ofAdded.hasSuffix(kept), "\(ofAdded)")
    #expect(ofCloned.hasPrefix("origin\ttls://") && ofCloned.hasSuffix(kept), "\(ofCloned)")
    #expect(try Data(contentsOf: folder["b/default.sqlite3"]).range(of: Data("the-right-one".utf8)) == nil)
    // Another address keeps them, but for what would mean nothing there.
    let changes: [(String, [String], String)] = [
      ("tcp://127.0.0.1:9", [], "tcp://127.0.0.1:9\t--token-file \(token)\n"),
      (server.address, ["--fingerprint", fingerprint], server.address + kept),
      (path("folder"), [], path("folder") + "\n"), (server.address, given, server.address + kept),
    ]
    for (address, options, list) in changes {
      let set = try Tool.sync.run(arguments: ["remote", "set", "a", "hub", address] + options, in: folder.url)
      let line = try listed("a")
      #expect(set.status == 0 && line == "hub\t" + list, "\(set) \(line)")
    }
    #expect(try Tool.sync.run("sync", path("a")).status == 0)
    // They go with the name, and with its address, which a former version changes by itself.
    #expect(try Tool.sync.run("remote", "remove", path("a"), "hub").status == 0)
    #expect(try Tool.sync.run("remote", "add", path("a"), "hub", server.address).status == 0)
    #expect(try Tool.sync.run("sync", path("a")).status == 6)
    let change = """
      import sqlite3, sys
      database = sqlite3.connect(sys.argv[1])
      database.execute("UPDATE magic_remote SET address = 'tcp://127.0.0.1:9'")
      database.commit()
      database.close()
      """
    try #require(Tool.python.run("-c", change, path("b/default.sqlite3")).status == 0)
    #expect(try listed("b") == "origin\ttcp://127.0.0.1:9\n")
    #expect(server.end() == 0)
  }

  @Test func figuresAreGivenAsPrometheusWantsThem() async throws {
    try await write("a", to: "a")
    let server = try ServingProcess([path("hub"), "--listen", "tcp://127.0.0.1:0", "--metrics", "tcp://127.0.0.1:0"])
    #expect(try Tool.sync.run("push", path("a"), server.address).status == 0)
    let url = try #require(server.figures)
    let page = try Tool.python.run(
      "-c", "import sys,urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())", String(url))
    #expect(page.output.contains("magic_sync_lag_transactions{replica="), "\(page.output) \(page.errors)")
    func lags() throws -> [String] {
      try Tool.python.run(
        "-c", "import sys,urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())", String(url)
      ).lines.filter { $0.hasPrefix("magic_sync_lag") }.map { String($0.split(separator: " ").last ?? "") }.sorted()
    }
    #expect(try lags() == ["0"])
    // Who only reads never comes again under its id, and would lag for good.
    #expect(try Tool.replay.run("log", server.address).status == 0)
    #expect(try lags() == ["0"])
    // What is on its way counts, and not only what is over.
    let watching = try Tool.sync.start(["sync", path("a"), server.address, "--watch"])
    func received() throws -> Int {
      let page = try Tool.python.run(
        "-c", "import sys,urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())", String(url))
      return page.lines.first { $0.hasPrefix("magic_sync_received_bytes_total") }.flatMap { Int($0.split(separator: " ")[1]) }
        ?? 0
    }
    let before = try received()
    let latest = ContinuousClock.now + .seconds(60)
    while try received() == before, ContinuousClock.now < latest { try await Task.sleep(for: .milliseconds(20)) }
    #expect(try received() > before && watching.isRunning)
    kill(watching.processIdentifier, SIGTERM)
    watching.waitUntilExit()
    // Who was here is behind once another writes, and no more when it comes again.
    try #require(Tool.sync.run("clone", server.address, path("b")).status == 0)
    try await write("b", to: "b")
    #expect(try Tool.sync.run("push", path("b"), server.address).status == 0)
    #expect(try lags().suffix(2) == ["0", "1"])
    #expect(try Tool.sync.run("pull", path("a"), server.address).status == 0)
    #expect(try lags().suffix(2) == ["0", "0"])
    #expect(page.output.contains("# TYPE magic_sync_received_bytes_total counter"))
    // Who sends more than a request gets the page as well.
    let talk = """
      import socket, sys, time, urllib.parse
      url = urllib.parse.urlparse(sys.argv[1])
      end = socket.create_connection((url.hostname, url.port))
      end.sendall(b"GET /metrics HTTP/1.1\\r\\n\\r\\n" + b"x" * 10000)
      time.sleep(0.2)
      end.sendall(b"x" * 10000)
      time.sleep(0.2)
      print(b"".join(iter(lambda: end.recv(65536), b"")).decode())
      """
    let after = try Tool.python.run("-c", talk, String(url))
    #expect(after.output.contains("# TYPE magic_sync_received_bytes_total counter"), "\(after.output) \(after.errors)")
    #expect(server.end() == 0)
  }
}
