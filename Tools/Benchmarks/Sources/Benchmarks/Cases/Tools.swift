import Foundation

/// The tools as whole processes, from their start to their end.
extension Case {
  static func tools(_ sizes: Sizes) -> [Case] { readings(sizes) + starts() + peaks(sizes) }

  /// A million entries a second.
  private static let entry = Target.each(1)

  /// A segment file of inserts with four values, and one of updates of a value.
  private static func readings(_ sizes: Sizes) -> [Case] {
    let count = min(sizes.objects, Workspace.part)
    return [("inserts", "remote", nil), ("updates", "changes", "remote")].flatMap { (name, folder, before) in
      [["log"], ["log", "--json"], ["stats"]].map { command in
        Case(
          name: "magic-replay \(command.joined(separator: " ")), \(name) of a segment", size: sizes.objects, count: count,
          target: entry
        ) { workspace in
          let replicas = try await workspace.replicas(sizes.objects)
          let path = try replicas.file(folder).segments(besides: before.map { replicas.file($0) })[0].path
          return [
            // Its lines go nowhere: what a file system takes for 25 MB of them is not the tool's.
            Side("magic-replay") { _ in
              {
                try Tool("magic-replay", command + [path]).run()
                return count
              }
            }
          ]
        }
      }
    }
  }

  /// With an existing database of 1,000 objects, and a folder that it is in step with.
  private static func starts() -> [Case] {
    [("magic-sync", "status", ["sent", "changes"]), ("magic-replay", "stats", ["sent"])].flatMap { name, command, files in
      func sides(_ work: @escaping (Tool) throws -> Int) -> (Workspace) async throws -> [Side] {
        { workspace in
          let replicas = try await workspace.replicas(1_000)
          let tool = Tool(name, [command] + files.map { replicas.file($0).path })
          return [Side(name) { _ in { try work(tool) } }]
        }
      }
      let run = { (tool: Tool) in
        try tool.run()
        return 0
      }
      return [
        Case(name: "\(name) \(command), start to end", size: 1_000, count: 1, sides: sides(run)),
        Case(name: "\(name) \(command), peak memory", size: 1_000, count: 1, unit: .bytes, sides: sides { try $0.peak() }),
      ]
    }
  }

  /// Of a long journal: flat memory. Only Linux tells.
  private static func peaks(_ sizes: Sizes) -> [Case] {
    guard Memory.peak() != nil else { return [] }
    let entries = sizes.most * 10
    return exchangePeaks(sizes)
      + [("log", "database"), ("log", "remote"), ("stats", "database"), ("stats", "remote"), ("verify", "database")].map {
        command, source in
        Case(
          name: "magic-replay \(command) of a \(source == "remote" ? "folder" : source), peak memory", size: entries, count: 1,
          unit: .bytes, target: .each(200_000_000)
        ) { workspace in
          let tool = Tool("magic-replay", [command, try await workspace.journal(entries).file(source).path])
          return [Side("magic-replay") { _ in { try tool.peak() } }]
        }
      }
  }

  /// Of a push and a pull of one change of each object.
  private static func exchangePeaks(_ sizes: Sizes) -> [Case] {
    [
      ("push", "inserts", "first", nil), ("push", "updates", "changed", "remote"), ("pull", "inserts", nil, "remote"),
      ("pull", "updates", "second", "changes"),
    ].map { command, changes, database, remote in
      Case(
        name: "magic-sync \(command) of \(changes), peak memory", size: sizes.most, count: 1, unit: .bytes,
        target: .each(150_000_000)
      ) { workspace in
        let replicas = try await workspace.replicas(sizes.most)
        return [
          Side("magic-sync") { folder in
            let database = try database.map { try replicas.copy($0, to: folder) } ?? folder.file("database")
            let remote = try remote.map { try replicas.copy($0, to: folder) } ?? folder.file("remote")
            if !FileManager.default.fileExists(atPath: database.path) { try Tool("magic-sync", ["init", database.path]).run() }
            let tool = Tool("magic-sync", [command, database.path, remote.path])
            return { try tool.peak() }
          }
        ]
      }
    }
  }
}
