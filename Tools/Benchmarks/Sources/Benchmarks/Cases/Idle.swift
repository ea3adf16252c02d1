import Foundation
import MagicData
import MagicReplication

/// What connections that do nothing cost a hub which goes on serving.
extension Case {
  static func idle(_ sizes: Sizes) -> [Case] {
    let count = 1_000
    return [
      Case(
        name: "memory of idle sessions", size: count, count: count, unit: .bytes, target: .over(100_000), isOnce: true
      ) { workspace in
        let specimens = try await workspace.specimens(1_000)
        func side(_ name: String, _ visitors: @escaping (ServerProcess) throws -> [WireSocket]) -> Side {
          Side(name) { folder in
            let server = try ServerProcess(serving: folder.file("hub"))
            let ours = try await MagicData(path: try specimens.copy("ours", to: folder))
            let theirs = try await MagicData(path: folder.file("theirs"))
            return {
              let idle = try visitors(server)
              try await MagicReplicator(ours, remote: server.remote()).push()
              guard try await MagicReplicator(theirs, remote: server.remote()).pull().changes == 1_000 else {
                throw Failure("the hub did not go on serving")
              }
              let peak = try server.peakMemory()
              withExtendedLifetime(idle) {}
              try server.stop()
              return peak
            }
          }
        }
        return [
          side("1,000 sessions") { server in
            try (0..<count).map { number in
              // So many sessions a server has from one address.
              let socket = try WireSocket(port: server.port, from: "127.0.0.\(2 + number / 200)")
              try socket.enter()
              try socket.send(.watch, [])
              return socket
            }
          },
          side("none") { _ in [] },
          side("1,000 that say nothing") { server in
            try (0..<count).map { _ in try WireSocket(port: server.port) }
          },
        ]
      }
    ]
  }
}
