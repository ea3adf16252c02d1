import Foundation
import MagicData
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// Addresses that are listened at, and those that others have.
@Suite(.timeLimit(.minutes(15))) struct ListenerTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func server(_ address: String) async throws -> RunningServer {
    try await RunningServer(
      MagicServer(folder: FolderRemote(folder["hub"]), at: [address], options: RunningServer.quiet))
  }

  /// A socket that no server of ours has made.
  ///
  /// - Parameter use: what is done with its address, as `bind`.
  /// - Returns: its descriptor, and what went wrong.
  private func socket(
    at path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> (descriptor: Int32, error: Int32) {
    #if canImport(Darwin)
      let descriptor = Foundation.socket(AF_UNIX, SOCK_STREAM, 0)
    #else
      let descriptor = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
    return (descriptor, code == 0 ? 0 : errno)
  }

  /// The socket of who was killed is there, and nobody answers. Of those that come then one has its place, and the others leave
  /// it alone.
  @Test func aSocketThatWasLeftGoesToOne() async throws {
    let path = folder["s"].path
    let left = socket(at: path) { bind($0, $1, $2) }
    #expect(left.error == 0)
    close(left.descriptor)
    let servers = await withTaskGroup(of: RunningServer?.self) { group in
      for _ in 0..<8 {
        group.addTask {
          do {
            return try await server("unix:\(path)")
          } catch {
            #expect((error as? MagicDataError)?.code == .busy, "\(error)")
            return nil
          }
        }
      }
      return await group.reduce(into: [RunningServer]()) { found, server in found += [server].compactMap { $0 } }
    }
    #expect(servers.count == 1)
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(Note("1", "one"))
    let replicator = MagicReplicator(magic, remote: try SocketRemote("unix:\(path)"))
    #expect(try await replicator.push().transactions == 1)
    for server in servers { try await server.stop() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).allSatisfy { !$0.hasPrefix(".s") })
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  /// Nobody stays that nobody can reach: neither who lost his socket's file, nor, beside it, who keeps his.
  @Test func aServerWhoseSocketIsGoneEnds() async throws {
    let path = folder["s"].path
    let first = try await server("unix:\(path)")
    #expect(unlink(path) == 0)
    let second = try await server("unix:\(path)")
    await expectCode(.failed, naming: "removed or replaced; start the server again") { try await first.finished() }
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(Note("1", "one"))
    let replicator = MagicReplicator(magic, remote: try SocketRemote("unix:\(path)"))
    #expect(try await replicator.push().transactions == 1)
    try await second.stop()
  }

  /// One that cannot be looked at for a while, as on a share, is not gone.
  @Test func aServerWhoseSocketCannotBeLookedAtStays() async throws {
    let (here, away) = (folder["here"], folder["away"])
    try FileManager.default.createDirectory(at: here, withIntermediateDirectories: false)
    let path = here.appendingPathComponent("s").path
    let running = try await server("unix:\(path)")
    #expect(rename(here.path, away.path) == 0)
    // It leads nowhere, and nobody can tell what is behind it.
    try FileManager.default.createSymbolicLink(atPath: here.path, withDestinationPath: here.path)
    try await Task.sleep(for: .seconds(5))
    #expect(unlink(here.path) == 0 && rename(away.path, here.path) == 0)
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(Note("1", "one"))
    let replicator = MagicReplicator(magic, remote: try SocketRemote("unix:\(path)"))
    #expect(try await replicator.push().transactions == 1)
    try await running.stop()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  /// Nothing is made, or locked, where a link leads.
  @Test func aLinkIsNoLock() async throws {
    try FileManager.default.createSymbolicLink(at: folder[".s.lock"], withDestinationURL: folder["elsewhere"])
    await expectCode(.failed, naming: ".s.lock") { _ = try await server("unix:\(folder["s"].path)") }
    #expect(!FileManager.default.fileExists(atPath: folder["elsewhere"].path))
  }

  #if os(Linux)
    /// Who has no room for another connection is no less there.
    @Test func aSocketThatIsBusyIsNotTakenAway() async throws {
      let path = folder["s"].path
      let listening = socket(at: path) { bind($0, $1, $2) == 0 ? listen($0, 0) : -1 }
      #expect(listening.error == 0)
      var clients: [Int32] = []
      while clients.count < 100 {
        let client = socket(at: path) { connect($0, $1, $2) }
        clients.append(client.descriptor)
        if client.error == EAGAIN { break }
      }
      let before = number(path)
      await expectCode(.busy, naming: path) { _ = try await server("unix:\(path)") }
      #expect(before != nil && number(path) == before)
      for descriptor in clients + [listening.descriptor] { close(descriptor) }
    }

    private func number(_ path: String) -> UInt64? {
      var status = stat()
      return lstat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// Nobody stays that nobody can reach.
    @Test func aServerThatLosesItsAddressEnds() async throws {
      let server = try await server("tcp://127.0.0.1:0")
      for descriptor in Int32(3)..<4_096 where isListener(descriptor, server.port) { shutdown(descriptor, Int32(SHUT_RDWR)) }
      await expectCode(.failed, naming: server.address) { try await server.finished() }
    }

    private func isListener(_ descriptor: Int32, _ port: Int) -> Bool {
      var (isListening, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
      guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening != 0 else { return false }
      var (address, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
      let code = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
      }
      return code == 0 && address.sin_family == sa_family_t(AF_INET) && address.sin_port == in_port_t(port).bigEndian
    }
  #endif
}
