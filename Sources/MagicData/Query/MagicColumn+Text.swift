internal import MagicJournal

extension MagicComparable where Compared == String {
  /// Whether the text begins with these UTF-8 bytes: `"e"` is a prefix of `"e\u{301}"`. An index serves it.
  public func hasPrefix(_ prefix: String) -> MagicPredicate {
    magicReference.asks { property in
      var bounds = [Condition.Bound(.greaterOrEqual, .text(prefix))]
      if let end = prefix.endOfPrefix { bounds.append(Condition.Bound(.less, .text(end))) }
      return .compares(property, bounds)
    }
  }

  /// Whether the text ends with these UTF-8 bytes. All texts are looked through: no index serves it.
  public func hasSuffix(_ suffix: String) -> MagicPredicate {
    magicReference.asks { .hasSuffix($0, suffix) }
  }

  /// Whether these UTF-8 bytes are part of the text. All texts are looked through: no index serves it.
  public func contains(_ part: String) -> MagicPredicate {
    magicReference.asks { .contains($0, part) }
  }
}

extension String {
  /// The first text, by bytes, behind all that begin with this one; `nil` if none is. UTF-8's order is that of the code points, so it is the
  /// text with its last scalar's successor, or, where there is none, with that of the one before.
  fileprivate var endOfPrefix: String? {
    var scalars = unicodeScalars
    while let last = scalars.popLast() {
      // Surrogates are no scalars.
      guard let next = Unicode.Scalar(last.value == 0xd7ff ? 0xe000 : last.value + 1) else { continue }
      scalars.append(next)
      return String(scalars)
    }
    return nil
  }
}
