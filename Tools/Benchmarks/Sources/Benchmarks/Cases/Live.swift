import Foundation
import MagicData
import MagicReplication

/// How long a change takes from one replica that follows a server to another one.
extension Case {
  static func live(_ sizes: Sizes) -> [Case] {
    let changes = 500
    return ServerProcess.Kind.allCases.flatMap { kind in
      [("half", 0.5, 10_000.0), ("99 of 100", 0.99, 100_000)].map { part, quantile, limit in
        Case(
          name: "a change seen through a \(kind), \(part) within", size: changes, count: 1, unit: .delay, target: .each(limit),
          isOnce: true
        ) { _ in
          [
            Side("magic-sync serve") { folder in
              let server = try await ServerProcess(serving: kind, in: folder)
              let followers = try await Followers(server, in: folder)
              return {
                let delays = try await followers.delays(of: changes).sorted()
                try await followers.stop()
                try server.stop()
                return Int(delays[Int(quantile * Double(delays.count))] * 1_000_000)
              }
            }
          ]
        }
      }
    }
  }
}

/// Two replicas that follow one server.
private final class Followers {
  private let writer: MagicData
  private let reader: MagicData
  private let following: Task<Void, any Error>

  init(_ server: ServerProcess, in folder: URL) async throws {
    writer = try await MagicData(path: folder.file("writer"))
    reader = try await MagicData(path: folder.file("reader"))
    let replicators = try [writer, reader].map { MagicReplicator($0, remote: try server.remote()) }
    following = Task {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for replicator in replicators { group.addTask { try await replicator.run() } }
        try await group.waitForAll()
      }
    }
  }

  /// In seconds: from before one saves a change until the other one's app has the object with it.
  func delays(of changes: Int) async throws -> [Double] {
    let reading = Reading(number: 0)
    try await writer.update(reading)
    var delays: [Double] = []
    var chance = Chance(seed: 1)
    var start = ContinuousClock.now
    for try await found in reader.observe(of: Reading.self) {
      guard found.first?.time == reading.time else { continue }
      delays.append((ContinuousClock.now - start) / .seconds(1))
      // The first one waited for both to come in.
      guard delays.count <= changes else { break }
      try await Task.sleep(for: .milliseconds(Int(chance.next() % 40)))
      reading.time += 1
      start = .now
      try await writer.update(reading)
    }
    return Array(delays.dropFirst())
  }

  func stop() async throws {
    following.cancel()
    try await following.value
    try await writer.close()
    try await reader.close()
  }
}
