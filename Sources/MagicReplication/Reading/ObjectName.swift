internal import MagicJournal

/// What a person calls an object: its primary value, number or birth, as a log prints it.
struct ObjectName: Sendable {
  let text: String
  let number: Int64?
  let birth: Birth?

  init(_ text: String) {
    self.text = text
    number = Int64(text)
    // Behind a birth a log prints the number that the object claims.
    let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let isBirth = parts.count == 1 || Int64(parts[1]) != nil
    birth = isBirth ? [UInt8](hexadecimal: parts[0].lowercased()).flatMap { try? Birth(bytes: $0) } : nil
  }

  /// Whether it is the object's identity. A number that an object claims is none.
  func isIdentity(_ key: ObjectKey) -> Bool {
    switch key {
    case .primary(.text(let text)): text.utf8.elementsEqual(self.text.utf8)
    case .primary(.integer(let number)): number == self.number
    case .primary: false
    case .birth(let birth): birth == self.birth
    }
  }
}
