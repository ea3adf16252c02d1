import Foundation
import MagicData

struct Cat: MagicObject {
  @PrimaryMagicValue var name: String
  @OptionMagicValue var owner: String?
  @MagicValue var weight: Double
  @MagicValue var lives: Int

  init() {}

  init(_ name: String, _ owner: String, _ weight: Double, _ lives: Int) {
    self.name = name
    self.owner = owner
    self.weight = weight
    self.lives = lives
  }
}

struct Member: MagicObject {
  @MagicValue var text: String

  init() {}

  init(_ text: String) {
    self.text = text
  }
}

struct Owner: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var members: MagicalSet<Member> = []

  init() {}

  init(_ name: String, _ members: [Member]) {
    self.name = name
    self.members = MagicalSet(members)
  }
}

/// Usage: Benchmarks [COUNT] [ROUNDS] [CASE …]; a case is left out of the rounds if none of the words given is in its name.
@main
struct Benchmarks {
  let count: Int
  let rounds: Int
  let folder: URL
  let names: [String]

  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    let numbers = arguments.compactMap(Int.init)
    Comparison.words = arguments.filter { Int($0) == nil }
    let count = numbers.first ?? 100_000
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("magic-bench-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await Benchmarks(
      count: count, rounds: numbers.dropFirst().first ?? 5, folder: folder, names: (0..<count).map { _ in UUID().uuidString }
    ).run()
  }

  private func run() async throws {
    var insert = Comparison("insert, one transaction", target: 1.6)
    var update = Comparison("update one value, one transaction", target: 1.6)
    var single = Comparison("insert, one transaction each, async call", target: 1.6)
    var fetch = Comparison("fetch all", target: 1.2)
    var point = Comparison("point look-up, async call", target: 1.5)
    var save = Comparison("owners with 10 members, one transaction", target: nil)
    var graph = Comparison("fetch owners with 10 members each", target: 3)
    let few = min(count, 5_000)
    let owners = max(count / 10, 1)
    for round in 0..<rounds {
      let database = folder.appendingPathComponent("ours\(round)")
      let magic = try await MagicData(path: database)
      let raw = RawSQLite(folder.appendingPathComponent("raw\(round).sqlite3").path)
      let cats = names.enumerated().map { Cat($1, "owner \($0 % 100)", Double($0) / 8, 9) }
      try await insert.round(round, isNeeded: true) {
        try await magic.update(contentsOf: cats)
      } raw: {
        raw.run("BEGIN IMMEDIATE")
        for (index, name) in names.enumerated() { raw.insert(name, "owner \(index % 100)", Double(index) / 8, 9) }
        raw.run("COMMIT")
      }
      for cat in cats { cat.lives = 8 }
      try await update.round(round) {
        try await magic.update(contentsOf: cats)
      } raw: {
        raw.run("BEGIN IMMEDIATE")
        for name in names { raw.update(name, lives: 8) }
        raw.run("COMMIT")
      }
      var found = 0
      try await fetch.round(round) {
        found += try await magic.object(of: Cat.self).count
      } raw: {
        found -= raw.all().count
      }
      try await point.round(round) {
        for name in names.prefix(few) { found += try await magic.object(of: Cat.self, primary: name).lives }
      } raw: {
        for name in names.prefix(few) { found -= raw.find(name)?.lives ?? 0 }
      }
      precondition(found == 0, "both sides hold the same")
      let more = (0..<few).map { Cat("more \($0)", "owner", 1, 1) }
      try await single.round(round) {
        for cat in more { try await magic.update(cat) }
      } raw: {
        for index in 0..<few {
          raw.run("BEGIN IMMEDIATE")
          raw.insert("more \(index)", "owner", 1, 1)
          raw.run("COMMIT")
        }
      }
      let graphs = names.prefix(owners).map { name in Owner(name, (0..<10).map { Member("member \($0) of \(name)") }) }
      try await save.round(round, isNeeded: Comparison.words.contains { graph.name.contains($0) }) {
        try await magic.update(contentsOf: graphs)
      } raw: {
        raw.run("BEGIN IMMEDIATE")
        for name in names.prefix(owners) { raw.insert(owner: name, members: (0..<10).map { "member \($0) of \(name)" }) }
        raw.run("COMMIT")
      }
      try await graph.round(round) {
        found += try await magic.object(of: Owner.self).reduce(0) { $0 + $1.members.count }
      } raw: {
        found -= raw.owners().reduce(0) { $0 + $1.members.count }
      }
      precondition(found == 0, "both sides hold the same")
      try await magic.close()
    }
    print(
      "\(count) objects of 4 values, \(rounds) rounds in turn; microseconds each, medians; raw is SQLite's own calls without a journal\n"
    )
    print("| case                                         |     ours |      raw | ratio | spread | target |")
    print("|---|---|---|---|---|---|")
    for (comparison, number) in [
      (insert, count), (update, count), (single, few), (fetch, count), (point, few), (save, owners), (graph, owners),
    ] {
      print(comparison.line(number))
    }
  }
}
