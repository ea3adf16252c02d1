/// What a service that carries a folder leaves for a file until it is downloaded, as iCloud does (F-3).
enum Placeholder {
  private static let (start, end) = (".", ".icloud")

  static func name(for file: String) -> String { start + file + end }

  /// Which file it stands for; `nil` for what is none.
  static func file(of name: String) -> String? {
    guard name.hasPrefix(start), name.hasSuffix(end), name.utf8.count > start.utf8.count + end.utf8.count else { return nil }
    return String(name.dropFirst(start.count).dropLast(end.count))
  }
}
