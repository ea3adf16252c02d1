internal import Foundation
package import MagicJournal

/// One entry, as it is printed.
package struct LogLine: Sendable {
  package let version: Version
  private let replica: String
  private let sequence: UInt64
  private let type: String
  private let object: String
  private let isRemove: Bool
  /// That the object has claimed.
  private let number: Int64?
  private let fields: [(name: String, value: Value)]

  package init(_ entry: Entry, of transaction: Transaction, _ schema: Schema) {
    version = transaction.version
    replica = transaction.replica.description
    sequence = transaction.sequence
    let type = schema.types[entry.type]
    self.type = type.name.text
    object = entry.key.text
    isRemove = entry.operation.isRemove
    number = entry.operation.number
    fields = entry.fields.map { (type.fields[$0.field].name.text, $0.value) }
  }

  private var operation: String { isRemove ? "remove" : "update" }

  private var time: String { version.stamp.inLog }

  package var text: String {
    let values = fields.map { "\($0.name)=\($0.value.json)" }.joined(separator: " ")
    let claim = number.map { "#\($0)" } ?? ""
    return
      "\(time)  \(replica.prefix(8)):\(sequence)  \(operation) \(type) \(object)\(claim)\(values.isEmpty ? "" : "  " + values)"
  }

  package var json: String {
    var members: [(String, String)] = [
      ("time", Value.text(time).json), ("replica", Value.text(replica).json), ("sequence", String(sequence)),
      ("type", Value.text(type).json), ("object", Value.text(object).json), ("op", Value.text(operation).json),
    ]
    if let number { members.append(("number", String(number))) }
    members.append(("fields", LogLine.object(fields.map { ($0.name, $0.value.json) })))
    return LogLine.object(members)
  }

  static func object(_ members: [(String, String)]) -> String {
    "{" + members.map { "\(Value.text($0.0).json):\($0.1)" }.joined(separator: ",") + "}"
  }
}

extension Date {
  /// UTC, to the millisecond.
  package var inLog: String {
    formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true).timeSeparator(.colon)) + "Z"
  }
}
