import Foundation

/// A tcp connection to this machine, whose calls wait. It knows as much of the wire as it takes to come in and to take bytes
/// (Protocol/wire.md).
final class WireSocket: Sendable {
  let descriptor: Int32

  /// - Parameter address: from where it comes.
  init(port: Int, from address: String = "127.0.0.1") throws {
    descriptor = socket(AF_INET, WireSocket.stream, 0)
    var own = WireSocket.name(address, 0)
    var other = WireSocket.name("127.0.0.1", port)
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafePointer(to: &own) { own in
      withUnsafePointer(to: &other) { other in
        own.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) } == 0
          && other.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) } == 0
      }
    }
    guard isConnected else { throw Failure("no connection to port \(port): \(String(cString: strerror(errno)))") }
  }

  /// One of a pair that was accepted.
  private init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Both ends of a connection.
  static func pair() throws -> (WireSocket, WireSocket) {
    let listener = socket(AF_INET, stream, 0)
    defer { close(listener) }
    var name = name("127.0.0.1", 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &name) { name in
      name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard isListening else { throw Failure("no port to listen at: \(String(cString: strerror(errno)))") }
    let one = try WireSocket(port: Int(UInt16(bigEndian: name.sin_port)))
    return (one, WireSocket(descriptor: accept(listener, nil, nil)))
  }

  private static var stream: Int32 {
    #if canImport(Darwin)
      SOCK_STREAM
    #else
      Int32(SOCK_STREAM.rawValue)
    #endif
  }

  private static func name(_ address: String, _ port: Int) -> sockaddr_in {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = in_port_t(port).bigEndian
    name.sin_addr.s_addr = inet_addr(address)
    return name
  }

  // MARK: Bytes

  func send(_ bytes: some Collection<UInt8>) throws {
    let bytes = Array(bytes)
    try bytes.withUnsafeBytes { try send($0) }
  }

  func send(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      guard count > 0 else { throw Failure("the other side takes no more: \(String(cString: strerror(errno)))") }
      rest = rest.dropFirst(count)
    }
  }

  /// As many bytes as are there, one at least; 0 at the end.
  func take(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = read(descriptor, buffer.baseAddress, buffer.count)
    guard count >= 0 else { throw Failure("nothing can be read: \(String(cString: strerror(errno)))") }
    return count
  }

  // MARK: Frames

  enum Kind: UInt8 {
    case hello = 0x01
    case pull = 0x04
    case data = 0x06
    case watch = 0x0b
    case welcome = 0x81
    case pulled = 0x84
    case error = 0xff
  }

  func send(_ kind: Kind, _ body: [UInt8]) throws {
    try send(withUnsafeBytes(of: UInt32(body.count).bigEndian, Array.init) + [kind.rawValue] + body)
  }

  /// Says hello under a replica id of its own, and hears the answer.
  func enter() throws {
    let id = (0..<16).map { _ in UInt8.random(in: 0...255) }
    try send(.hello, Array("MAGICWIR".utf8) + [0, 1, 0, 1] + id + [UInt8](repeating: 0, count: 16) + [0, 0])
    try WireFrames(self).read { kind, _ in
      guard kind == Kind.welcome.rawValue else { throw Failure("no welcome, but a frame of kind \(kind)") }
      return false
    }
  }
}

/// Frames that come, of which the bytes are looked at and left.
struct WireFrames {
  private let socket: WireSocket

  init(_ socket: WireSocket) { self.socket = socket }

  /// - Parameter body: gets each frame's kind and length once it has come whole, and says whether there are more to come.
  func read(_ body: (UInt8, Int) throws -> Bool) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    var head: [UInt8] = []
    var lacking = 0
    while true {
      let count = try socket.take(buffer)
      guard count > 0 else { throw Failure("the server closed the connection") }
      var rest = UnsafeRawBufferPointer(buffer)[..<count]
      while !rest.isEmpty {
        let isHead = head.count < 5
        let taken = rest.prefix(isHead ? 5 - head.count : lacking)
        rest = rest[taken.endIndex...]
        if isHead {
          head += taken
          guard head.count == 5 else { continue }
          lacking = head[..<4].reduce(0) { $0 << 8 | Int($1) }
        } else {
          lacking -= taken.count
        }
        guard lacking == 0 else { continue }
        let length = head[..<4].reduce(0) { $0 << 8 | Int($1) }
        guard try body(head[4], length) else { return }
        head = []
      }
    }
  }
}
