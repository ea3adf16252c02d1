extension Sequence<UInt8> {
  /// Two lower-case digits a byte.
  package var hexadecimal: String {
    let bytes = Array(self)
    return String(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
      for index in 0..<bytes.count {
        digits[2 * index] = Digit.of(bytes[index] >> 4)
        digits[2 * index + 1] = Digit.of(bytes[index] & 15)
      }
      return digits.count
    }
  }
}

extension [UInt8] {
  /// `nil` unless `text` is lower-case digits, two a byte.
  package init?(hexadecimal text: some StringProtocol) {
    let bytes = text.withDigits { digits -> [UInt8]? in
      guard digits.count.isMultiple(of: 2) else { return nil }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(digits.count / 2)
      for index in 0..<digits.count / 2 {
        guard let high = Digit.value(digits[2 * index]), let low = Digit.value(digits[2 * index + 1]) else { return nil }
        bytes.append(high << 4 | low)
      }
      return bytes
    }
    guard let bytes else { return nil }
    self = bytes
  }
}

extension UInt64 {
  /// 16 hexadecimal digits, as names and texts have a sequence.
  package var digits: String { withUnsafeBytes(of: bigEndian) { $0.hexadecimal } }

  package init?(digits text: some StringProtocol) {
    guard let number = text.withDigits({ $0.count == 16 ? UInt64(of: $0, from: 0) : nil }) else { return nil }
    self = number
  }

  /// Reads 16 digits from `start` on.
  fileprivate init?(of digits: UnsafeBufferPointer<UInt8>, from start: Int) {
    var number: UInt64 = 0
    for index in start..<start + 16 {
      guard let value = Digit.value(digits[index]) else { return nil }
      number = number << 4 | UInt64(value)
    }
    self = number
  }
}

extension Identifier {
  /// `nil` unless `text` is 32 lower-case digits.
  package init?(_ text: some StringProtocol) {
    let halves = text.withDigits { digits -> (UInt64, UInt64)? in
      guard digits.count == 32, let high = UInt64(of: digits, from: 0), let low = UInt64(of: digits, from: 16) else {
        return nil
      }
      return (high, low)
    }
    guard let halves else { return nil }
    self.init(halves.0, halves.1)
  }

  /// Whether it begins with these digits, in either case.
  package func begins(with digits: String) -> Bool { description.hasPrefix(digits.lowercased()) }
}

extension StringProtocol {
  /// Its UTF-8, without a copy if possible: there are many names of files and acknowledgements.
  fileprivate func withDigits<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    utf8.withContiguousStorageIfAvailable(body) ?? Array(utf8).withUnsafeBufferPointer(body)
  }
}

private enum Digit {
  static func of(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }

  static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
