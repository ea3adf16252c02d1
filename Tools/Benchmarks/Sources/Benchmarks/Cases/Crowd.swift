import Foundation
import MagicData
import MagicReplication

/// Many replicas at one server at the same time.
extension Case {
  static func crowds(_ sizes: Sizes) -> [Case] {
    ServerProcess.Kind.allCases.map { kind in
      Case(
        name: "memory of a \(kind) with so many clients", size: 64, count: 1, unit: .bytes, target: .each(200_000_000),
        isOnce: true
      ) { _ in
        [
          Side("magic-sync serve") { folder in
            let server = try await ServerProcess(serving: kind, in: folder)
            let crowd = try await Crowd(64, of: server, in: folder)
            return {
              try await crowd.write(parts: 10, of: 100)
              try await crowd.meet()
              let peak = try server.peakMemory()
              try server.stop()
              return peak
            }
          }
        ]
      }
    }
  }
}

private struct Crowd {
  private let server: ServerProcess
  private let members: [MagicData]

  init(_ count: Int, of server: ServerProcess, in folder: URL) async throws {
    self.server = server
    var members: [MagicData] = []
    for number in 0..<count { members.append(try await MagicData(path: folder.file("client-\(number)"))) }
    self.members = members
  }

  /// Each writes so many objects, in parts that are pushed, and pulls what others have done meanwhile.
  func write(parts: Int, of size: Int) async throws {
    try await together { number, magic, replicator in
      for part in 0..<parts {
        let first = (number * parts + part) * size
        try await magic.update(contentsOf: (first..<first + size).map { Specimen(SpecimenRow($0)) })
        try await replicator.sync()
      }
    }
  }

  /// Each takes what is there by now; then all are the same.
  func meet() async throws {
    try await together { _, _, replicator in try await replicator.sync() }
    var digests: Set<String> = []
    for member in members {
      digests.insert(try await member.digest())
      try await member.close()
    }
    guard digests.count == 1 else { throw Failure("\(members.count) clients have \(digests.count) different digests") }
  }

  private func together(_ body: @Sendable @escaping (Int, MagicData, MagicReplicator) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, magic) in members.enumerated() {
        let replicator = MagicReplicator(magic, remote: try server.remote())
        group.addTask { try await body(number, magic, replicator) }
      }
      try await group.waitForAll()
    }
  }
}
