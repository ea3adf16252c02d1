import Foundation

/// A tcp connection that sends whatever it likes. It waits on threads of its own: the server needs those that tasks share.
final class RawSocket: Sendable {
  private let descriptor: Int32

  struct Failure: Error { let code: Int32 }

  init(port: Int) throws {
    #if canImport(Darwin)
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { throw Failure(code: errno) }
    var wait = timeval(tv_sec: 120, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// `false` if the other side takes no more.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    return Foundation.send(descriptor, bytes, bytes.count, flags) == bytes.count
  }

  /// What comes, until the other side closes or breaks off.
  func readToEnd() async -> [UInt8] { await waiting { self.take(.max) } }

  /// A frame (W-1); `nil` at the end.
  func frame() async -> (kind: UInt8, body: [UInt8])? {
    await waiting {
      let head = self.take(5)
      guard head.count == 5 else { return nil }
      return (head[4], self.take(RawSocket.number(head[..<4])))
    }
  }

  /// So many bytes, or fewer at the end.
  private func take(_ count: Int) -> [UInt8] {
    var all: [UInt8] = []
    while all.count < count {
      var piece = [UInt8](repeating: 0, count: min(4_096, count - all.count))
      let got = recv(descriptor, &piece, piece.count, 0)
      guard got > 0 else { break }
      all += piece[..<got]
    }
    return all
  }

  private func waiting<Result: Sendable>(_ body: @Sendable @escaping () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }

  static func frame(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
    withUnsafeBytes(of: UInt32(body.count).bigEndian, Array.init) + [kind] + body
  }

  static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

  static func hello(
    replica: UInt8 = 7, token: String = "", versions: (UInt8, UInt8) = (1, 1), capabilities: [String] = []
  ) -> [UInt8] {
    hello(id: [UInt8](repeating: replica, count: 16), token: token, versions: versions, capabilities: capabilities)
  }

  static func hello(
    id: [UInt8], token: String = "", versions: (UInt8, UInt8) = (1, 1), capabilities: [String] = []
  ) -> [UInt8] {
    func block(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
    return frame(
      1,
      Array("MAGICWIR".utf8) + [0, versions.0, 0, versions.1] + id + [UInt8](repeating: 0, count: 16) + block(token)
        + [UInt8(capabilities.count)] + capabilities.flatMap(block))
  }
}
