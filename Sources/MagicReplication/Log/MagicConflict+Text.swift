internal import Foundation
internal import MagicJournal

extension MagicConflict {
  package var text: String {
    let what = "\(type) \(Value.text(object).shownText)" + (property.map { ".\($0)" } ?? "")
    return "\(won.time.inLog)  \(what)  \(side(won, removal == .won)) won over \(side(lost, removal == .lost))"
  }

  private func side(_ side: Side, _ isRemove: Bool) -> String {
    let sequence = side.sequence.map { ":\($0)" } ?? ""
    return "\(side.value ?? (isRemove ? "remove" : "update")) of \(side.replica.prefix(8))\(sequence)"
  }
}

extension MagicConflict: Encodable {
  private enum Key: String, CodingKey {
    case type, object, property, removal, lost, won
  }

  /// The contract of Protocol/output.md.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(type, forKey: .type)
    try container.encode(object, forKey: .object)
    try container.encodeIfPresent(property, forKey: .property)
    try container.encodeIfPresent(removal?.rawValue, forKey: .removal)
    try container.encode(lost, forKey: .lost)
    try container.encode(won, forKey: .won)
  }
}

extension MagicConflict.Side: Encodable {
  private enum Key: String, CodingKey {
    case replica, sequence, time, value
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(replica, forKey: .replica)
    try container.encodeIfPresent(sequence, forKey: .sequence)
    try container.encode(time.inLog, forKey: .time)
    try container.encodeIfPresent(value, forKey: .value)
  }
}

extension Date {
  /// UTC, to the millisecond. Times in a journal are not before 1970.
  package var inLog: String {
    Stamp(UInt64(max(0, (timeIntervalSince1970 * 1_000).rounded())) << 16).inLog
  }
}
