import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

/// Each command as a process: results on standard output, the rest on standard error, and its exit code.
@Suite(.timeLimit(.minutes(15))) struct CommandTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }

  private func write(_ title: String, to name: String, id: String? = nil) async throws {
    let magic = try await MagicData(path: folder[name])
    let id = id ?? title
    if try await magic.has(of: Note.self, primary: id) {
      let note = try await magic.object(of: Note.self, primary: id)
      note.title = title
      try await magic.update(note)
    } else {
      try await magic.update(Note(id, title))
    }
    try await magic.close()
  }

  private func titles(_ name: String) async throws -> [String] {
    let magic = try await MagicData(path: folder[name])
    let titles = try await magic.object(of: Note.self).map(\.title).sorted()
    try await magic.close()
    return titles
  }

  private func digest(_ name: String) throws -> String { try Tool.sync.run("digest", path(name)).output }

  /// A JSON object a line.
  private func objects(_ result: Tool.Result) throws -> [[String: Any]] {
    try result.lines.map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
  }

  // MARK: Names of remotes

  /// J-29: what a file knows of remotes is its own.
  @Test func aRemoteHasAName() async throws {
    try await write("x", to: "a")
    try #require(
      Tool.sync.run("remote", "add", "a", "stick", "remote", in: folder.url).output == "stick is \(path("remote"))\n")
    // The only one is meant, from whatever folder.
    #expect(try Tool.sync.run("sync", path("a")).status == 0)
    #expect(try Tool.sync.run("pull", path("a"), "stick").output == "pulled nothing: the database lacks nothing\n")
    #expect(try Tool.sync.run("remote", "add", path("a"), "stick", path("other")).status == 1)
    #expect(try Tool.sync.run("remote", "add", path("a"), "other", path("other")).status == 0)
    let ambiguous = try Tool.sync.run("sync", path("a"))
    #expect(ambiguous.status == 1)
    #expect(ambiguous.errors.contains("other, stick"))
    #expect(try Tool.sync.run("remote", "add", path("a"), "origin", path("remote")).status == 0)
    #expect(try Tool.sync.run("sync", path("a")).status == 0)
    #expect(try Tool.sync.run("remote", "remove", path("a"), "stick").status == 0)
    #expect(try Tool.sync.run("remote", "remove", path("a"), "stick").status == 1)
    #expect(
      try Tool.sync.run("remote", "list", path("a")).lines == ["origin\t\(path("remote"))", "other\t\(path("other"))"])
    // It never travels.
    #expect(try Tool.sync.run("pull", path("b"), path("remote")).status == 0)
    #expect(try Tool.sync.run("remote", "list", path("b")).output.isEmpty)
    #expect(try Tool.sync.run("sync", path("b")).errors.contains("remote add"))
  }

  @Test func aCloneKnowsItsOrigin() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    #expect(try Tool.sync.run("clone", path("remote"), path("b")).status == 0)
    try await write("y", to: "b")
    #expect(try Tool.sync.run("sync", path("b")).output.contains("pushed 1 transaction"))
    // A folder that is called like a remote is written with ./ in front.
    try FileManager.default.createDirectory(at: folder["origin"], withIntermediateDirectories: false)
    #expect(try Tool.sync.run("pull", "b", "origin", in: folder.url).status == 0)
    #expect(try Tool.sync.run("pull", "b", "./origin", in: folder.url).errors.contains("is no remote"))
  }

  /// A word that is no name is no folder to be made, if there are names that it may be mistyped of.
  @Test func aMistypedNameMakesNoFolder() async throws {
    try await write("x", to: "a")
    #expect(try Tool.sync.run("push", "a", "first", in: folder.url).status == 0)
    try Tool.sync.run("remote", "add", "a", "origin", "first", in: folder.url)
    for (command, word) in [("push", "orgin"), ("pull", "orgin"), ("sync", "Origin")] {
      let refused = try Tool.sync.run(command, "a", word, in: folder.url)
      #expect(refused.status == 1 && refused.errors.contains("knows origin"), "\(refused.errors)")
      #expect(!FileManager.default.fileExists(atPath: path(word)))
    }
    #expect(try Tool.sync.run("push", "a", "./other", in: folder.url).status == 0)
    #expect(try Tool.sync.run("push", "a", "other", in: folder.url).status == 0)
  }

  /// What was looked at before, and a name's look-up, take nothing from what the exchange says.
  @Test func aCopyIsToldOfByWhoeverExchanges() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("remote", "add", path("a"), "origin", path("remote"))
    try #require(Tool.sync.run("sync", path("a")).status == 0)
    for arguments in [["sync"], ["sync", "origin"], ["push"], ["pull"]] {
      for isJSON in [false, true] {
        let copy = path("copy \(arguments.joined()) \(isJSON)")
        try FileManager.default.copyItem(atPath: path("a"), toPath: copy)
        try Tool.sync.run("log", copy)
        try Tool.replay.run("log", copy)
        let result = try Tool.sync.run(
          arguments: [arguments[0], copy] + arguments.dropFirst() + (isJSON ? ["--json"] : []))
        #expect(result.status == 0, "\(result.errors)")
        #expect(
          isJSON
            ? result.output.contains(#""event":"becameReplica""#)
            : result.errors.contains("goes on as a replica of its own"), "\(result)")
      }
    }
  }

  /// J-30: also by what exchanges nothing, with the id that it left, of which a person may know that nobody has it any more.
  @Test(arguments: [["status"], ["peers"], ["compact"], ["remote", "remove"]])
  func aCopyIsToldOfByWhatOpensIt(command: [String]) async throws {
    try await write("x", to: "a")
    try Tool.sync.run("remote", "add", path("a"), "origin", path("remote"))
    try #require(Tool.sync.run("sync", path("a")).status == 0)
    let peers = try objects(Tool.sync.run("peers", path("a"), "--json"))
    let own = try #require(peers.first { $0["isOwn"] as? Bool == true }?["replica"] as? String)
    for isJSON in [false, true] {
      let copy = path("copy \(isJSON)")
      try FileManager.default.copyItem(atPath: path("a"), toPath: copy)
      let result = try Tool.sync.run(
        arguments: command + [copy] + (command[0] == "remote" ? ["origin"] : []) + (isJSON ? ["--json"] : []))
      #expect(result.status == 0, "\(result)")
      guard isJSON else {
        #expect(result.errors.contains("and was \(own).") && result.errors.contains("--expire \(own)"), "\(result)")
        let expired = try Tool.sync.run("peers", copy, path("remote"), "--expire", own)
        #expect(expired.status == 0, "\(expired)")
        continue
      }
      let told = try objects(result).filter { $0["event"] as? String == "becameReplica" }
      #expect(told.count == 1 && told.first?["former"] as? String == own && result.errors.isEmpty, "\(result)")
      let others = try objects(Tool.sync.run("peers", copy, path("remote"), "--json"))
      let fresh = try #require(others.first { $0["isOwn"] as? Bool == true }?["replica"] as? String)
      #expect(told.first?["replica"] as? String == fresh && fresh != own, "\(result)")
    }
  }

  @Test(arguments: ["Stick", "a/b", "", "-x", "tcp:", "é"]) func whatCanBeNoNameIsRefused(name: String) throws {
    try Tool.sync.run("init", path("a"))
    #expect(try Tool.sync.run("remote", "add", path("a"), "--", name, path("remote")).status != 0)
    #expect(try Tool.sync.run("remote", "list", path("a")).output.isEmpty)
  }

  // MARK: Looking

  @Test func statusTellsWhatWaits() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("sync", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    #expect(try Tool.sync.run("status", path("b"), "--check").status == 0)
    try await write("more", to: "a")
    try await write("from b", to: "b")
    try Tool.sync.run("push", path("a"), path("remote"))
    let before = try folder.contents().filter { !$0.key.hasSuffix("-shm") }
    let status = try Tool.sync.run("status", path("b"), "--check", "--json")
    #expect(try folder.contents().filter { !$0.key.hasSuffix("-shm") } == before)
    #expect(status.status == 4)
    let summary = try #require(objects(status).last)
    #expect(summary["in"] as? Int == 1)
    #expect(summary["out"] as? Int == 1)
    #expect(summary["exit"] as? Int == 4)
    let peers = try #require(summary["peers"] as? [[String: Any]])
    #expect(peers.compactMap { $0["here"] as? Int }.reduce(0, +) == 2)
    let text = try Tool.sync.run("status", path("b"))
    #expect(text.status == 0)
    #expect(text.output.contains("1 transaction waits to be pulled"))
    #expect(text.output.contains("not in step"))
    #expect(try Tool.sync.run("sync", path("b")).status == 0)
    #expect(try Tool.sync.run("status", path("b"), "--check").status == 0)
    #expect(try Tool.sync.run("status", path("b"), path("nothing")).status == 1)
  }

  @Test func aMissingFileIsAGapThatStatusAndVerifyName() async throws {
    for title in ["1", "2", "3"] {
      try await write(title, to: "a")
      try Tool.sync.run("push", path("a"), path("remote"))
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: path("remote/segments")).sorted()
    try FileManager.default.removeItem(at: folder["remote/segments/\(names[1])"])
    #expect(try Tool.sync.run("clone", path("remote"), path("b")).status == 3)
    #expect(try await titles("b") == ["1"])
    #expect(try Tool.sync.run("status", path("b"), "--check").status == 4)
    #expect(try Tool.sync.run("peers", path("b")).output.contains("beyond a gap"))
    let verify = try Tool.sync.run("verify", path("b"))
    #expect(verify.status == 3)
    #expect(verify.output.contains("the transactions 2 to 2 are missing"))
  }

  /// K-25: `peers` shows a name beside the id, and takes it for the replica that has it.
  @Test func replicasHaveNames() async throws {
    try #require(Tool.sync.run("init", path("a"), "--name", "laptop").status == 0)
    let again = try Tool.sync.run("init", path("a"), "--name", "other")
    #expect(again.status == 0 && again.output.contains("nothing was changed"), "\(again)")
    try await write("x", to: "a")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    let clone = try Tool.sync.run("clone", path("remote"), path("b"), "--name", "Ada's phone")
    #expect(clone.status == 0, "\(clone)")
    let peers = try objects(Tool.sync.run("peers", path("b"), "--json")).filter { $0["event"] as? String == "peer" }
    func replica(_ name: String) throws -> String {
      try #require(peers.first { $0["name"] as? String == name }?["replica"] as? String)
    }
    let (first, second) = (try replica("laptop"), try replica("Ada's phone"))
    #expect(peers.count == 2)
    #expect(try Tool.sync.run("peers", path("b")).output.contains("\(first) (laptop)  here 1"))
    let named = try Tool.sync.run("peers", path("b"), "--name", "desk", "--of", "laptop")
    #expect(named.output == "replica \(first) is called desk: others hear of it with the next push\n", "\(named)")
    try #require(Tool.sync.run("sync", path("b")).status == 0)
    try #require(Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    let heard = try Tool.sync.run("peers", path("a")).output
    #expect(heard.contains("\(first) (desk)  ") && heard.contains("\(second) (Ada's phone)  "), "\(heard)")
    #expect(try Tool.sync.run("status", path("a"), path("remote")).output.contains("replica \(first) (desk), sequence 1"))
    let expired = try Tool.sync.run("peers", path("a"), path("remote"), "--expire", "Ada's phone")
    #expect(expired.status == 0 && expired.output.contains("expired replica \(second)"), "\(expired)")
    #expect(try Tool.sync.run("peers", path("a"), "--name", "x", "--of", "nobody").status == 1)
    // A name that would seem to end the parentheses around it is quoted.
    #expect(try Tool.sync.run("peers", path("a"), "--name", "x), here 9 (y", "--of", first).status == 0)
    #expect(try Tool.sync.run("peers", path("a")).output.contains(#"\#(first) ("x), here 9 (y")  "#))
    #expect(try Tool.sync.run("peers", path("a"), "--name", "desk", "--of", first).status == 0)
    // One that nobody has named has no member for it.
    try #require(Tool.sync.run("clone", path("remote"), path("c")).status == 0)
    let others = try objects(Tool.sync.run("peers", path("c"), "--json")).filter { $0["isOwn"] as? Bool == true }
    #expect(others.count == 1 && others.allSatisfy { $0["name"] == nil })
    for arguments in [
      ["peers", path("a"), "--of", "desk"], ["peers", path("a"), "--name", " x"], ["peers", path("a"), "--name", ""],
      ["peers", path("a"), path("remote"), "--name", "x"], ["peers", path("a"), "--name", "x", "--expire", "desk"],
      ["peers", path("a"), "--name", "x", "--of", ""], ["init", path("d"), "--name", "a\nb"],
      ["clone", path("remote"), path("d"), "--name", String(repeating: "x", count: 65)],
    ] {
      let refused = try Tool.sync.run(arguments: arguments)
      #expect(refused.status == 64, "\(arguments): \(refused)")
    }
    #expect(!FileManager.default.fileExists(atPath: path("d")))
  }

  @Test func peersAreListedWithWhatTheyWrote() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    let result = try Tool.sync.run("peers", path("b"), "--json")
    let peers = try objects(result).filter { $0["event"] as? String == "peer" }
    #expect(peers.count == 2)
    #expect(peers.filter { $0["isOwn"] as? Bool == true }.map { $0["here"] as? Int } == [0])
    #expect(peers.filter { $0["isOwn"] as? Bool == false }.map { $0["there"] as? Int } == [1])
    #expect(peers.contains { ($0["lastSeen"] as? String)?.hasSuffix("Z") == true })
  }

  /// H-44: what lost is told, with what it lost to.
  @Test func theLogShowsEntriesAndWhatLost() async throws {
    try await write("first", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await write("a's", to: "a", id: "n")
    try await write("b's", to: "b", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    let foreseen = try objects(Tool.sync.run("pull", path("b"), path("remote"), "--dry-run", "--json"))
    let sync = try Tool.sync.run("sync", path("b"), "--json")
    #expect(foreseen.map { $0["event"] as? String } == ["progress", "conflict", "summary"])
    #expect(foreseen.last?["isDryRun"] as? Bool == true)
    let lost = try #require(objects(sync).first { $0["event"] as? String == "conflict" })
    #expect((lost["lost"] as? [String: Any])?["value"] as? String == "\"a's\"")
    #expect((lost["won"] as? [String: Any])?["value"] as? String == "\"b's\"")
    #expect(lost["property"] as? String == "title")
    let text = try Tool.sync.run("log", path("b"))
    #expect(text.lines.count == 3)
    #expect(try Tool.sync.run("log", path("b"), "--limit", "1").lines == text.lines.suffix(1))
    let entries = try objects(Tool.sync.run("log", path("b"), "--json"))
    #expect(entries.map { $0["event"] as? String } == ["entry", "entry", "entry", "summary"])
    // Not told: b knew of "first", and the journal does not say so.
    let conflicts = try Tool.sync.run("log", path("b"), "--conflicts")
    #expect(conflicts.lines.count == 1)
    #expect(conflicts.output.contains(#"Note n.title  "b's" of"#) && conflicts.output.contains(#"won over "a's" of"#))
    // What won and what lost are named as `undo` takes them.
    let told = try #require(objects(Tool.sync.run("log", path("b"), "--conflicts", "--json")).first)
    let names = try ["won", "lost"].map { side in
      let write = try #require(told[side] as? [String: Any])
      return "\(try #require(write["replica"] as? String).prefix(8)):\(try #require(write["sequence"] as? Int))"
    }
    #expect(conflicts.output.contains(#""b's" of \#(names[0]) won over "a's" of \#(names[1])"#), "\(conflicts.output)")
    let undone = try Tool.replay.run("undo", path("b"), "--transaction", names[0])
    #expect(undone.output.contains(#"title: "b's" → "a's""#), "\(undone)")
  }

  /// What it says is what the pull says afterwards, and until then nothing has come.
  @Test func aDryRunOfAPullSaysWhatWouldCome() async throws {
    try await write("first", to: "a", id: "n")
    for place in ["remote", "notes.magicbundle"] { try Tool.sync.run("push", path("a"), path(place)) }
    try Tool.sync.run("clone", path("remote"), path("b"))
    let digest = try digest("b")
    try await write("b's", to: "b", id: "n")
    try await write("a's", to: "a", id: "n")
    try await write("more", to: "a")
    for place in ["remote", "notes.magicbundle"] { try Tool.sync.run("push", path("a"), path(place)) }
    for place in ["remote", "notes.magicbundle"] {
      let foreseen = try Tool.sync.run("pull", path("b"), path(place), "--dry-run")
      #expect(foreseen.status == 0 && foreseen.output.hasPrefix("would pull 2 transactions with 2 changes"), "\(foreseen)")
      #expect(foreseen.errors.contains("would lose: ") && foreseen.errors.contains(#""a's" of"#), "\(foreseen)")
    }
    let ended = try Tool.sync.run("pull", path("b"), path("remote"), environment: ["MAGIC_SYNC_DRY_RUN": "1"])
    #expect(ended.output.hasPrefix("would pull 2"), "\(ended)")
    let pulled = try Tool.sync.run("pull", path("b"), path("remote"))
    #expect(pulled.output == ended.output.replacingOccurrences(of: "would pull", with: "pulled"))
    #expect(pulled.errors.contains("lost: "))
    #expect(try self.digest("b") != digest)
    let nothing = try Tool.sync.run("pull", path("b"), path("remote"), "--dry-run", "--quiet")
    #expect((nothing.status, nothing.output, nothing.errors) == (0, "", ""))
    // Nothing is made, and nothing followed.
    #expect(try Tool.sync.run("pull", path("c"), path("remote"), "--dry-run").status == 1)
    #expect(try Tool.sync.run("pull", path("b"), path("nowhere"), "--dry-run").status == 1)
    #expect(try Tool.sync.run("pull", path("b"), path("remote"), "--dry-run", "--watch").status == 64)
    #expect(["c", "nowhere"].allSatisfy { !FileManager.default.fileExists(atPath: path($0)) })
  }

  // MARK: Verifying

  @Test func whatIsWholeIsVerified() async throws {
    for title in ["x", "y"] { try await write(title, to: "a") }
    try Tool.sync.run("sync", path("a"), path("remote"))
    #expect(try Tool.sync.run("verify", path("a")).output.contains("all is well"))
    let result = try Tool.sync.run("verify", path("a"), path("remote"), "--json")
    #expect(result.status == 0)
    let summary = try #require(objects(result).last)
    #expect(try summary["digest"] as? String == digest("a").trimmingCharacters(in: .newlines))
    #expect(summary["objects"] as? Int == 2)
    #expect(summary["transactions"] as? Int == 2)
  }

  @Test func aRowThatIsNotWhatTheJournalSaysIsFound() async throws {
    for title in ["x", "y"] { try await write(title, to: "a") }
    for sql in ["UPDATE Note SET title = 'else' WHERE id = 'x'", "DELETE FROM Note WHERE id = 'y'"] {
      let change = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()"
      #expect(try Tool.python.run("-c", change, path("a/default.sqlite3"), sql).status == 0)
    }
    let result = try Tool.sync.run("verify", path("a"))
    // As of the other tool, whoever asks.
    #expect(result.status == 4)
    #expect(try Tool.replay.run("verify", path("a")).status == 4)
    #expect(result.output.contains("Note x shows other values") && result.output.contains("--repair journal"))
    #expect(result.output.contains("the journal has 2 entries, and objects know of 1"))
    // A remote that is not there keeps nothing of that back.
    let apart = try Tool.sync.run("verify", path("a"), path("nothing"))
    #expect(apart.status == 4)
    #expect(apart.output.contains("Note x shows other values"))
    #expect(apart.errors.contains("the remote was not looked at"))
  }

  @Test func aDamagedFileIsFoundByVerify() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: path("remote/segments")).first)
    var bytes = try Data(contentsOf: folder["remote/segments/\(name)"])
    bytes[bytes.count - 3] ^= 1
    try bytes.write(to: folder["remote/segments/\(name)"])
    let result = try Tool.sync.run("verify", path("a"), path("remote"))
    #expect(result.status == 3)
    #expect(result.output.contains(name))
    // One that is damaged as a whole keeps nothing of the database back.
    let empty = try Tool.sync.run("verify", path("a"), "-")
    #expect(empty.status == 3 && empty.errors.contains("is empty"), "\(empty)")
    #expect(empty.output.hasSuffix("the database is well\n"), "\(empty)")
  }

  // MARK: Bundles and pipes

  /// B-1, B-4.
  @Test func aBundleIsARemoteInAFile() async throws {
    try await write("from a", to: "a")
    let file = path("notes.magicbundle")
    #expect(try Tool.sync.run("push", path("a"), file).output.contains("made the remote \(file)"))
    #expect(try Tool.sync.run("pull", path("b"), file).status == 0)
    try await write("from b", to: "b")
    try await write("more from a", to: "a")
    // Each adds to what is there, whether it knows it or not.
    #expect(try Tool.sync.run("push", path("b"), file).status == 0)
    #expect(try Tool.sync.run("push", path("a"), file).status == 0)
    for name in ["a", "b", "c"] { #expect(try Tool.sync.run("sync", path(name), file).status == 0) }
    #expect(try Set(["a", "b", "c"].map(digest)).count == 1)
    #expect(try await titles("c") == ["from a", "from b", "more from a"])
    let before = try Data(contentsOf: folder["notes.magicbundle"])
    #expect(try Tool.sync.run("sync", path("a"), file).status == 0)
    #expect(try Data(contentsOf: folder["notes.magicbundle"]) == before)
    #expect(try Tool.python.digest(of: file) == digest("a"))
    #expect(try Tool.replay.run("log", file).output == Tool.replay.run("log", path("a")).output)
  }

  /// B-4: who may only read a bundle takes what it has, and is in step unless he has something to send.
  @Test func aBundleThatMayOnlyBeReadIsTaken() async throws {
    try FileManager.default.createDirectory(at: folder["stick"], withIntermediateDirectories: false)
    let file = path("stick/notes.magicbundle")
    try await write("from a", to: "a")
    try await write("from c", to: "c")
    try #require(Tool.sync.run("push", path("a"), file).status == 0)
    let before = try Data(contentsOf: folder["stick/notes.magicbundle"])
    let stick = try #require(ReadOnly(folder["stick"], isDeep: false), "neither permissions nor attributes hold this user off")
    defer { stick.end() }
    for command in ["sync", "sync", "push"] {
      let result = try Tool.sync.run(command, path("b"), file)
      #expect(result.status == 0, "\(command): \(result.errors)")
    }
    #expect(try await titles("b") == ["from a"])
    let refused = try Tool.sync.run("sync", path("c"), file)
    #expect(refused.status == 6, "\(refused)")
    #expect(try await titles("c") == ["from a", "from c"])
    #expect(try Data(contentsOf: folder["stick/notes.magicbundle"]) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path("stick")) == ["notes.magicbundle"])
  }

  /// F-11, B-2: who cannot be bound to a bundle's data set gives nothing to it, or both would refuse each other from then on.
  @Test func whoCannotBeBoundPublishesNoBundle() async throws {
    try await write("from a", to: "a")
    try await write("from b", to: "b")
    try Tool.sync.run("push", path("b"), path("there.magicbundle"))
    let before = try Data(contentsOf: folder["there.magicbundle"])
    let file = try #require(
      ReadOnly(folder["a/default.sqlite3"], isDeep: false), "neither permissions nor attributes hold this user off")
    defer { file.end() }
    for bundle in [path("new.magicbundle"), path("there.magicbundle"), "-"] {
      let refused = try Tool.sync.run("push", path("a"), bundle)
      #expect(refused.status == 6, "\(bundle): \(refused.errors)")
      #expect(!refused.output.contains("MAGICEND"), "\(bundle)")
    }
    #expect(try Data(contentsOf: folder["there.magicbundle"]) == before)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    #expect(names.filter { $0.contains("magicbundle") } == ["there.magicbundle"])
  }

  /// B-1.
  @Test func aPipeCarriesABundle() async throws {
    try await write("x", to: "a")
    let pipe = Pipe()
    let errors = Pipe()
    let push = try Tool.sync.start(["push", path("a"), "-"], output: pipe, errors: errors)
    try pipe.fileHandleForWriting.close()
    let clone = try Tool.sync.run("clone", "-", path("b"), input: pipe)
    push.waitUntilExit()
    #expect(clone.status == 0, "\(clone.errors)")
    #expect(push.terminationStatus == 0)
    #expect(String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).contains("pushed 1 transaction"))
    #expect(try digest("a") == digest("b"))
    #expect(try Tool.sync.run("remote", "list", path("b")).output.isEmpty)
    #expect(try Tool.sync.run("sync", path("a"), "-").status == 64)
  }

  /// B-2, B-3.
  @Test func aBundleIsTakenWholeOrNotAtAll() async throws {
    for title in ["x", "y"] {
      try await write(title, to: "a")
      try Tool.sync.run("push", path("a"), path("whole.magicbundle"))
    }
    try Tool.sync.run("init", path("b"))
    let whole = try Data(contentsOf: folder["whole.magicbundle"])
    let file = path("cut.magicbundle")
    var chance = Seeded(seeds(1)[0])
    var cuts: [Int] = [0, 3, 31, 32, 40, 200, whole.count - 16, whole.count - 1]
    for _ in 0..<4 { cuts.append(chance.below(whole.count)) }
    for length in cuts {
      try whole.prefix(length).write(to: folder["cut.magicbundle"])
      let result = try Tool.sync.run("pull", path("b"), file)
      #expect(result.status == 1, "cut to \(length)")
      #expect(result.errors.contains("cut.magicbundle"), "\(result.errors)")
    }
    for _ in 0..<8 {
      var bytes = whole
      let place = chance.below(whole.count)
      bytes[place] ^= 1
      try bytes.write(to: folder["cut.magicbundle"])
      let result = try Tool.sync.run("pull", path("b"), file)
      #expect([1, 7].contains(result.status), "byte \(place): \(result.errors)")
    }
    try (whole + Data([0])).write(to: folder["cut.magicbundle"])
    #expect(try Tool.sync.run("pull", path("b"), file).status == 1)
    #expect(try await titles("b") == [])
    // Never written over: it may be somebody's.
    try Data("A letter.".utf8).write(to: folder["letter.magicbundle"])
    #expect(try Tool.sync.run("push", path("a"), path("letter.magicbundle")).status == 1)
    #expect(try Data(contentsOf: folder["letter.magicbundle"]) == Data("A letter.".utf8))
    #expect(try Tool.sync.run("pull", path("b"), path("none.magicbundle")).status == 1)
    #expect(try Tool.sync.run("push", path("a"), path("no/x.magicbundle")).status == 1)
    // Of another data set.
    try await write("z", to: "other")
    try Tool.sync.run("push", path("other"), path("elsewhere"))
    let refused = try Tool.sync.run("pull", path("other"), path("whole.magicbundle"))
    #expect(refused.status == 7)
    #expect(refused.errors.contains("the remote \(path("whole.magicbundle")) holds another data set"))
  }

  /// B-3: of another format, which is said, and what it may hold is not written over.
  @Test func aBundleOfAnotherFormatIsLeftAlone() async throws {
    try await write("x", to: "a")
    let file = path("newer.magicbundle")
    try Tool.sync.run("push", path("a"), file)
    var bytes = try Data(contentsOf: folder["newer.magicbundle"])
    bytes[9] = 2
    try bytes.write(to: folder["newer.magicbundle"])
    try await write("y", to: "a")
    for command in ["push", "pull", "sync"] {
      let refused = try Tool.sync.run(command, path("a"), file)
      #expect(refused.status == 7, "\(command): \(refused.errors)")
      #expect(refused.errors.contains("newer.magicbundle") && refused.errors.contains("another format"), "\(refused.errors)")
      #expect(try Data(contentsOf: folder["newer.magicbundle"]) == bytes)
    }
    let cloned = try Tool.sync.run("clone", file, path("b"))
    #expect(cloned.status == 7, "\(cloned.errors)")
    #expect(!FileManager.default.fileExists(atPath: path("b/default.sqlite3")))
  }

  // MARK: What programs rely on

  /// O-1, O-2.
  @Test func jsonIsAnObjectALineWithTheSummaryLast() async throws {
    try await write("x", to: "a")
    let result = try Tool.sync.run("sync", path("a"), path("remote"), environment: ["MAGIC_SYNC_JSON": "1"])
    #expect(result.errors.isEmpty, "\(result.errors)")
    let events = try objects(result)
    #expect(events.map { $0["event"] as? String } == ["progress", "sent", "inStep", "summary"])
    #expect(events.last?["command"] as? String == "sync")
    #expect(events.last?["exit"] as? Int == 0)
    let failed = try Tool.sync.run("pull", path("a"), path("nothing"), "--json")
    #expect(failed.status == 1)
    let summary = try #require(objects(failed).last)
    #expect(summary["exit"] as? Int == 1)
    #expect((summary["error"] as? [String: Any])?["code"] as? String == "notFound")
  }

  @Test func everyOptionHasATwinInTheEnvironment() async throws {
    for title in ["1", "2", "3"] { try await write(title, to: "a", id: "n") }
    #expect(try Tool.sync.run("log", path("a"), environment: ["MAGIC_SYNC_LIMIT": "2"]).lines.count == 2)
    // The command line goes before.
    #expect(try Tool.sync.run("log", path("a"), "--limit", "1", environment: ["MAGIC_SYNC_LIMIT": "2"]).lines.count == 1)
    #expect(try Tool.sync.run("log", path("a"), environment: ["MAGIC_SYNC_CONFLICTS": "yes"]).output.isEmpty)
    #expect(try Tool.sync.run("log", path("a"), environment: ["MAGIC_SYNC_JSON": "0"]).output.contains("update Note n"))
    try Tool.sync.run("push", path("a"), path("remote"))
    try await write("4", to: "a", id: "n")
    #expect(try Tool.sync.run("status", path("a"), path("remote"), environment: ["MAGIC_SYNC_CHECK": "1"]).status == 4)
    #expect(
      try Tool.sync.run("sync", path("a"), path("x.magicbundle"), environment: ["MAGIC_SYNC_WATCH": "1"]).status == 64)
    #expect(try Tool.sync.run("sync", path("a"), path("remote"), environment: ["MAGIC_SYNC_INTERVAL": "0"]).status == 64)
  }

  @Test func wrongArgumentsAreUsage() throws {
    try Tool.sync.run("init", path("a"))
    for arguments in [
      ["status"], ["remote"], ["remote", "add", path("a")], ["log", path("a"), "--limit", "-1"],
      ["log", path("a"), "--limit", "x"],
      ["sync", path("a"), path("r"), "--interval", "0"], ["sync", path("a"), path("x.magicbundle"), "--watch"], ["verify"],
      ["peers"], ["peers", path("a"), path("r"), "--expire", ""], ["sync", path("a"), path("r"), "--accept", "zz"],
      ["sync", "tcp://localhost:1", path("a")], ["serve", path("a"), "--listen", "ssh://host/x"],
      ["serve", path("a"), "--listen", "tcp://127.0.0.1:0", "--metrics", "foo"],
      ["remote", "add", path("a"), "x", "-"], ["compact", "tcp://localhost"], ["sync", "", path("r")],
      ["pull", path("a"), "tcp://localhost:0"], ["serve", "", "--stdio"], ["bogus"], ["help", "bogus"],
    ] {
      let process = try Tool.sync.start(arguments, output: FileHandle.nullDevice, errors: FileHandle.nullDevice)
      process.waitUntilExit()
      if arguments == ["remote"] { continue }
      #expect(process.terminationStatus == 64, "\(arguments)")
    }
    #expect(try Tool.sync.run("help", "bogus").errors.contains("there is no command 'bogus'"))
    #expect(try Tool.sync.run("help", "remote").status == 0)
    let both = try Tool.sync.run("serve", path("hub"), "--stdio", "--listen", "tcp://127.0.0.1:0")
    #expect(both.status == 64 && both.errors.contains("one of the two"), "\(both)")
    let result = try Tool.sync.run("log", path("a"), environment: ["MAGIC_SYNC_LIMIT": "many"])
    #expect(result.status == 64)
    #expect(result.errors.contains("MAGIC_SYNC_LIMIT"))
    #expect(try Tool.sync.run("status", path("nothing"), path("remote")).status == 1)
    #expect(try Tool.sync.run("verify", path("nothing")).status == 1)
    #expect(try Tool.sync.run("log", path("nothing")).status == 1)
  }

  /// In other bytes it would be another path.
  @Test func argumentsThatAreNoUTF8AreUsage() throws {
    let script = """
      import os, sys
      tool, path = map(os.fsencode, sys.argv[1:])
      os.execv(tool, [tool, b"init", path + bytes([233])])
      """
    let result = try Tool.python.run("-c", script, Tool.sync.path.path, path("caf"))
    #expect(result.status == 64 && result.errors.contains("no UTF-8"), "\(result)")
    #expect(try folder.contents().isEmpty)
  }

  /// As scp takes it: a folder of that name is made where somebody asks for it.
  @Test func anotherMachinesFolderIsNoneHere() async throws {
    try await write("x", to: "a")
    for (arguments, address) in [
      (["sync", "a"], "host:notes"), (["push", "a"], "host:notes/x"), (["remote", "add", "a", "x"], "me@host:notes"),
    ] {
      let result = try Tool.sync.run(arguments: arguments + [address], in: folder.url)
      #expect(result.status == 64, "\(result)")
      #expect(result.errors.contains("ssh://host/path") && result.errors.contains("./\(address)"), "\(result)")
    }
    #expect(!FileManager.default.fileExists(atPath: path("host:notes")))
    for address in ["./host:notes", "host:notes"] {
      #expect(try Tool.sync.run("push", "a", address, in: folder.url).status == 0)
    }
    #expect(FileManager.default.fileExists(atPath: path("host:notes/magicdata.json")))
  }

  /// As the system has it: `..` is above what a link leads to, from whatever folder one names it.
  @Test func aPathBehindALinkLeadsWhereTheSystemGoes() async throws {
    try FileManager.default.createDirectory(at: folder["mount/inner"], withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: "mount/inner")
    try await write("x", to: "a")
    #expect(try Tool.sync.run("push", "a", "link/../remote", in: folder.url).status == 0)
    #expect(FileManager.default.fileExists(atPath: path("mount/remote/magicdata.json")))
    #expect(try Tool.sync.run("clone", "link/../remote", "link/../b", in: folder.url).status == 0)
    #expect(FileManager.default.fileExists(atPath: path("mount/b/default.sqlite3")))
    #expect(try Tool.sync.run("digest", "../b/", in: folder["mount/inner"]).output == digest("a"))
    #expect(!FileManager.default.fileExists(atPath: path("remote")) && !FileManager.default.fileExists(atPath: path("b")))
  }

  /// H-42: what was sent is said, and that nobody may write or read through a link.
  @Test func aLinkInPlaceOfAcknowledgementsIsPartlyDone() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try FileManager.default.moveItem(at: folder["remote/acks"], to: folder["outside"])
    try FileManager.default.createSymbolicLink(atPath: path("remote/acks"), withDestinationPath: "../outside")
    try await write("y", to: "a")
    let pushed = try Tool.sync.run("push", path("a"), path("remote"))
    #expect(pushed.status == 3 && pushed.output.contains("pushed 1 transaction"), "\(pushed)")
    #expect(pushed.errors.contains("is a link, or no folder"), "\(pushed)")
    // It is said each time.
    let again = try Tool.sync.run("push", path("a"), path("remote"))
    #expect(again.status == 3 && again.errors.contains("is a link, or no folder"), "\(again)")
    let status = try Tool.sync.run("status", path("a"), path("remote"))
    #expect(status.status == 0 && status.output.contains("is a link, or no folder"), "\(status)")
    let cloned = try Tool.sync.run("clone", path("remote"), path("b"))
    #expect(cloned.status == 3 && cloned.errors.contains("is a link, or no folder"), "\(cloned)")
    #expect(try await titles("b") == ["x", "y"])
  }

  /// As the address of a remote or a source is read.
  @Test func aDatabaseMayBeAFileURL() async throws {
    try await write("x", to: "a")
    #expect(try Tool.sync.run("digest", "file://\(path("a"))").output == digest("a"))
    #expect(try Tool.sync.run("push", "file:\(path("a"))", path("remote")).status == 0)
    #expect(try Tool.replay.run("apply", path("remote"), "--into", "file://\(path("b"))").status == 0)
    #expect(try digest("b") == digest("a"))
    #expect(try Tool.replay.run("apply", path("a"), "--into", "file://\(path("a"))", "--force").status != 0)
    // A folder of that name would be made.
    for address in ["http:x", "http://x", "host:notes/x", "file://elsewhere/x"] {
      for (tool, arguments) in [(Tool.sync, ["init"]), (.sync, ["digest"]), (.replay, ["apply", "a", "--into"])] {
        let refused = try tool.run(arguments: arguments + [address], in: folder.url)
        #expect(refused.status == 64, "\(arguments) \(address): \(refused)")
      }
    }
    let refused = try Tool.sync.run("init", "http:x", in: folder.url)
    #expect(refused.errors.contains("http: is no kind of database") && refused.errors.contains("./http:x"), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: path("http:x")))
    for address in ["./http:x", "http:x", "10:30"] {
      #expect(try Tool.sync.run("init", address, in: folder.url).status == 0)
    }
  }

  /// The shell puts a user's folder in the place of a ~ that means one.
  @Test func aTildeIsAPartOfAName() async throws {
    try await write("x", to: "~x")
    for address in ["~x", "./~x"] {
      #expect(try Tool.sync.run("digest", address, in: folder.url).output == digest("~x"), "\(address)")
      #expect(try Tool.replay.run("log", address, in: folder.url).output.contains("Note x"), "\(address)")
      #expect(try Tool.sync.run("push", "~x", address + "r", in: folder.url).status == 0)
    }
    #expect(FileManager.default.fileExists(atPath: path("~xr/magicdata.json")))
    #expect(try Tool.sync.run("init", "~root", in: folder.url).output == "made the database \(path("~root/default.sqlite3"))\n")
  }

  /// What is looked for is the database, and a remote only where one can be made of it.
  @Test func aMistypedDatabaseIsSaid() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    for command in ["status", "peers", "push", "verify"] {
      let missing = try Tool.sync.run(command, path("nothing"))
      #expect(missing.status == 1 && missing.errors.contains("there is no database at"), "\(command): \(missing)")
      #expect(missing.errors.contains("check the path, or make one"), "\(command): \(missing)")
    }
    for command in ["sync", "pull"] {
      let missing = try Tool.sync.run(command, path("nothing"))
      #expect(missing.status == 1 && missing.errors.contains("name the remote"), "\(command): \(missing)")
      #expect(try Tool.sync.run(command, path("remote")).errors.contains("is a remote, and no database"))
    }
    #expect(!FileManager.default.fileExists(atPath: path("nothing")))
  }

  /// What was given and would not hold is refused; what the environment has may be meant for other commands.
  @Test func anOptionThatMeansNothingHereIsUsage() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("x.magicbundle"))
    for (arguments, twin) in [
      (["sync", path("a"), path("remote"), "--interval", "5"], ["MAGIC_SYNC_INTERVAL": "5"]),
      (["push", path("a"), path("remote"), "--ca", "ca.pem"], ["MAGIC_SYNC_CA": "ca.pem"]),
      (["pull", path("a"), path("x.magicbundle"), "--token-file", "token"], ["MAGIC_SYNC_TOKEN_FILE": "token"]),
      (["clone", path("remote"), path("b"), "--fingerprint", "00"], ["MAGIC_SYNC_FINGERPRINT": "00"]),
      (["remote", "add", path("a"), "x", path("remote"), "--ca", "ca.pem"], ["MAGIC_SYNC_CA": "ca.pem"]),
    ] {
      let refused = try Tool.sync.run(arguments: arguments)
      #expect(refused.status == 64 && refused.errors.contains(" is for "), "\(refused)")
      let meant = try Tool.sync.run(arguments: Array(arguments.dropLast(2)), environment: twin)
      #expect(meant.status == 0, "\(arguments): \(meant)")
    }
    let bundle = try Tool.sync.run("compact", path("x.magicbundle"))
    #expect(bundle.status == 64 && bundle.errors.contains("is a bundle"), "\(bundle)")
    let nothing = try Tool.sync.run("remote", "nope")
    #expect(
      nothing.status == 64 && nothing.errors.contains("'remote nope'; the commands are add, set, remove, list"), "\(nothing)")
    // Who is expired is said each time.
    try #require(Tool.sync.run("clone", path("remote"), path("c")).status == 0)
    try #require(Tool.sync.run("sync", path("c")).status == 0)
    let peers = try objects(Tool.sync.run("peers", path("c"), "--json"))
    let other = try #require(peers.first { $0["isOwn"] as? Bool == false }?["replica"] as? String)
    let listed = try Tool.sync.run("peers", path("c"), environment: ["MAGIC_SYNC_EXPIRE": other])
    #expect(listed.status == 0 && listed.output.contains(other) && !listed.output.contains("expired"), "\(listed)")
  }

  /// A shell completes paths, and what an option may be.
  @Test func aShellCompletesWhatIsTyped() throws {
    let script = try Tool.sync.run("--generate-completion-script", "zsh")
    #expect(script.status == 0)
    for word in ["--token-file[", "--ca[", "--key[", "':DB:", "':REMOTE:"] {
      let lines = script.lines.filter { $0.contains(word) }
      #expect(!lines.isEmpty && lines.allSatisfy { $0.contains("_files") }, "\(word): \(lines)")
    }
    #expect(script.output.contains("'trace' 'debug' 'info'"))
  }

  /// What is told is what the next run does.
  @Test func whoIsInterruptedIsToldHowItGoesOn() async throws {
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(contentsOf: (0..<8_000).map { _ in Note(UUID().uuidString, UUID().uuidString) })
    try await magic.close()
    try Tool.sync.run("init", path("b"))
    try #require(Tool.sync.run("push", path("a"), path("x.magicbundle")).status == 0)
    let bundle = try Data(contentsOf: folder["x.magicbundle"])
    // More than a pipe holds: who takes it listens to signals.
    try #require(bundle.count > 150_000)
    for (arguments, told) in [
      (["pull", path("b"), "-"], "the next run brings what is missing"),
      (["clone", "-", path("c")], "the next run begins anew"),
    ] {
      let (input, errors) = (Pipe(), Pipe())
      let process = try Tool.sync.start(arguments, input: input, errors: errors)
      try input.fileHandleForWriting.write(contentsOf: bundle.prefix(140_000))
      kill(process.processIdentifier, SIGINT)
      try await Task.sleep(for: .seconds(2))
      try input.fileHandleForWriting.close()
      let message = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      #expect(process.terminationStatus == 130 && message.contains(told), "\(arguments): \(message)")
    }
    #expect(!FileManager.default.fileExists(atPath: path("c")))
    #expect(try Tool.sync.run("clone", path("x.magicbundle"), path("c")).status == 0)
  }

  /// What it leads to may be a drive that is not mounted.
  @Test func aRemoteIsNotMadeThroughALinkThatLeadsNowhere() async throws {
    try await write("x", to: "a")
    try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("nowhere"))
    for command in ["push", "sync"] {
      let result = try Tool.sync.run(command, path("a"), path("link"))
      #expect(result.status == 1 && result.errors.contains("is a link to something that is not there"), "\(result)")
    }
  }

  @Test(arguments: ["init", "pull"]) func aLinkThatLeadsNowhereIsSaid(command: String) async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("nowhere"))
    let result = try Tool.sync.run(arguments: [command, path("link")] + (command == "pull" ? [path("remote")] : []))
    #expect(result.status == 1 && result.errors.contains("is a link to something that is not there"), "\(result)")
  }

  @Test(arguments: ["init", "pull"]) func aLinkThatLeadsBackToItselfIsSaid(command: String) async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    for (link, target) in [("one.db", "two.db"), ("two.db", "one.db")] {
      try FileManager.default.createSymbolicLink(atPath: path(link), withDestinationPath: target)
    }
    let result = try Tool.sync.run(arguments: [command, path("one.db")] + (command == "pull" ? [path("remote")] : []))
    #expect(result.status == 1 && result.errors.contains("is a link that leads back to itself"), "\(result)")
  }

  /// What SQLite makes is where the last of the links leads, so all that belongs to it is there.
  @Test(arguments: ["init", "clone"], ["links/db.sqlite", "links/db"])
  func aDatabaseIsMadeWhereALinkLeads(command: String, place: String) async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    for name in ["links/db", "real"] {
      try FileManager.default.createDirectory(at: folder[name], withIntermediateDirectories: true)
    }
    for (link, target) in [("links/db.sqlite", "../real/db.sqlite"), ("links/db/default.sqlite3", "../db.sqlite")] {
      try FileManager.default.createSymbolicLink(atPath: path(link), withDestinationPath: target)
    }
    let result = try Tool.sync.run(arguments: [command] + (command == "clone" ? [path("remote")] : []) + [path(place)])
    #expect(result.status == 0, "\(result)")
    try await write("y", to: place)
    #expect(
      try FileManager.default.subpathsOfDirectory(atPath: path("links")).sorted() == ["db", "db.sqlite", "db/default.sqlite3"])
    #expect(FileManager.default.fileExists(atPath: path("real/db.sqlite-replica")))
    #expect(try await titles("real/db.sqlite") == (command == "clone" ? ["x", "y"] : ["y"]))
  }

  /// What a file is called while it is written tells nobody anything.
  @Test func aFolderThatMayOnlyBeReadIsSaid() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try await write("y", to: "a")
    let held = try #require(
      ReadOnly(folder["remote/segments"], isDeep: false), "neither permissions nor attributes hold this user off")
    defer { held.end() }
    let refused = try Tool.sync.run("push", path("a"), path("remote"))
    #expect(refused.status == 6, "\(refused)")
    #expect(refused.errors.contains("\(path("remote")) may only be read here, and 1 transaction waits"), "\(refused)")
    #expect(refused.errors.contains("`magic-sync pull DB`") && !refused.errors.contains(".tmp"), "\(refused)")
    #expect(try Tool.sync.run("pull", path("a"), path("remote")).status == 0)
  }

  /// What cron mails is what a person has to know.
  @Test func whoAsksForQuietHearsOfWhatWentWellByTheExitCode() async throws {
    try await write("first", to: "a", id: "n")
    for arguments in [["push", path("a"), path("remote")], ["clone", path("remote"), path("b")], ["pull", path("b")]] {
      let quiet = try Tool.sync.run(arguments: arguments + ["-q"])
      #expect(quiet.status == 0 && quiet.output.isEmpty && quiet.errors.isEmpty, "\(arguments): \(quiet)")
    }
    try await write("of b", to: "b", id: "n")
    try await write("of a", to: "a", id: "n")
    for arguments in [["--check", "-q"], ["--check", "--quiet", "--json"]] {
      let checked = try Tool.sync.run(arguments: ["status", path("a"), path("remote")] + arguments)
      #expect(checked.status == 4 && checked.output.isEmpty == !arguments.contains("--json"), "\(checked)")
    }
    try #require(Tool.sync.run("push", path("a"), path("remote"), "-q").output.isEmpty)
    // Which of the two was meant only a person knows.
    let synced = try Tool.sync.run("sync", path("b"), "-q")
    #expect(synced.status == 0 && synced.output.isEmpty && synced.errors.contains("lost: "), "\(synced)")
    let again = try Tool.sync.run("sync", path("b"), "-q")
    #expect(again.status == 0 && again.output.isEmpty && again.errors.isEmpty, "\(again)")
    #expect(try Tool.sync.run("status", path("b"), "--check", "-q").output.isEmpty)
    // What is not done is said.
    for name in try FileManager.default.contentsOfDirectory(atPath: path("remote/segments")) {
      try Data("damaged".utf8).write(to: folder["remote/segments/\(name)"])
    }
    let partly = try Tool.sync.run("pull", path("c"), path("remote"), "-q")
    #expect(partly.status == 3 && !partly.output.isEmpty && !partly.errors.isEmpty, "\(partly)")
  }

  @Test func aFolderThatMayNotBeWrittenHasItsExitCode() async throws {
    guard getuid() != 0 else { return }
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try await write("y", to: "a")
    chmod(path("remote/segments"), 0o555)
    defer { chmod(path("remote/segments"), 0o755) }
    #expect(try Tool.sync.run("push", path("a"), path("remote")).status == 6)
  }

  /// Who asks one tool for what the other does is told so, of each command that one alone has.
  @Test func aCommandOfTheOtherToolIsNamed() throws {
    func commands(_ tool: Tool) throws -> Set<String> {
      let refused = try tool.run("bogus")
      #expect(refused.status == 64, "\(refused)")
      let list = try #require(refused.errors.split(separator: "the commands are ").last).prefix { $0 != "." }
      return Set(list.split(separator: ", ").map(String.init))
    }
    let (sync, replay) = (try commands(Tool.sync), try commands(Tool.replay))
    #expect(sync.contains("clone") && replay.contains("undo"), "\(sync) \(replay)")
    for (tool, own, other, name) in [
      (Tool.sync, sync, replay, "magic-replay"), (Tool.replay, replay, sync, "magic-sync"),
    ] {
      for command in other.subtracting(own).sorted() {
        let refused = try tool.run(command, path("a"))
        #expect(refused.status == 64 && refused.errors.contains("; `\(name) \(command)` does that"), "\(refused)")
      }
    }
  }

  /// Who reads a log of several programs sees whose it is, and no usage that says nothing of what is wrong.
  @Test func whatShowsToBeWrongWhenACommandRunsIsToldAlone() throws {
    try Tool.sync.run("init", path("a"))
    for arguments in [
      ["sync", path("a"), "http://foo/bar"], ["clone", "tls://localhost:1", path("b"), "--fingerprint", "abc"], ["bogus"],
    ] {
      let refused = try Tool.sync.run(arguments: arguments)
      #expect(refused.status == 64 && refused.errors.hasPrefix("magic-sync: "), "\(refused)")
      #expect(refused.errors.split(separator: "\n").count == 1 && refused.output.isEmpty, "\(refused)")
    }
    // The parser's own have the command's.
    let parsed = try Tool.sync.run("log", path("a"), "--limit", "-1")
    #expect(parsed.errors.hasPrefix("magic-sync: ") && parsed.errors.contains("Usage: magic-sync log"), "\(parsed)")
  }

  @Test func everyCommandHasExamples() throws {
    for command in [
      "init", "clone", "push", "pull", "sync", "remote", "status", "log", "peers", "digest", "verify", "backup", "demo",
    ] {
      #expect(try Tool.sync.run(command, "--help").output.contains("Example"), "\(command)")
    }
  }

  /// The bar is for a terminal; where output is redirected, there is none.
  @Test func aTerminalGetsAProgressBarAndAFileNone() async throws {
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(contentsOf: (0..<300).map { Note("\($0)", "x") })
    try await magic.close()
    let terminal = "import pty,sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("magic-sync")
      .path
    let shown = try Tool.python.run("-c", terminal, tool, "push", path("a"), path("r1"), environment: ["TERM": "xterm"])
    #expect(shown.status == 0)
    #expect(shown.output.contains("pushing [#"), "\(shown.output)")
    let quiet = try Tool.python.run("-c", terminal, tool, "push", path("a"), path("r2"), "--quiet")
    #expect(!quiet.output.contains("pushing ["))
    #expect(try Tool.sync.run("push", path("a"), path("r3")).errors.isEmpty)
    // Of a database that is made of a journal nobody knows before how much there is.
    let replay = Tool.replay.path.path
    let made = try Tool.python.run("-c", terminal, replay, "apply", path("r1"), "--into", path("b"))
    #expect(made.status == 0 && made.output.contains("merged 300 changes"), "\(made.output)")
    let silent = try Tool.python.run("-c", terminal, replay, "apply", path("r1"), "--into", path("c"), "-q")
    #expect(silent.status == 0 && !silent.output.contains("merged"), "\(silent.output)")
    #expect(try Tool.replay.run("apply", path("r1"), "--into", path("d")).errors.isEmpty)
    let failing = [terminal, tool, "pull", path("a"), path("nothing")]
    let red = try Tool.python.run(
      "-c", failing[0], failing[1], failing[2], failing[3], failing[4], environment: ["TERM": "xterm", "NO_COLOR": ""])
    #expect(red.output.contains("\u{1b}[31m"))
    let plain = try Tool.python.run(
      "-c", failing[0], failing[1], failing[2], failing[3], failing[4], environment: ["TERM": "xterm", "NO_COLOR": "1"])
    #expect(!plain.output.contains("\u{1b}[31m"))
  }
}
