extension Int {
  func counted(_ noun: String) -> String { "\(grouped) \(noun)\(self == 1 ? "" : "s")" }

  /// With a comma between thousands, whatever the locale.
  var grouped: String {
    var digits = Array(String(magnitude))
    for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
    return (self < 0 ? "-" : "") + String(digits)
  }

  var asBytes: String {
    switch self {
    case ..<1_000: "\(self) bytes"
    case ..<1_000_000: "\(tenths(of: 1_000)) kB"
    default: "\(tenths(of: 1_000_000)) MB"
    }
  }

  private func tenths(of unit: Int) -> String {
    let tenths = (self * 10 + unit / 2) / unit
    return "\((tenths / 10).grouped).\(tenths % 10)"
  }
}
