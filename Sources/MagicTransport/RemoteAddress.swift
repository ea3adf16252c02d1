internal import Foundation
internal import MagicData
public import MagicReplication

/// A remote's address as people write it: a folder's path, or a URL.
public enum RemoteAddress {
  /// What can be written before the colon, and what cannot be yet.
  private static let planned: Set<String> = ["tcp", "tls", "unix", "ssh"]

  /// The remote at an address. Nothing is read or made yet.
  ///
  /// - Parameter address: a folder's path, or a `file:` URL.
  /// - Throws: `MagicDataError` with `notFound` for an address of another kind.
  public static func remote(at address: String) throws -> FolderRemote {
    guard !address.isEmpty else { throw MagicDataError(.notFound, "the remote's address is empty; name a folder") }
    return FolderRemote(URL(fileURLWithPath: try path(of: address, "remote", "folder"), isDirectory: true))
  }

  /// What a journal is read from: whatever lies at a path or a `file:` URL. This is the one place where URLs of other kinds are refused.
  ///
  /// - Throws: `MagicDataError` with `notFound` if there is nothing, or for an address of another kind.
  package static func source(at address: String) throws -> JournalSource {
    guard !address.isEmpty else {
      throw MagicDataError(.notFound, "the source's address is empty; name a database, a file or a folder")
    }
    return try JournalSource(at: path(of: address, "source", "database, a file, a folder"))
  }

  private static func path(of address: String, _ role: String, _ remedy: String) throws -> String {
    guard let scheme = scheme(of: address) else { return address }
    guard scheme == "file" else {
      throw MagicDataError(
        .notFound,
        planned.contains(scheme)
          ? "\(scheme): \(role)s are not in this version; name a \(remedy) or a file: URL"
          : "\(scheme): is no kind of \(role); name a \(remedy) or a file: URL")
    }
    guard let url = URL(string: address), url.host ?? "" == "" || url.host == "localhost", !url.path.isEmpty else {
      throw MagicDataError(.notFound, "\(address) is no file: URL of this machine; write file:///path/to/folder")
    }
    return url.path
  }

  /// What stands before `://` (RFC 3986: letters, digits, `+`, `-`, `.`), or before a colon alone if it is one of ours. A folder whose name
  /// looks so is written with `./` in front.
  private static func scheme(of address: String) -> String? {
    guard let colon = address.firstIndex(of: ":") else { return nil }
    let scheme = address[..<colon].lowercased()
    guard !scheme.isEmpty, scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }) else {
      return nil
    }
    return address[colon...].hasPrefix("://") || scheme == "file" || planned.contains(scheme) ? scheme : nil
  }
}
