internal import Foundation
internal import MagicData
internal import NIOCore

/// Where a server listens, or a client goes.
enum Endpoint: Sendable, Equatable {
  case tcp(host: String, port: Int)
  case tls(host: String, port: Int)
  case unix(path: String)
  /// `path` is the other machine's.
  case ssh(user: String?, host: String, port: Int?, path: String)

  static let schemes: Set<String> = ["tcp", "tls", "unix", "ssh"]
  /// Taken if none is named.
  static let port = 7_420

  /// - Parameter address: `tcp://host:port`, `tls://host:port`, `unix:/path` or `ssh://[user@]host[:port]/path`.
  init(_ address: String) throws {
    if address.lowercased().hasPrefix("unix:") {
      var path = address.dropFirst(5)
      if path.hasPrefix("//") { path = path.dropFirst(2) }
      guard !path.isEmpty else { throw Endpoint.refusal(address, "write unix:/path/to/socket") }
      let file = URL(fileURLWithPath: RemoteAddress.absolute(String(path))).path
      guard file.utf8.count < Endpoint.maxPath else {
        throw Endpoint.refusal(address, "a socket's path has fewer than \(Endpoint.maxPath) bytes")
      }
      self = .unix(path: file)
      return
    }
    guard let parts = URLComponents(string: address), let scheme = parts.scheme?.lowercased(), let host = parts.host,
      !host.isEmpty, parts.query == nil, parts.fragment == nil, parts.password == nil,
      parts.port.map({ 0...65_535 ~= $0 }) ?? true
    else { throw Endpoint.refusal(address, "write tcp://host:port, tls://host:port, unix:/path or ssh://host/path") }
    // An address of version 6 stands in brackets there and nowhere else.
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    switch scheme {
    case "tcp", "tls":
      guard parts.path.isEmpty || parts.path == "/", parts.user == nil else {
        throw Endpoint.refusal(address, "write \(scheme)://host:port, and nothing behind")
      }
      let port = parts.port ?? Endpoint.port
      self = scheme == "tcp" ? .tcp(host: name, port: port) : .tls(host: name, port: port)
    case "ssh":
      // What begins with a dash would be an option to ssh.
      guard parts.path.count > 1, !name.hasPrefix("-"), parts.user?.hasPrefix("-") != true else {
        throw Endpoint.refusal(address, "write ssh://[user@]host/path/to/database")
      }
      self = .ssh(user: parts.user, host: name, port: parts.port, path: parts.path)
    default: throw Endpoint.refusal(address, "the kinds are tcp, tls, unix and ssh")
    }
  }

  /// As the system has it.
  static let maxPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

  private static func refusal(_ address: String, _ remedy: String) -> MagicDataError {
    MagicDataError(.notFound, "\(address) is no address of a server; \(remedy)")
  }

  /// The endpoint with the port that was chosen.
  func with(port chosen: Int?) -> Endpoint {
    switch self {
    case .tcp(let host, let port): .tcp(host: host, port: chosen ?? port)
    case .tls(let host, let port): .tls(host: host, port: chosen ?? port)
    case .unix, .ssh: self
    }
  }

  /// One of `schemes`.
  var scheme: String {
    switch self {
    case .tcp: "tcp"
    case .tls: "tls"
    case .unix: "unix"
    case .ssh: "ssh"
    }
  }

  var text: String {
    switch self {
    case .tcp(let host, let port): "tcp://\(Endpoint.bracketed(host)):\(port)"
    case .tls(let host, let port): "tls://\(Endpoint.bracketed(host)):\(port)"
    case .unix(let path): "unix:\(path)"
    case .ssh(let user, let host, let port, let path):
      "ssh://\(user.map { Endpoint.encoded($0, "%?#/:@") + "@" } ?? "")\(Endpoint.bracketed(host))\(port.map { ":\($0)" } ?? "")\(Endpoint.encoded(path, "%?#"))"
    }
  }

  /// All else stays as people wrote it.
  ///
  /// - Parameter special: what would end the part of an address in which the text stands.
  private static func encoded(_ text: String, _ special: String) -> String {
    text.reduce(into: "") {
      $0 += special.contains($1) ? "%" + String($1.asciiValue ?? 0, radix: 16, uppercase: true) : String($1)
    }
  }

  private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

  /// Whether only this machine can reach it.
  static func isLoopback(_ host: String) -> Bool {
    if host.lowercased() == "localhost" { return true }
    // What the system looks up ends there.
    guard !host.utf8.contains(0) else { return false }
    // An address of version 6 alone may name the network card that it is of.
    let digits = String(host.prefix { $0 != "%" })
    switch try? SocketAddress(ipAddress: digits, port: 0) {
    case .v4 where digits != host: return false
    case .v4(let address)?:
      return withUnsafeBytes(of: address.address.sin_addr) { $0.first == 127 }
    case .v6(let address)?:
      let bytes: [UInt8] = withUnsafeBytes(of: address.address.sin6_addr, Array.init)
      // One of version 4, written as one of version 6 (RFC 4291, 2.5.5.2).
      let isMapped = bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]
      return isMapped ? bytes[12] == 127 : bytes == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    case .unixDomainSocket?, nil: return false
    }
  }
}
