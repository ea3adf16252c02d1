/// What a text is to be, or to have as a part.
struct TextMatch: Sendable {
  enum Place: Sendable {
    case whole, beginning, end, anywhere
  }

  let place: Place
  let options: MagicTextOptions
  /// As it compares.
  let part: String

  init(_ place: Place, _ part: String, _ options: MagicTextOptions) {
    self.place = place
    self.options = options
    self.part = options.folded(part)
  }

  /// By bytes.
  func holds(_ text: String) -> Bool {
    let (text, part) = (Array(options.folded(text).utf8), Array(part.utf8))
    return switch place {
    case .whole: text == part
    case .beginning: text.starts(with: part)
    case .end: text.reversed().starts(with: part.reversed())
    case .anywhere:
      part.count <= text.count && (0...(text.count - part.count)).contains { text[$0..<($0 + part.count)] == part[...] }
    }
  }
}
