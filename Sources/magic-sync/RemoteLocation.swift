import ArgumentParser
import Console
import Foundation
import MagicData
import MagicReplication
import MagicTransport

/// What a remote's address means to a command.
enum RemoteLocation: Sendable {
  case folder(FolderRemote)
  case server(SocketRemote)
  case bundle(URL)
  /// Standard input or output.
  case pipe

  /// - Parameters:
  ///   - connection: how a server is reached.
  ///   - kept: what the remote's name keeps of that.
  init(_ address: String, _ connection: ConnectionOptions? = nil, keeping kept: [String: String] = [:]) throws {
    if let option = connection?.optionForServer, !RemoteAddress.isServer(address) {
      throw ValidationError("\(option) is for a server, and \(address) is none.")
    }
    guard address != "-" else {
      self = .pipe
      return
    }
    let meant: RemoteAddress
    do {
      // A shell has put a user's folder in the place of a ~ that stands for one.
      let path = address.hasPrefix("~") ? "./\(address)" : address
      meant = try RemoteAddress(path, options: connection?.options(keeping: kept) ?? SocketRemote.Options())
    } catch let error as MagicDataError where [.notFound, .value].contains(error.code) {
      // Nothing was looked for yet: it is no address, or no fingerprint.
      throw ValidationError(error.message)
    }
    switch meant {
    case .folder(let remote):
      try RemoteLocation.checkIsOfThisMachine(address)
      self = remote.folder.pathExtension.lowercased() == "magicbundle" ? .bundle(remote.folder) : .folder(remote)
    case .server(let remote): self = .server(remote)
    }
  }

  /// As scp has it, host:path is another machine's; a folder would be made here that nobody looks for.
  private static func checkIsOfThisMachine(_ address: String) throws {
    let first = String(address.prefix { $0 != "/" })
    guard first.contains(":"), !first.lowercased().hasPrefix("file:"), !FileManager.default.fileExists(atPath: first) else {
      return
    }
    throw ValidationError(
      "there is no \(first) here. Another machine's folder is ssh://host/path, and one of this machine with a colon ./\(address)."
    )
  }

  /// As messages and `remote list` have it; to be found from any folder.
  var text: String {
    switch self {
    case .folder(let remote): remote.folder.path
    case .server(let remote): remote.address
    case .bundle(let file): file.path
    case .pipe: "-"
    }
  }

  var isThere: Bool {
    switch self {
    case .folder(let remote): remote.isThere
    // What a server has shows when it is asked.
    case .server: true
    case .bundle(let file): FileManager.default.fileExists(atPath: file.path)
    case .pipe: false
    }
  }

  /// Throws if there is nothing at either end: two names that were mistyped, or another working directory, would make two empty
  /// ones that go on well with each other.
  func checkIsNotAlone(_ database: CommandDatabase) throws {
    let isAnythingThere: Bool
    switch self {
    case .folder(let remote): isAnythingThere = FileManager.default.fileExists(atPath: remote.folder.path)
    case .server, .bundle, .pipe: isAnythingThere = isThere
    }
    guard !database.exists, !isAnythingThere else { return }
    throw MagicDataError(
      .notFound,
      """
      there is neither a database at \(database.path) nor a remote at \(text); check both paths, or begin with \
      `magic-sync init \(database.path)`
      """)
  }

  /// What `--watch` goes on with.
  func followed() throws -> any MagicReplication.Remote {
    switch self {
    case .folder(let folder): return folder
    case .server(let server): return server
    case .bundle, .pipe: throw ValidationError("--watch follows a folder or a server; a bundle does not change.")
    }
  }

  var isFolder: Bool { if case .folder = self { true } else { false } }
  var isPipe: Bool { if case .pipe = self { true } else { false } }
  var isServer: Bool { if case .server = self { true } else { false } }

  enum Use {
    case pull, push, both
  }

  /// Runs `body` so that an interruption breaks the connection to a server off, as a link does that breaks by itself: what had
  /// come stays. Else it cancels.
  func breakingOff<Result: Sendable>(
    _ body: @Sendable @escaping (RemoteLocation) async throws -> Result
  ) async throws -> Result {
    guard case .server(let remote) = self else { return try await body(self) }
    return try await remote.breakingOff { try await body(.server($0)) }
  }

  /// Runs `body` on the folder that is meant: of a bundle, on one that it is unpacked into for the time, and packed again if
  /// that grew.
  ///
  /// - Parameters:
  ///   - database: one that is there knows whether a folder that is gone was there before, so `body` is to look for that.
  ///   - magic: what `body` sends of. It is bound to a bundle's data set when that is written and nobody has it yet, so that an
  ///     error before leaves both as they were (F-11).
  func use<Result>(
    _ use: Use, for database: CommandDatabase? = nil, settling magic: MagicData? = nil,
    _ body: (any MagicReplication.Remote) async throws -> Result
  ) async throws -> Result {
    if case .server(let remote) = self { return try await body(remote) }
    if case .folder(let remote) = self, let database, !database.isNew { return try await body(remote) }
    return try await useFolder(use, settling: magic, body)
  }

  /// Runs `body`, which looks at files, on the folder that is meant, as `use` does.
  func useFolder<Result>(
    _ use: Use, settling magic: MagicData? = nil, _ body: (FolderRemote) async throws -> Result
  ) async throws -> Result {
    if case .server(let remote) = self {
      throw ValidationError("\(remote.address) is a server, whose files are not to be seen from here; verify them there.")
    }
    if case .folder(let remote) = self {
      if use == .pull { try remote.check() }
      return try await body(remote)
    }
    let lock = try await lock(use)
    let scratch = try ScratchFolder("bundle")
    defer { withExtendedLifetime((lock, scratch)) {} }
    let folder = scratch.url.appendingPathComponent("remote", isDirectory: true)
    let remote = FolderRemote(folder, isForTheTime: true)
    let name = isPipe ? "the bundle" : text
    do {
      let wasThere = try unpack(into: remote, use)
      let before = try remote.fileNames()
      let result = try await body(remote)
      guard use != .pull else { return result }
      func bind() async throws {
        if let magic { try await remote.settle(magic) }
      }
      if try isPipe || !wasThere || remote.fileNames() != before { try await pack(remote, bind) } else { try await bind() }
      return result
    } catch let error as MagicDataError {
      if error.code == .full, error.message.contains(folder.path) { throw scratch.isFull(for: name, cause: error) }
      // It speaks of a folder that nobody knows.
      throw MagicDataError(error.code, error.message.replacingOccurrences(of: folder.path, with: name), cause: error.cause)
    }
  }

  /// Locks a bundle that may be written anew: what another process adds meanwhile would be lost with the file that is replaced
  /// (B-4). `nil` where nobody here can write one.
  private func lock(_ use: Use) async throws -> FileLock? {
    guard case .bundle(let file) = self, use != .pull else { return nil }
    let parent = file.deletingLastPathComponent()
    guard FileManager.default.fileExists(atPath: parent.path) else {
      throw MagicDataError(.notFound, "there is no folder \(parent.path); make it first")
    }
    let place = file.linked
    guard access(place.deletingLastPathComponent().path, W_OK) == 0 else { return nil }
    return try await FileLock(
      beside: place, "another process is writing to \(file.path); try again when it is done")
  }

  private func unpack(into remote: FolderRemote, _ use: Use) throws -> Bool {
    switch self {
    case .bundle(let file):
      guard FileManager.default.fileExists(atPath: file.path) else {
        guard use != .pull else { throw MagicDataError(.notFound, "there is no bundle \(file.path)") }
        return false
      }
      try BundleFile.unpack(file, into: remote)
      return true
    case .pipe where use == .pull:
      try BundleFile.unpack("standard input", .standardInput, into: remote)
      return true
    default:
      return false
    }
  }

  /// - Parameter bind: runs before anybody takes what is packed.
  private func pack(_ remote: FolderRemote, _ bind: () async throws -> Void) async throws {
    if case .bundle(let file) = self { return try await BundleFile.write(remote, to: file, bind) }
    let end = try BundleFile.writeParts(of: remote) { try LineWriter.write($0, to: STDOUT_FILENO) }
    try await bind()
    try LineWriter.write(end, to: STDOUT_FILENO)
  }
}
