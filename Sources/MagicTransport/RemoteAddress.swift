internal import Foundation
internal import MagicData
public import MagicReplication

/// A remote's address as people write it: a folder's path, or a URL.
public enum RemoteAddress: Sendable {
  case folder(FolderRemote)
  case server(SocketRemote)

  /// What an address means. Nothing is read, made or connected yet.
  ///
  /// - Parameters:
  ///   - address: a folder's path, a `file:` URL, or a server's (``SocketRemote``).
  ///   - options: for a server.
  /// - Throws: `MagicDataError` with `notFound` for an address of another kind, `value` for a fingerprint that is none.
  public init(_ address: String, options: SocketRemote.Options = SocketRemote.Options()) throws {
    guard !address.isEmpty else { throw MagicDataError(.notFound, "the remote's address is empty; name a folder or a server") }
    if RemoteAddress.isServer(address) {
      self = .server(try RemoteAddress.reachable(address, options))
    } else {
      // Foundation takes ~ for a user's folder. The tools leave that to the shell.
      let path =
        address.hasPrefix("~")
        ? address : try RemoteAddress.path(of: address, "remote", "folder, a server (tcp:, tls:, unix:, ssh:)")
      self = .folder(FolderRemote(URL(fileURLWithPath: path, isDirectory: true)))
    }
  }

  /// What a journal is read from: whatever lies at a path or a `file:` URL.
  ///
  /// - Throws: `MagicDataError` with `notFound` if there is nothing, or for an address of another kind.
  package static func source(at address: String) throws -> JournalSource { try JournalSource(at: sourcePath(address)) }

  /// The path that is meant by the address of a source that is no server's.
  package static func sourcePath(_ address: String) throws -> String {
    guard !address.isEmpty else {
      throw MagicDataError(.notFound, "the source's address is empty; name a database, a file, a folder or a server")
    }
    return try path(of: address, "source", "database, a file, a folder")
  }

  /// The path that is meant by a path or a `file:` URL of a database.
  package static func databasePath(_ address: String) throws -> String { try path(of: address, "database", "path") }

  /// A journal's source as `source(at:)` finds it, or what a server has, which is fetched into a temporary database.
  ///
  /// - Throws: also what a pull throws.
  package static func source(at address: String, options: SocketRemote.Options) async throws -> JournalSource {
    guard isServer(address) else { return try source(at: address) }
    return .fetched(try await FetchedJournal(from: reachable(address, options)))
  }

  /// A server listens at a port that the system chooses; nobody reaches it there.
  private static func reachable(_ address: String, _ options: SocketRemote.Options) throws -> SocketRemote {
    let remote = try SocketRemote(address, options: options)
    switch remote.endpoint {
    case .tcp(_, 0), .tls(_, 0), .ssh(_, _, 0?, _):
      throw MagicDataError(
        .notFound, "\(address) names port 0, at which nobody can be reached; name the port that the server says")
    default: return remote
    }
  }

  /// A path from the root, which the system follows as it would have followed this one: `..` behind a link is above what that
  /// leads to. `URL(fileURLWithPath:)` would strike both out of a path that does not begin at the root, and take `~` for
  /// somebody's folder.
  package static func absolute(_ path: String) -> String {
    let working = FileManager.default.currentDirectoryPath
    guard path.utf8.first != UInt8(ascii: "/"), working.hasPrefix("/") else { return path }
    // There are no links in where a process works.
    var folders = working.split(separator: "/")
    var parts = path.split(separator: "/").filter { $0 != "." }
    while parts.first == ".." {
      _ = folders.popLast()
      parts.removeFirst()
    }
    return "/" + (folders + parts).joined(separator: "/")
  }

  package static func isServer(_ address: String) -> Bool {
    scheme(of: address).map(Endpoint.schemes.contains) ?? false
  }

  private static func path(of address: String, _ role: String, _ remedy: String) throws -> String {
    guard let scheme = scheme(of: address) else { return absolute(address) }
    guard scheme == "file" else {
      throw MagicDataError(.notFound, "\(scheme): is no kind of \(role); name a \(remedy) or a file: URL")
    }
    guard let url = URL(string: address), url.host ?? "" == "" || url.host == "localhost", !url.path.isEmpty else {
      throw MagicDataError(.notFound, "\(address) is no file: URL of this machine; write file:///path/to/folder")
    }
    return absolute(url.path)
  }

  /// What stands before `://` (RFC 3986: letters, digits, `+`, `-`, `.`), or before a colon alone if it is one of ours. A
  /// folder whose name looks so is written with `./` in front.
  private static func scheme(of address: String) -> String? {
    guard let colon = address.firstIndex(of: ":") else { return nil }
    let scheme = address[..<colon].lowercased()
    guard !scheme.isEmpty, scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }) else {
      return nil
    }
    return address[colon...].hasPrefix("://") || scheme == "file" || Endpoint.schemes.contains(scheme) ? scheme : nil
  }
}
