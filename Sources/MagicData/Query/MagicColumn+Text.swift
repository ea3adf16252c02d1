internal import MagicJournal

extension MagicComparable where Compared == String {
  /// Whether the text is this one but for what the options pass over. All texts are looked through: no index serves it, if
  /// there are options.
  public func equals(_ text: String, options: MagicTextOptions) -> MagicPredicate {
    options.isEmpty ? magicReference.condition(.equal, text) : matches(.whole, text, options)
  }

  /// Whether the text begins with these UTF-8 bytes: `"e"` is a prefix of `"e\u{301}"`. An index serves it, if there are no
  /// options.
  public func hasPrefix(_ prefix: String, options: MagicTextOptions = []) -> MagicPredicate {
    guard options.isEmpty else { return matches(.beginning, prefix, options) }
    return magicReference.asks { property in
      var bounds = [Condition.Bound(.greaterOrEqual, .text(prefix))]
      if let end = prefix.endOfPrefix { bounds.append(Condition.Bound(.less, .text(end))) }
      return .compares(property, bounds)
    }
  }

  /// Whether the text ends with these UTF-8 bytes. All texts are looked through: no index serves it.
  public func hasSuffix(_ suffix: String, options: MagicTextOptions = []) -> MagicPredicate {
    matches(.end, suffix, options)
  }

  /// Whether these UTF-8 bytes are part of the text. All texts are looked through: no index serves it.
  public func contains(_ part: String, options: MagicTextOptions = []) -> MagicPredicate {
    matches(.anywhere, part, options)
  }

  private func matches(_ place: TextMatch.Place, _ part: String, _ options: MagicTextOptions) -> MagicPredicate {
    let match = TextMatch(place, part, options)
    return magicReference.asks { .matches($0, match) }
  }
}

extension String {
  /// The first text, by bytes, behind all that begin with this one; `nil` if none is. UTF-8's order is that of the code points,
  /// so it is the text with its last scalar's successor, or, where there is none, with that of the one before.
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
