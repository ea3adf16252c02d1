extension Int {
  package func counted(_ noun: String, _ nouns: String? = nil) -> String {
    "\(grouped) \(self == 1 ? noun : nouns ?? noun + "s")"
  }

  /// So many segments, and checkpoints if there are any.
  package func countedSegments(and checkpoints: Int) -> String {
    let segments = self > 0 || checkpoints == 0 ? [counted("segment")] : []
    return (segments + (checkpoints > 0 ? [checkpoints.counted("checkpoint")] : [])).joined(separator: " and ")
  }

  /// With a comma between thousands, whatever the locale.
  package var grouped: String {
    var digits = Array(String(magnitude))
    for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
    return (self < 0 ? "-" : "") + String(digits)
  }

  package var asBytes: String {
    switch self {
    case ..<1_000: "\(self) bytes"
    case ..<1_000_000: "\(tenths(of: 1_000)) kB"
    default: "\(tenths(of: 1_000_000)) MB"
    }
  }

  private func tenths(of unit: Int) -> String {
    let (whole, rest) = quotientAndRemainder(dividingBy: unit)
    let tenths = whole * 10 + (rest * 10 + unit / 2) / unit
    return "\((tenths / 10).grouped).\(tenths % 10)"
  }
}
