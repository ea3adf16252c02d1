import Foundation
import TestSupport

/// Stands between clients and a server, and cuts, delays and throttles what passes, at places that a seed chooses.
final class Proxy: Sendable {
  let port: Int
  private let listener: Int32
  private let target: Int
  private let plan: Plan

  /// What happens to one connection.
  struct Fate: Sendable {
    /// After so many bytes, both ways together; `nil`: never.
    var cut: Int?
    /// At most so many bytes pass at a time, and a pause after each.
    var piece = 65_536
    var pause: useconds_t = 0
    /// After so many bytes of the client nothing more is taken from it; it is told this, and cut off.
    var deafness: (after: Int, saying: [UInt8])?
  }

  // @unchecked: touched only while `lock` is held.
  private final class Plan: @unchecked Sendable {
    private let lock = NSLock()
    private let next: (Int) -> Fate
    private var count = 0

    init(_ next: @escaping (Int) -> Fate) { self.next = next }

    func take() -> Fate {
      lock.withLock {
        defer { count += 1 }
        return next(count)
      }
    }
  }

  /// - Parameter fate: of each connection, by its number.
  init(to target: Int, _ fate: @escaping (Int) -> Fate) throws {
    self.target = target
    plan = Plan(fate)
    listener = Proxy.socket()
    var address = Proxy.address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
    guard code else { throw RawSocket.Failure(code: errno) }
    port = Int(in_port_t(bigEndian: address.sin_port))
    Thread.detachNewThread { [plan, target] in
      while case let client = accept(descriptor, nil, nil), client >= 0 { Proxy.carry(client, to: target, plan.take()) }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  private static func socket() -> Int32 {
    #if canImport(Darwin)
      Foundation.socket(AF_INET, SOCK_STREAM, 0)
    #else
      Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
  }

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
  }

  private static func carry(_ client: Int32, to port: Int, _ fate: Fate) {
    let server = socket()
    var address = address(port)
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
    guard code == 0 else {
      close(server)
      close(client)
      return
    }
    let both = Both(client, server, fate)
    for (from, to) in [(client, server), (server, client)] {
      Thread.detachNewThread {
        both.pump(from, to)
        both.end()
      }
    }
  }

  // @unchecked: `left` and `ended` are touched only while `lock` is held.
  private final class Both: @unchecked Sendable {
    private let lock = NSLock()
    private let ends: (Int32, Int32)
    private let fate: Fate
    private var left: Int
    private var ended = 0

    init(_ one: Int32, _ other: Int32, _ fate: Fate) {
      ends = (one, other)
      self.fate = fate
      left = fate.cut ?? .max
    }

    func pump(_ from: Int32, _ to: Int32) {
      var piece = [UInt8](repeating: 0, count: fate.piece)
      var heard = 0
      while case let count = recv(from, &piece, piece.count, 0), count > 0 {
        heard += count
        if let (limit, words) = fate.deafness, from == ends.0, heard > limit {
          // Until it waits for room.
          usleep(1_000_000)
          _ = words.withUnsafeBytes { send(from, $0.baseAddress, words.count, Proxy.flags) }
          usleep(3_000_000)
          return
        }
        let passing = lock.withLock {
          let passing = min(left, count)
          left -= passing
          return passing
        }
        var sent = 0
        while sent < passing {
          let more = piece.withUnsafeBytes { send(to, $0.baseAddress! + sent, passing - sent, Proxy.flags) }
          guard more > 0 else { return }
          sent += more
        }
        guard passing == count else { return }
        if fate.pause > 0 { usleep(fate.pause) }
      }
    }

    func end() {
      shutdown(ends.0, Int32(SHUT_RDWR))
      shutdown(ends.1, Int32(SHUT_RDWR))
      let isLast = lock.withLock {
        ended += 1
        return ended == 2
      }
      guard isLast else { return }
      close(ends.0)
      close(ends.1)
    }
  }

  static var flags: Int32 {
    #if canImport(Darwin)
      0
    #else
      Int32(MSG_NOSIGNAL)
    #endif
  }
}
