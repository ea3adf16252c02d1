package import Foundation
package import Logging
internal import MagicData
package import MagicJournal

/// Who may come in (W-3).
package struct Tokens: Sendable {
  package struct Holder: Sendable, Equatable {
    /// For logs, and for who owns a replica id; not the token.
    package let name: String
    package let rights: Rights
  }

  private struct Token: Sendable {
    let hash: [UInt8]
    let holder: Holder
  }

  private let tokens: [Token]

  /// - Parameter file: a token a line, alone or followed by a name and `read`, `write` or `readwrite`.
  package init(_ file: URL) throws {
    var (tokens, names) = ([Token](), Set<String>())
    for (number, words) in try SecretFile.lines(file).enumerated() {
      let hash = SHA256.hash(Array(words[0].utf8))
      let holder: Holder
      switch words.count {
      case 1: holder = Holder(name: "token-\(hash.prefix(4).hexadecimal)", rights: [.read, .write])
      case 3:
        guard let rights = Tokens.rights[words[2]] else { fallthrough }
        holder = Holder(name: words[1], rights: rights)
      default:
        throw MagicDataError(
          .value, "\(file.path), token \(number + 1): write TOKEN, or TOKEN NAME and one of read, write and readwrite")
      }
      guard words[0].utf8.count <= WireLimits.tokenBytes, names.insert(holder.name).inserted,
        !tokens.contains(where: { $0.hash == hash })
      else {
        throw MagicDataError(.value, "\(file.path), token \(number + 1): it is too long, or stands twice, or its name does")
      }
      tokens.append(Token(hash: hash, holder: holder))
    }
    guard !tokens.isEmpty else { throw MagicDataError(.value, "\(file.path) holds no token, so nobody could come in") }
    self.tokens = tokens
  }

  /// One that is taken out lets nobody in from then on.
  static func renewed(_ file: URL, _ logger: Logger) throws -> Reloading<Tokens> {
    try Reloading(of: [file], logger, ("the tokens were read anew", "the tokens that were read before hold on")) {
      try Tokens(file)
    }
  }

  private static let rights: [String: Rights] = ["read": .read, "write": .write, "readwrite": [.read, .write]]

  var names: Set<String> { Set(tokens.map(\.holder.name)) }

  /// All are compared, and all bytes of each: time tells nothing.
  package func holder(of token: [UInt8]) -> Holder? {
    let hash = SHA256.hash(token)
    var found: Holder?
    for candidate in tokens {
      var difference: UInt8 = 0
      for (one, other) in zip(candidate.hash, hash) { difference |= one ^ other }
      if difference == 0 { found = candidate.holder }
    }
    return found
  }
}

/// Which replica ids are whose (W-4), kept beside the file of the tokens. Servers that share that file share this one.
package final class Owners: Sendable {
  private struct Known {
    var owners: [ReplicaID: String] = [:]
    /// The file that said so.
    var file: OpenFile.State?
    /// Whether that had something in it, and is there no more.
    var isGone = false
  }

  private let file: URL
  private let logger: Logger?
  private let known = Locked(Known())
  /// Held by who writes the file, for as long as a disk takes. Who only looks does not wait for that.
  private let writing = NSLock()

  package init(besides tokens: URL, _ logger: Logger? = nil) throws {
    self.logger = logger
    file = tokens.appendingPathExtension("replicas")
    try known.withLock { try look(&$0) }
  }

  /// The file's, `nil` if there is none.
  ///
  /// - Throws: if nobody can tell: what somebody owns must not look like nobody's, and be written so.
  private func stateThere() throws -> OpenFile.State? {
    if let state = OpenFile.State(of: file) { return state }
    var status = stat()
    // It may have come meanwhile.
    if lstat(file.path, &status) == 0 { return try stateThere() }
    guard errno == ENOENT else { throw DurableFile.failure("cannot be looked at", file) }
    return nil
  }

  /// Reads the file, unless it is the one that was read. Of one that is gone what it said holds on.
  private func look(_ known: inout Known) throws {
    let state = try stateThere()
    if state == nil, !known.owners.isEmpty {
      if !known.isGone { logger?.error("\(file.path) is gone: no more replica ids become anybody's until it is put back") }
      known.isGone = true
      return
    }
    known.isGone = false
    guard state != known.file else { return }
    var owners: [ReplicaID: String] = [:]
    for words in state == nil ? [] : try SecretFile.lines(file, atMost: Owners.maxBytes) {
      guard words.count == 2, let replica = Identifier(words[0]) else {
        throw MagicDataError(.damaged, "\(file.path) is damaged: each line has a replica id and a name")
      }
      owners[replica] = words[1]
    }
    known = Known(owners: owners, file: state)
  }

  private static let maxBytes = 1 << 28

  package func isOthers(_ replica: ReplicaID, than name: String) throws -> Bool {
    try known.withLock { known in
      try look(&known)
      return known.owners[replica].map { $0 != name } ?? false
    }
  }

  /// The names of all who own something.
  func names() throws -> Set<String> {
    try known.withLock { known in
      try look(&known)
      return Set(known.owners.values)
    }
  }

  /// All that are somebody else's.
  package func others(than name: String) throws -> Set<ReplicaID> {
    try known.withLock { known in
      try look(&known)
      return Set(known.owners.lazy.filter { $0.value != name }.map(\.key))
    }
  }

  /// Who owns what, as the file has it.
  private func owners() throws -> [ReplicaID: String] {
    try known.withLock { known in
      try look(&known)
      return known.owners
    }
  }

  /// Who owns what, for who is to add something.
  ///
  /// - Throws: `MagicDataError` with `busy` if the file is gone.
  private func ownersToWrite() throws -> [ReplicaID: String] {
    let owners = try owners()
    guard !known.withLock({ $0.isGone }) else {
      throw MagicDataError(.busy, "\(file.path) is gone; put it back, or restart the server if it is meant to be gone")
    }
    return owners
  }

  /// Waits until no other server writes the file. Neither it nor that of the tokens is locked: both are replaced, and who comes
  /// then would lock another one.
  private func locked<Result>(_ body: () throws -> Result) throws -> Result {
    let lock = file.deletingLastPathComponent().appendingPathComponent(".\(file.lastPathComponent).lock")
    let descriptor = open(lock.path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw DurableFile.failure("could not be opened", lock) }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw DurableFile.failure("could not be locked", lock) }
    }
    return try body()
  }

  /// Waits for a disk, and for others who do.
  ///
  /// - Returns: `false` if it is somebody else's.
  /// - Throws: `WireError` if the token has as many as it gets; `MagicDataError` with `busy` if the file is gone.
  package func claim(_ replica: ReplicaID, for name: String) throws -> Bool {
    if let owner = try owners()[replica] { return owner == name }
    return try writing.withLock {
      try locked {
        var owners = try ownersToWrite()
        if let owner = owners[replica] { return owner == name }
        // Others' tokens, and the file, are not touched by what one does.
        guard owners.values.count(where: { $0 == name }) < WireLimits.idsOfToken else {
          throw WireError(
            .notAllowed,
            """
            the token of \(name) has \(WireLimits.idsOfToken) replica ids, and gets no more; the server's file of replica ids, \
            beside that of its tokens, has them, and those that nobody uses may be taken out of it
            """)
        }
        owners[replica] = name
        let lines = owners.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }
        try DurableFile.write(Array(lines.joined().utf8), to: file, mode: 0o600)
        known.withLock { $0 = Known(owners: owners, file: OpenFile.State(of: file)) }
        return true
      }
    }
  }
}
