internal import MagicJournal

extension ByteWriter {
  /// A JSON string. Control characters are escaped, those beyond ASCII too, so that a terminal shows them and does nothing.
  mutating func quoted(_ text: String) {
    var text = text
    text.withUTF8 { quoted(UnsafeRawBufferPointer($0)) }
  }

  /// Writes UTF-8 as a quoted text.
  mutating func quoted(_ bytes: UnsafeRawBufferPointer) {
    byte(UInt8(ascii: "\""))
    var (start, index) = (0, bytes.special(from: 0))
    while index < bytes.count {
      let value = bytes[index]
      if value == 0xc2, bytes[index + 1] >= 0xa0 {
        index = bytes.special(from: index + 1)
        continue
      }
      append(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
      if value == UInt8(ascii: "\"") || value == UInt8(ascii: "\\") {
        byte(UInt8(ascii: "\\"))
        start = index
        index += 1
      } else {
        append("\\u00")
        append([value == 0xc2 ? bytes[index + 1] : value].hexadecimal.utf8)
        index += value == 0xc2 ? 2 : 1
        start = index
      }
      index = bytes.special(from: index)
    }
    append(UnsafeRawBufferPointer(rebasing: bytes[start...]))
    byte(UInt8(ascii: "\""))
  }

  /// Text on a terminal: as it is, or, if it has control characters or none at all, as a JSON string.
  mutating func printable(_ text: String) {
    var text = text
    text.withUTF8 { printable(UnsafeRawBufferPointer($0)) }
  }

  /// Writes UTF-8 as a terminal may get it.
  mutating func printable(_ bytes: UnsafeRawBufferPointer) {
    // Quotation marks are plain here; few texts have any.
    let isPlain = bytes.special(from: 0) == bytes.count || bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != 0xc2 }
    if isPlain, !bytes.isEmpty { append(bytes) } else { quoted(bytes) }
  }

  /// A UUID's text.
  mutating func uuid(_ high: UInt64, _ low: UInt64, _ isQuoted: Bool) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: UUIDText.length) { digits in
      UUIDText.write(high, low, to: digits)
      isQuoted ? quoted(UnsafeRawBufferPointer(digits)) : append(UnsafeRawBufferPointer(digits))
    }
  }

  mutating func decimal(_ number: some FixedWidthInteger) {
    var rest = UInt64(number.magnitude)
    // Most are short.
    if rest < 10, number >= 0 { return byte(UInt8(ascii: "0") + UInt8(rest)) }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var place = digits.count
      repeat {
        place -= 1
        digits[place] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      if number < 0 { byte(UInt8(ascii: "-")) }
      append(UnsafeBufferPointer(rebasing: digits[place...]))
    }
  }

  /// UTC, to the millisecond, as RFC 3339.
  mutating func time(_ milliseconds: Int64) {
    second(milliseconds / 1_000)
    thousandths(milliseconds % 1_000)
  }

  /// What comes before the milliseconds.
  mutating func second(_ seconds: Int64) {
    let (day, rest) = (seconds / 86_400, seconds % 86_400)
    // The civil calendar of days (https://howardhinnant.github.io/date_algorithms.html); stamps are not before 1970.
    let shifted = day + 719_468
    let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
    pair(year / 100 % 100)
    pair(year % 100)
    byte(UInt8(ascii: "-"))
    pair(month < 10 ? month + 3 : month - 9)
    byte(UInt8(ascii: "-"))
    pair(dayOfYear - (153 * month + 2) / 5 + 1)
    byte(UInt8(ascii: "T"))
    pair(rest / 3_600)
    byte(UInt8(ascii: ":"))
    pair(rest / 60 % 60)
    byte(UInt8(ascii: ":"))
    pair(rest % 60)
    byte(UInt8(ascii: "."))
  }

  /// The rest of a time.
  mutating func thousandths(_ milliseconds: Int64) {
    byte(UInt8(ascii: "0") + UInt8(milliseconds / 100))
    pair(milliseconds % 100)
    byte(UInt8(ascii: "Z"))
  }

  /// Two digits.
  private mutating func pair(_ number: Int64) {
    byte(UInt8(ascii: "0") + UInt8(number / 10))
    byte(UInt8(ascii: "0") + UInt8(number % 10))
  }
}

extension UnsafeRawBufferPointer {
  /// The place of the first byte, from one on, that may have to be escaped in a JSON string: below 20, `"`, `\`, 7F, and C2,
  /// with which U+0080 to U+009F begin.
  fileprivate func special(from start: Int) -> Int {
    var index = start
    // Eight at a time: each line is not 0 where such a byte is, and maybe above it, but not below.
    while index + 8 <= count {
      let word = UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let found =
        (word &- 0x20 &* ones) & ~word | zeros(word ^ (0x22 &* ones)) | zeros(word ^ (0x5c &* ones))
        | zeros(word ^ (0x7f &* ones)) | zeros(word ^ (0xc2 &* ones))
      if found & highs != 0 { return index + (found & highs).trailingZeroBitCount / 8 }
      index += 8
    }
    while index < count {
      switch self[index] {
      case ..<0x20, 0x22, 0x5c, 0x7f, 0xc2: return index
      default: index += 1
      }
    }
    return index
  }

  private var ones: UInt64 { 0x0101_0101_0101_0101 }
  private var highs: UInt64 { 0x8080_8080_8080_8080 }
  private func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }
}

extension Stamp {
  /// UTC.
  package var inLog: String {
    var writer = ByteWriter()
    writer.time(milliseconds)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
