/// A client that has said who it is, and what it may ask.
struct ClientIdentity: Sendable {
  let hello: Hello
  let holder: Tokens.Holder
  /// Those of the server, as they are by now.
  let tokens: Reloading<Tokens>?

  /// What a frame takes.
  ///
  /// - Throws: if the token does not give it, or is not what it was when the client came (W-3).
  func right(to kind: Frame.Kind) throws(WireError) -> Rights {
    if let tokens {
      guard let known = tokens.current.holder(of: hello.token) else {
        throw WireError(.token, "the token is not known here any more")
      }
      guard known == holder else { throw WireError(.busy, "the token's name or rights were changed; connect again") }
    }
    let needed: Rights =
      switch kind {
      case .pull, .fetch, .watch, .digest: .read
      case .make, .segment, .checkpoint, .members, .settle, .store: .write
      default: []
      }
    guard holder.rights.isSuperset(of: needed) else {
      throw WireError(.notAllowed, "the token of \(holder.name) has no right to \(needed == .read ? "read" : "write")")
    }
    return needed
  }
}
