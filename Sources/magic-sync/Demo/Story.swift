import ArgumentParser
import Console
import Foundation
import MagicData
import MagicJournal
import MagicReplication

/// The demo, as it is told while it happens.
struct Story {
  private let log: GitLog
  private let folder: URL
  private let clock = ContinuousClock()

  private var remote: URL { folder.appendingPathComponent("remote") }

  init(_ log: GitLog, in folder: URL) {
    self.log = log
    self.folder = folder
  }

  func tell() async throws {
    try say("Two replicas of the commit log of \(log.root), with no server between them.\n")
    let laptop = try await DemoReplica("laptop", folder, remote: remote)
    try await importLog(into: laptop)
    let phone = try await DemoReplica("phone", folder, remote: remote)
    try await clone(to: phone)
    let scene = Scene(log)
    try await editApart(laptop, phone, scene)
    try await sync(laptop, phone)
    try await explain(laptop, phone, scene)
    try await compare(laptop, phone)
  }

  private func say(_ line: String) throws { try LineWriter.write(Data("\(line)\n".utf8), to: STDOUT_FILENO) }

  // MARK: The chapters

  private func importLog(into laptop: DemoReplica) async throws {
    let authors = Dictionary(log.lines.map { ($0.email, $0.name) }, uniquingKeysWith: { newer, _ in newer })
    let time = try await clock.measure {
      for (email, name) in authors.sorted(by: { $0.key < $1.key }) {
        let author = Author()
        (author.email, author.name) = (email, name)
        try await laptop.magic.update(author)
      }
      for line in log.lines.reversed() {
        let commit = Commit()
        (commit.hash, commit.subject, commit.date, commit.author) = (line.hash, line.subject, line.date, line.email)
        try await laptop.magic.update(commit)
      }
    }
    let count = log.lines.count + authors.count
    try say("1. laptop imports \(log.lines.count.counted("commit")) by \(authors.count.counted("author")).")
    try say(
      "   Each commit and each author is an object: \(count.counted("object")), each saved and journaled in a transaction of its own, in \(time.seconds)."
    )
    let (report, pushTime) = try await timed { try await laptop.replicator.push() }
    try say("   It pushes its journal to the folder \"remote\" in \(pushTime):")
    try say(
      "   \(report.inflatedBytes.asBytes) of journal become \(report.bytes.asBytes) in \(report.segments.counted("file")).\n")
  }

  private func clone(to phone: DemoReplica) async throws {
    let (report, time) = try await timed { try await phone.replicator.pull() }
    try say("2. phone clones the folder: \(report.changes.counted("change")) from \(report.bytes.asBytes) in \(time).\n")
  }

  private func editApart(_ laptop: DemoReplica, _ phone: DemoReplica, _ scene: Scene) async throws {
    try say("3. Both go offline, and edit. A commit has three more fields here, empty so far: label, rating and verdict.")
    try await edit(laptop, scene.shared) { $0.label = "release" }
    try await edit(phone, scene.shared) { $0.rating = 5 }
    try say("   \(scene.name(scene.shared)): laptop sets label, phone sets rating.")

    try await edit(laptop, scene.contested) { $0.verdict = "needs work" }
    try await edit(phone, scene.contested) { $0.verdict = "looks good" }
    try say("   \(scene.name(scene.contested)): laptop sets verdict to \"needs work\", phone to \"looks good\".")

    try await laptop.magic.update(Remark(on: scene.shared, "Read this on the train."))
    try await phone.magic.update(Remark(on: scene.shared, "Ask about the tests."))
    try say("   Each makes a new object: a remark on \(scene.name(scene.shared)).")

    // The stamps of a removal and a later edit are to differ by more than chance.
    switch scene.removed {
    case .commit(let hash):
      try await phone.magic.remove(try await phone.commit(hash))
      try await pause()
      try await edit(laptop, hash) { $0.label = "keep" }
      try say("   \(scene.name(hash)): phone removes it; later laptop labels it \"keep\".\n")
    case .author(let email):
      try await phone.magic.remove(try await phone.author(email))
      try await pause()
      let author = try await laptop.author(email)
      author.note = "keep"
      try await laptop.magic.update(author)
      try say("   author \(email): phone removes it; later laptop notes \"keep\".\n")
    }
  }

  private func sync(_ laptop: DemoReplica, _ phone: DemoReplica) async throws {
    try say("4. Both sync through the folder.")
    for (actor, why) in [(laptop, ""), (phone, ""), (laptop, " again, for what phone pushed")] {
      let ((pull, push), time) = try await timed { try await actor.replicator.sync() }
      try say(
        """
           \(actor.name)\(why): \(pull.changes.counted("change")) in (\(pull.bytes.asBytes)), \
        \(push.changes.counted("change")) out (\(push.bytes.asBytes)), \(time)
        """)
    }
    try say("")
  }

  private func explain(_ laptop: DemoReplica, _ phone: DemoReplica, _ scene: Scene) async throws {
    let names = [laptop.replica: laptop.name, phone.replica: phone.name]
    try say("5. What became of the edits, on phone:")
    let shared = try await phone.commit(scene.shared)
    try say(
      "   \(scene.name(scene.shared)): label \"\(shared.label ?? "none")\" from laptop and rating \(shared.rating ?? 0) from phone."
    )
    try say("   Different fields do not compete: both stay.")

    let history = try await ObjectHistory(of: Commit.self, scene.contested, in: phone.magic)
    try say("   \(scene.name(scene.contested)): verdict is \"\(try await phone.commit(scene.contested).verdict ?? "none")\".")
    let writes = history.events.filter { $0.values["verdict"] != nil }
    for write in writes {
      guard case .text(let text)? = write.values["verdict"] else { continue }
      let won = write.stamp == writes.last?.stamp ? "won, since it is the later one" : "lost, and stays in the journal"
      try say("     \(write.time)  \(names[write.replica] ?? write.replica) wrote \"\(text)\": \(won)")
    }

    let remarks = try await phone.magic.object(of: Remark.self)
    try say(
      "   Remarks: \(remarks.map { "\"\($0.text)\"" }.sorted().joined(separator: " and ")). Objects made apart stay apart.")
    try await explainRemoved(phone, scene, names)
    try say("")
  }

  private func explainRemoved(_ phone: DemoReplica, _ scene: Scene, _ names: [String: String]) async throws {
    let (title, events, isThere): (String, [ObjectHistory.Event], Bool)
    switch scene.removed {
    case .commit(let hash):
      (title, isThere) = (scene.name(hash), try await phone.magic.has(of: Commit.self, primary: hash))
      events = try await ObjectHistory(of: Commit.self, hash, in: phone.magic).events
    case .author(let email):
      (title, isThere) = ("author \(email)", try await phone.magic.has(of: Author.self, primary: email))
      events = try await ObjectHistory(of: Author.self, email, in: phone.magic).events
    }
    try say("   \(title): it is \(isThere ? "there, with all its values" : "gone").")
    for event in events.suffix(2) {
      let what = event.operation == .remove ? "removed it" : "edited it"
      let won = event.stamp == events.last?.stamp ? "won, since it is the later one" : "lost"
      try say("     \(event.time)  \(names[event.replica] ?? event.replica) \(what): \(won)")
    }
  }

  private func compare(_ laptop: DemoReplica, _ phone: DemoReplica) async throws {
    let digests = (try await laptop.magic.digest(), try await phone.magic.digest())
    try say("6. laptop has the digest \(digests.0)")
    try say("   phone  has the digest \(digests.1)")
    try say("   \(digests.0 == digests.1 ? "They are equal: both replicas hold the same data." : "They DIFFER.")\n")
    try say("Everything is in \(folder.path). To look at it:")
    // As this program was called: it may not be on the PATH.
    let tool = CommandLine.arguments[0]
    let replay = tool.hasSuffix("magic-sync") ? tool.dropLast("sync".count) + "replay" : "magic-replay"
    let query = #"'SELECT hash, subject, label, rating, verdict FROM "Commit" ORDER BY date DESC LIMIT 5'"#
    try say("   sqlite3 \(quoted("phone/default.sqlite3")) \(query)")
    for name in ["laptop", "phone"] { try say("   \(tool) digest \(quoted(name))") }
    try say("   \(replay) log \(quoted("remote")) --limit 10")
    try say("   ls -l \(quoted("remote/segments"))")
    try say("   rm -r \(quoted(""))    when you are done")
    guard digests.0 == digests.1 else { throw ExitCode.failure }
  }

  // MARK: Parts

  /// A path in the demo's folder, for a shell.
  private func quoted(_ name: String) -> String {
    let path = name.isEmpty ? folder.path : folder.appendingPathComponent(name).path
    return "'" + path.escaping("'", as: #"'\''"#) + "'"
  }

  private func edit(_ actor: DemoReplica, _ hash: String, _ change: (Commit) -> Void) async throws {
    let commit = try await actor.commit(hash)
    change(commit)
    try await actor.magic.update(commit)
    try await pause()
  }

  /// Long enough for the next stamp to have a later millisecond.
  private func pause() async throws {
    try await Task.sleep(for: .milliseconds(2))
  }

  private func timed<Result>(_ body: () async throws -> Result) async throws -> (Result, String) {
    let start = clock.now
    let result = try await body()
    return (result, (clock.now - start).seconds)
  }
}

/// Which objects the demo edits; a repository may have one commit alone.
struct Scene {
  enum Removed {
    case commit(String)
    case author(String)
  }

  let shared: String
  let contested: String
  let removed: Removed
  private let subjects: [String: String]

  init(_ log: GitLog) {
    let newest = log.lines[0]
    shared = newest.hash
    contested = log.lines[min(1, log.lines.count - 1)].hash
    removed = log.lines.count > 2 ? .commit(log.lines[log.lines.count - 1].hash) : .author(newest.email)
    subjects = Dictionary(log.lines.map { ($0.hash, $0.subject) }, uniquingKeysWith: { first, _ in first })
  }

  func name(_ hash: String) -> String {
    let subject = subjects[hash] ?? ""
    return "commit \(hash.prefix(7)) \"\(subject.count > 40 ? subject.prefix(39) + "…" : subject)\""
  }
}

extension Duration {
  fileprivate var seconds: String {
    let milliseconds = self / .milliseconds(1)
    return milliseconds < 1_000 ? "\(Int(milliseconds.rounded())) ms" : "\((milliseconds / 100).rounded() / 10) s"
  }
}
