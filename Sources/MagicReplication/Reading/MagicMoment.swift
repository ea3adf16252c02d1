public import Foundation
internal import MagicData

/// A moment in a journal: a time of day, or a transaction.
public struct MagicMoment: Sendable, Equatable {
  enum Meaning: Sendable, Equatable {
    /// Since 1970.
    case time(Int64)
    /// A transaction of the replica whose id begins so, or of the one that is plainly meant.
    case transaction(String?, UInt64)
  }

  let meaning: Meaning

  /// What was written up to a time of day, by the clocks of those who wrote it.
  public init(_ date: Date) {
    meaning = .time(Meaning.milliseconds(of: date))
  }

  /// A transaction.
  ///
  /// - Parameter replica: its replica's id, or how that begins; `nil` for a database's own, or the only one that there is.
  public init(replica: String?, sequence: UInt64) {
    meaning = .transaction(replica, sequence)
  }

  /// A moment as people write it: `2026-01-31T12:00:00Z`, `2026-01-31 12:00`, `2026-01-31` or `2026-01` (RFC 3339, with less
  /// precision if need be, but that a year alone is a sequence; without a zone, in `timeZone`), `12:00` of this day, `today` or
  /// `yesterday` from its beginning, `2h ago` or `2h` (s, m, h, d or w, or the words), `now`, a sequence as `17`, or
  /// `1a2b3c4d:17`, as a log prints it.
  ///
  /// - Throws: `MagicDataError` with `notFound` for any other text.
  public init(_ text: String, now: Date = Date(), timeZone: TimeZone = .current) throws {
    let text = text.trimmingCharacters(in: .whitespaces)
    try Meaning.checkTransaction(text)
    guard let meaning = Meaning(text, now, timeZone) else {
      throw MagicDataError(
        .notFound,
        """
        '\(text)' is no time: write 2026-01-31T12:00:00Z or less of it, down to the month 2026-01; 12:00, today or yesterday; \
        2h ago (s, m for minutes, h, d or w); a sequence; or replica:sequence
        """)
    }
    self.meaning = meaning
  }

  /// A transaction as a log prints it, `1a2b3c4d:17`, or a sequence.
  ///
  /// - Throws: `MagicDataError` with `notFound` for any other text.
  package init(transaction text: String) throws {
    let text = text.trimmingCharacters(in: .whitespaces)
    try Meaning.checkTransaction(text)
    guard let meaning = Meaning.address(text) else {
      throw MagicDataError(.notFound, "'\(text)' is no transaction: write replica:sequence, as `log` prints it, or a sequence")
    }
    self.meaning = meaning
  }
}

extension MagicMoment.Meaning {
  /// Since 1970. A `Date` can be farther away than an integer reaches, and need not be a number.
  fileprivate static func milliseconds(of date: Date) -> Int64 {
    Int64(max(-1e15, min(1e15, (date.timeIntervalSince1970 * 1_000).rounded(.down))))
  }

  init?(_ text: String, _ now: Date, _ zone: TimeZone) {
    if text.lowercased() == "now" {
      self = .time(MagicMoment.Meaning.milliseconds(of: now))
    } else if let ago = MagicMoment.Meaning.milliseconds(ago: text) {
      self = .time(MagicMoment.Meaning.milliseconds(of: now) - ago)
    } else if let address = MagicMoment.Meaning.address(text) {
      self = address
    } else if let time = MagicMoment.Meaning.time(text, zone) ?? MagicMoment.Meaning.time(near: now, text, zone) {
      self = .time(time)
    } else {
      return nil
    }
  }

  /// A log prints what compaction has kept with the sequence 0, which no transaction has.
  fileprivate static func checkTransaction(_ text: String) throws {
    guard text.hasSuffix(":0"), address(text.dropLast() + "1") != nil else { return }
    throw MagicDataError(
      .notFound,
      "'\(text)' stands for what compact has kept, which has no transaction any more: write one with a sequence from 1")
  }

  fileprivate static func address(_ text: String) -> Self? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count <= 2, let last = parts.last, last.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let sequence = UInt64(last), 1..<(1 << 62) ~= sequence
    else { return nil }
    guard parts.count == 2 else { return .transaction(nil, sequence) }
    // Eight digits and more are a replica, and fewer a time of day.
    guard 8...32 ~= parts[0].utf8.count, parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    return .transaction(String(parts[0]), sequence)
  }

  private static let units: [(names: Set<String>, milliseconds: Int64)] = [
    (["s", "sec", "secs", "second", "seconds"], 1_000), (["m", "min", "mins", "minute", "minutes"], 60_000),
    (["h", "hour", "hours"], 3_600_000), (["d", "day", "days"], 86_400_000), (["w", "week", "weeks"], 604_800_000),
  ]

  private static func milliseconds(ago text: String) -> Int64? {
    let text = text.lowercased()
    // Without the word there is no other time that it could be: a number alone, which is a sequence, has no unit.
    let amount = text.dropLast(text.hasSuffix("ago") ? 3 : 0).filter { $0 != " " }
    let digits = amount.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits),
      let unit = units.first(where: { $0.names.contains(String(amount.dropFirst(digits.count))) })
    else { return nil }
    let (milliseconds, isOver) = number.multipliedReportingOverflow(by: unit.milliseconds)
    // Before all that there is, and what is subtracted from a time of day must not pass the end of the numbers.
    return isOver ? 1 << 60 : min(milliseconds, 1 << 60)
  }

  /// `today` and `yesterday`, which are their beginnings, and a time of this day.
  private static func time(near now: Date, _ text: String, _ zone: TimeZone) -> Int64? {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let text = text.lowercased()
    if text == "today" || text == "yesterday" {
      let today = calendar.startOfDay(for: now)
      // However long that day was.
      return milliseconds(of: text == "today" ? today : calendar.startOfDay(for: today.addingTimeInterval(-3_600)))
    }
    // 12:00, or 12:00:30.
    guard [5, 8].contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x3a).contains($0) }) else { return nil }
    let day = calendar.dateComponents([.year, .month, .day], from: now)
    guard let year = day.year, let month = day.month, let day = day.day else { return nil }
    return time(String(format: "%04d-%02d-%02dT", year, month, day) + text, zone)
  }

  /// RFC 3339, read by hand: Foundation's parsers take the machine's locale into account, and more forms than these.
  private static func time(_ text: String, _ zone: TimeZone) -> Int64? {
    var rest = Substring(text)
    func number(_ digits: Int, _ range: ClosedRange<Int>) -> Int? {
      let head = rest.prefix(digits)
      guard head.utf8.count == digits, head.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(head),
        range ~= number
      else { return nil }
      rest = rest.dropFirst(digits)
      return number
    }
    func skip(_ characters: String) -> Bool {
      guard let first = rest.first, characters.contains(first) else { return false }
      rest = rest.dropFirst()
      return true
    }
    guard let year = number(4, 1_970...9_999), skip("-"), let month = number(2, 1...12) else { return nil }
    var (day, hour, minute, second, milliseconds) = (1, 0, 0, 0, 0)
    // A month alone has nothing behind it.
    if !rest.isEmpty {
      guard skip("-"), let days = number(2, 1...31) else { return nil }
      day = days
    }
    if skip("Tt ") {
      guard let hours = number(2, 0...23) else { return nil }
      hour = hours
      let hasMinutes = skip(":")
      if hasMinutes {
        guard let minutes = number(2, 0...59) else { return nil }
        minute = minutes
      }
      if hasMinutes, skip(":") {
        // A leap second counts as the one before.
        guard let seconds = number(2, 0...60) else { return nil }
        second = min(seconds, 59)
        if skip(".") {
          let digits = rest.prefix { $0.isASCII && $0.isNumber }
          guard !digits.isEmpty, let fraction = Int((digits + "000").prefix(3)) else { return nil }
          milliseconds = fraction
          rest = rest.dropFirst(digits.count)
        }
      }
    }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    if skip("Zz") {
      calendar.timeZone = .gmt
    } else if let sign = rest.first, sign == "+" || sign == "-" {
      rest = rest.dropFirst()
      guard let hours = number(2, 0...23), skip(":") || rest.count == 2, let minutes = number(2, 0...59),
        let zone = TimeZone(secondsFromGMT: (sign == "-" ? -1 : 1) * (hours * 3_600 + minutes * 60))
      else { return nil }
      calendar.timeZone = zone
    }
    let parts = DateComponents(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    guard rest.isEmpty, let date = calendar.date(from: parts), calendar.component(.day, from: date) == day else { return nil }
    return Int64(date.timeIntervalSince1970) * 1_000 + Int64(milliseconds)
  }
}
