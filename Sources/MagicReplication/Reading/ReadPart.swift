internal import MagicJournal

/// A transaction as a source hands it out, or a part of a large one.
enum ReadPart: Sendable {
  case made(Transaction)
  /// As a segment has it: its values need not be made for who looks at them once.
  case encoded(EncodedTransaction)

  /// Whose entries these are; it may lack them.
  var head: Transaction {
    switch self {
    case .made(let transaction): transaction
    case .encoded(let transaction): transaction.head
    }
  }

  var count: Int {
    switch self {
    case .made(let transaction): transaction.entries.count
    case .encoded(let transaction): transaction.entries.count
    }
  }

  /// A measure of its memory: one for each entry, and one for every 128 bytes of decoded values.
  var weight: Int {
    switch self {
    case .made(let transaction):
      transaction.entries.reduce(transaction.entries.count) { sum, entry in
        sum + entry.fields.reduce(0) { $0 + $1.value.length } / 128
      }
    case .encoded(let transaction): transaction.entries.count + transaction.entries.madeBytes / 128
    }
  }
}

/// An entry for who looks at it, made or as it stands in a segment.
protocol EntryView {
  var type: Int { get }
  var code: Entry.Operation.Code { get }
  var operation: Entry.Operation { get }
  /// The number that is claimed.
  var number: Int64? { get }
  var fieldCount: Int { get }
  func field(at index: Int) -> Int

  /// The hash of the object's key.
  func hash(seed: UInt64) -> UInt64
  var keyLength: Int { get }
  func length(ofValueAt index: Int) -> Int
  /// The value if it is of objects.
  func relation(at index: Int) -> Value?

  /// The object's key as text: in quotation marks, or only where a terminal needs them.
  func write(keyAs isQuoted: Bool, to writer: inout ByteWriter)
  /// A value as JSON.
  func write(valueAt index: Int, to writer: inout ByteWriter)

  func made() -> Entry
}

extension EntryView {
  /// As a log has it.
  var listed: MagicHistory.Operation { MagicHistory.Operation(code) }
}

extension Entry: EntryView {
  var code: Entry.Operation.Code { operation.code }
  var number: Int64? { operation.number }
  var fieldCount: Int { fields.count }
  func field(at index: Int) -> Int { fields[index].field }

  func hash(seed: UInt64) -> UInt64 { key.hash(seed: seed) }
  var keyLength: Int { key.encodedLength }
  func length(ofValueAt index: Int) -> Int { fields[index].value.encodedLength }
  func relation(at index: Int) -> Value? { fields[index].value }

  func write(keyAs isQuoted: Bool, to writer: inout ByteWriter) {
    // The text itself, and no copy.
    if case .primary(.text(let text)) = key {
      isQuoted ? writer.quoted(text) : writer.printable(text)
    } else {
      isQuoted ? writer.quoted(key.text) : writer.printable(key.text)
    }
  }

  func write(valueAt index: Int, to writer: inout ByteWriter) { fields[index].value.write(json: &writer) }

  func made() -> Entry { self }
}

extension EncodedEntry: EntryView {
  func relation(at index: Int) -> Value? {
    if case .relation(let value) = value(at: index) { value } else { nil }
  }

  func write(keyAs isQuoted: Bool, to writer: inout ByteWriter) {
    switch key {
    case .primary(.text(let text)): isQuoted ? writer.quoted(text) : writer.printable(text)
    case .primary(.uuid(let high, let low)): writer.uuid(high, low, isQuoted)
    case .primary(.integer(let number)) where !isQuoted: writer.decimal(number)
    default:
      let text = objectKey.text
      isQuoted ? writer.quoted(text) : writer.printable(text)
    }
  }

  func write(valueAt index: Int, to writer: inout ByteWriter) {
    switch value(at: index) {
    case .relation(let value): value.write(json: &writer)
    case .encoded(.null): writer.append("null")
    case .encoded(.integer(let number)): writer.decimal(number)
    case .encoded(.text(let text)): writer.quoted(text)
    case .encoded(.uuid(let high, let low)): writer.uuid(high, low, true)
    case .encoded(let value): Value(value).write(json: &writer)
    }
  }
}
