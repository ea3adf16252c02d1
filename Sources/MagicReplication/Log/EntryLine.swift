internal import MagicJournal

/// Writes entries as lines, for people or programs. What many lines have in common is worked out once.
struct EntryLine: Sendable {
  private let isJSON: Bool
  /// What the lines of a transaction begin with, and whose it is.
  private var head = ByteWriter()
  private var told: (name: TransactionName, replica: ReplicaID, sequence: UInt64)?
  private var second: Int64 = -1
  /// The text of that second, up to its milliseconds.
  private var time: [UInt8] = []
  private var replica: ReplicaID?
  private var replicaText: [UInt8] = []
  private var shortReplica: [UInt8] = []

  init(isJSON: Bool) {
    self.isJSON = isJSON
  }

  /// Adds an entry's line, without its end. As an object it is what Protocol/output.md says.
  mutating func write(_ entry: some EntryView, of transaction: Transaction, _ schema: SourceSchema, to writer: inout ByteWriter)
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

/// Lines that are not written yet, in memory that is used again and again.
struct EntryPage: EntryTaker {
  private var line: EntryLine
  private var bytes = ByteWriter()
  private let atOnce: Int
  /// What most lines have room in.
  private static let lineBytes = 256
  private let write: @Sendable ([UInt8]) throws -> Void

  /// - Parameters:
  ///   - atOnce: so many bytes are written together.
  ///   - write: takes whole lines.
  init(isJSON: Bool, atOnce: Int, _ write: @Sendable @escaping ([UInt8]) throws -> Void) {
    line = EntryLine(isJSON: isJSON)
    (self.atOnce, self.write) = (atOnce, write)
  }

  mutating func take(_ entry: some EntryView, of transaction: Transaction, _ schema: SourceSchema) throws {
    line.write(entry, of: transaction, schema, to: &bytes)
    bytes.byte(UInt8(ascii: "\n"))
    if bytes.count >= atOnce { try finish() }
  }

  /// Whole lines.
  mutating func prepared(_ part: ReadPart, _ schema: SourceSchema) -> [UInt8]? {
    var lines = ByteWriter()
    lines.reserve(EntryPage.lineBytes * part.count)
    let head = part.head
    func add(_ entry: some EntryView) {
      line.write(entry, of: head, schema, to: &lines)
      lines.byte(UInt8(ascii: "\n"))
    }
    switch part {
    case .made(let transaction): for entry in transaction.entries { add(entry) }
    case .encoded(let transaction): transaction.entries.forEachEntry { add($0) }
    }
    return lines.bytes
  }

  mutating func take(_ lines: [UInt8]) throws {
    guard bytes.count + lines.count >= atOnce else { return bytes.append(lines) }
    try finish()
    try write(lines)
  }

  mutating func finish() throws {
    defer { bytes.removeAll() }
    try write(bytes.bytes)
  }
}

extension ByteWriter {
  fileprivate mutating func text(_ entry: some EntryView, _ schema: SourceSchema) {
    let type = schema.types[entry.type]
    append(type[entry.listed].text)
    entry.write(keyAs: false, to: &self)
    if let number = entry.number {
      byte(UInt8(ascii: "#"))
      decimal(number)
    }
    let count = entry.fieldCount
    if count > 0 { byte(UInt8(ascii: " ")) }
    for index in 0..<count {
      append(type.fields[entry.field(at: index)].text)
      entry.write(valueAt: index, to: &self)
    }
  }

  fileprivate mutating func object(_ entry: some EntryView, _ schema: SourceSchema) {
    let type = schema.types[entry.type]
    append(type[entry.listed].json)
    entry.write(keyAs: true, to: &self)
    append(type[entry.listed].operation)
    if let number = entry.number {
      append(",\"number\":")
      decimal(number)
    }
    append(",\"fields\":{")
    for index in 0..<entry.fieldCount {
      if index > 0 { byte(UInt8(ascii: ",")) }
      append(type.fields[entry.field(at: index)].json)
      entry.write(valueAt: index, to: &self)
    }
    append("}}")
  }
}
