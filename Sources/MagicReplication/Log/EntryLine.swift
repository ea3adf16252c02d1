package import MagicJournal

/// Writes entries as lines, for people or programs. What many lines have in common is worked out once.
package struct EntryLine: Sendable {
  private let isJSON: Bool
  /// What the lines of a transaction begin with, and whose it is.
  private var head = ByteWriter()
  private var told: (name: TransactionName, replica: ReplicaID, sequence: UInt64)?
  private var second: Int64 = -1
  /// Of that second, up to its milliseconds.
  private var time: [UInt8] = []
  private var replica: ReplicaID?
  private var replicaText: [UInt8] = []
  private var shortReplica: [UInt8] = []

  package init(isJSON: Bool) {
    self.isJSON = isJSON
  }

  /// Adds an entry's line, without its end. As an object it is what Protocol/output.md says.
  package mutating func write(_ entry: Entry, of transaction: Transaction, _ schema: SourceSchema, to writer: inout ByteWriter)
  {
    begin(transaction)
    writer.append(head.bytes)
    if isJSON { writer.object(entry, schema) } else { writer.text(entry, schema) }
  }

  private mutating func begin(_ transaction: Transaction) {
    if let told, told.name == transaction.name, told.sequence == transaction.sequence, told.replica == transaction.replica {
      return
    }
    told = (transaction.name, transaction.replica, transaction.sequence)
    if replica != transaction.replica {
      replica = transaction.replica
      replicaText = Array(transaction.replica.description.utf8)
      shortReplica = Array(replicaText[..<8])
    }
    let milliseconds = transaction.name.stamp.milliseconds
    if milliseconds / 1_000 != second {
      second = milliseconds / 1_000
      var writer = ByteWriter()
      writer.second(second)
      time = writer.bytes
    }
    head.removeAll()
    if isJSON { head.append("{\"event\":\"entry\",\"time\":\"") }
    head.append(time)
    head.thousandths(milliseconds % 1_000)
    if isJSON {
      head.append("\",\"replica\":\"")
      head.append(replicaText)
      head.append("\",\"sequence\":")
    } else {
      head.append("  ")
      head.append(shortReplica)
      head.byte(UInt8(ascii: ":"))
    }
    head.decimal(transaction.sequence)
  }
}

extension ByteWriter {
  fileprivate mutating func text(_ entry: Entry, _ schema: SourceSchema) {
    let type = schema.types[entry.type]
    append(entry.operation.isRemove ? type.remove.text : type.update.text)
    if case .primary(.text(let text)) = entry.key { printable(text) } else { printable(entry.key.text) }
    if let number = entry.operation.number {
      byte(UInt8(ascii: "#"))
      decimal(number)
    }
    if !entry.fields.isEmpty { byte(UInt8(ascii: " ")) }
    for field in entry.fields {
      append(type.fields[field.field].text)
      field.value.write(json: &self)
    }
  }

  fileprivate mutating func object(_ entry: Entry, _ schema: SourceSchema) {
    let type = schema.types[entry.type]
    append(entry.operation.isRemove ? type.remove.json : type.update.json)
    quoted(entry.key.text)
    append(entry.operation.isRemove ? ",\"op\":\"remove\"" : ",\"op\":\"update\"")
    if let number = entry.operation.number {
      append(",\"number\":")
      decimal(number)
    }
    append(",\"fields\":{")
    var isFirst = true
    for field in entry.fields {
      if !isFirst { byte(UInt8(ascii: ",")) }
      isFirst = false
      append(type.fields[field.field].json)
      field.value.write(json: &self)
    }
    append("}}")
  }
}
