import Foundation
import MagicData
import MagicReplication
import MagicTransport

/// The same through a hub on this machine as through its folder: what sockets cost, encryption included.
extension Case {
  static func loopback(_ sizes: Sizes) -> [Case] {
    sizes.steps.flatMap { size in
      Changes.allCases.flatMap { changes in [Link.tcp, .tls].map { pushAndPull(changes, $0, size, sizes) } }
    }
  }

  private enum Link: String {
    case tcp
    case tls

    var target: Double { self == .tcp ? 1.3 : 1.5 }
  }

  private static func pushAndPull(_ changes: Changes, _ link: Link, _ size: Int, _ sizes: Sizes) -> Case {
    Case(name: "push and pull \(changes) over \(link)", size: size, count: size, target: sizes.target(link.target, at: size)) {
      workspace in
      let (replicas, specimens) = (try await workspace.replicas(size), try await workspace.specimens(size))
      func passing(
        in folder: URL, _ replicator: (MagicData) -> MagicReplicator, end: @escaping () async throws -> Void = {}
      ) async throws -> Side.Work {
        let sender = replicator(try await changes.sender(replicas, specimens, in: folder))
        let receiver = replicator(try await changes.receiver(replicas, in: folder))
        return {
          try await sender.push()
          let changes = try await receiver.pull().changes
          try await end()
          return changes
        }
      }
      return [
        Side("MagicData, \(link)") { folder in
          let hub = try await Hub(
            try changes.remote(replicas, in: folder), certificate: link == .tls ? .make(in: folder) : nil)
          let remote = try hub.remote()
          return try await passing(in: folder, { MagicReplicator($0, remote: remote) }, end: hub.stop)
        },
        Side("MagicData, folder") { folder in
          let remote = FolderRemote(try changes.remote(replicas, in: folder))
          return try await passing(in: folder, { MagicReplicator($0, remote: remote) })
        },
      ]
    }
  }
}

/// A folder that is served, in this process.
private final class Hub {
  private let serving: Task<Void, any Error>
  private let address: String
  private let options: SocketRemote.Options

  init(_ folder: URL, certificate: Certificate?) async throws {
    var options = MagicServer.Options()
    options.logger.logLevel = .critical
    options.certificate = certificate?.certificate
    options.key = certificate?.key
    var client = SocketRemote.Options()
    client.authority = certificate?.certificate
    self.options = client
    let server = MagicServer(
      folder: FolderRemote(folder), at: [certificate == nil ? "tcp://127.0.0.1:0" : "tls://127.0.0.1:0"], options: options)
    let (addresses, continuation) = AsyncStream<String>.makeStream()
    serving = Task {
      defer { continuation.finish() }
      try await server.run { for address in $0 { continuation.yield(address) } }
    }
    var address: String?
    for await listening in addresses {
      address = listening
      break
    }
    guard let address else {
      try await serving.value
      throw CocoaError(.featureUnsupported)
    }
    self.address = address
  }

  func remote() throws -> SocketRemote { try SocketRemote(address, options: options) }

  func stop() async throws {
    serving.cancel()
    try await serving.value
  }
}

/// Made by the command-line tool of OpenSSL.
private struct Certificate {
  let certificate: URL
  let key: URL

  static func make(in folder: URL) throws -> Certificate {
    let made = Certificate(certificate: folder.file("certificate.pem"), key: folder.file("key.pem"))
    let openssl = Process()
    openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    openssl.arguments = [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", made.key.path, "-out",
      made.certificate.path,
    ]
    openssl.standardError = FileHandle.nullDevice
    try openssl.run()
    openssl.waitUntilExit()
    return made
  }
}
