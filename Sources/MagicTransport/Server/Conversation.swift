/// Who is here, and what may be asked.
struct Conversation: Sendable {
  let hello: Hello
  let holder: Tokens.Holder

  /// What a frame takes.
  ///
  /// - Throws: if the token does not give it.
  func right(to kind: Frame.Kind) throws(WireError) -> Rights {
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
