package import MagicJournal

/// Writes entries as lines, for people or programs. What many lines have in common is worked out once.
package struct EntryLine: Sendable {
  private var writer = ByteWriter()
  private var millisecond: Int64 = -1
  private var time: [UInt8] = []
  private var replica: ReplicaID?
  private var replicaText: [UInt8] = []

  package init() {}

  /// The next line's bytes, without its end.
  package mutating func text(_ entry: Entry, of transaction: Transaction, _ schema: SourceSchema) -> [UInt8] {
    prepare(transaction)
    let type = schema.schema.types[entry.type]
    writer.append(time)
    writer.append("  ".utf8)
    writer.append(replicaText[..<8])
    writer.byte(UInt8(ascii: ":"))
    writer.decimal(transaction.sequence)
    writer.append((entry.operation.isRemove ? "  remove " : "  update ").utf8)
    writer.append(type.name.text.utf8)
    writer.byte(UInt8(ascii: " "))
    writer.printable(entry.key.text)
    if let number = entry.operation.number {
      writer.byte(UInt8(ascii: "#"))
      writer.decimal(number)
    }
    for (index, field) in entry.fields.enumerated() {
      writer.append((index == 0 ? "  " : " ").utf8)
      writer.append(type.fields[field.field].name.text.utf8)
      writer.byte(UInt8(ascii: "="))
      field.value.write(json: &writer)
    }
    return writer.bytes
  }

  /// The same as an object (Protocol/output.md).
  package mutating func json(_ entry: Entry, of transaction: Transaction, _ schema: SourceSchema) -> [UInt8] {
    prepare(transaction)
    writer.append("{\"event\":\"entry\",\"time\":\"".utf8)
    writer.append(time)
    writer.append("\",\"replica\":\"".utf8)
    writer.append(replicaText)
    writer.append("\",\"sequence\":".utf8)
    writer.decimal(transaction.sequence)
    writer.append(",\"type\":".utf8)
    writer.append(schema.typeNames[entry.type])
    writer.append(",\"object\":".utf8)
    writer.quoted(entry.key.text)
    writer.append((entry.operation.isRemove ? ",\"op\":\"remove\"" : ",\"op\":\"update\"").utf8)
    if let number = entry.operation.number {
      writer.append(",\"number\":".utf8)
      writer.decimal(number)
    }
    writer.append(",\"fields\":{".utf8)
    let names = schema.fieldNames[entry.type]
    for (index, field) in entry.fields.enumerated() {
      if index > 0 { writer.byte(UInt8(ascii: ",")) }
      writer.append(names[field.field])
      field.value.write(json: &writer)
    }
    writer.append("}}".utf8)
    return writer.bytes
  }

  private mutating func prepare(_ transaction: Transaction) {
    writer.removeAll()
    let milliseconds = transaction.name.stamp.milliseconds
    if milliseconds != millisecond {
      millisecond = milliseconds
      writer.time(milliseconds)
      time = writer.bytes
      writer.removeAll()
    }
    if replica != transaction.replica {
      replica = transaction.replica
      replicaText = Array(transaction.replica.description.utf8)
    }
  }
}

extension ByteWriter {
  /// Text on a terminal: as it is, or, if it has control characters or none at all, as a JSON string.
  mutating func printable(_ text: String) {
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != 0xc2 }
    if isPlain { append(text.utf8) } else { quoted(text) }
  }
}
