internal import Foundation
internal import MagicData
internal import MagicJournal

/// Reads an export line by line (Protocol/export.md).
final class ExportReader {
  let dataSet: DataSetID
  /// The clock of its source, in milliseconds; 0 if the first line has none.
  let clock: Int64
  private(set) var schema = Schema()
  private var fieldCount = 0
  private let path: String
  private let troubles: ReadProblems
  private let file: FileHandle
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  private var line = 0
  private var transactions = 0
  /// The last version of the transactions that were read.
  private var lastVersion: Version?
  private var lasts: [ReplicaID: (sequence: UInt64, stamp: Stamp)] = [:]
  private var isOver = false
  /// By the names that lines have for them.
  private var types: [JSONName: Int] = [:]
  private var fields: [[JSONName: Int]] = []

  /// One transaction has to fit (J-20), and JSON takes more room than bytes.
  private static let lineLimit = 1 << 29

  /// Reads the first line.
  init(_ file: URL, _ troubles: ReadProblems) throws {
    path = file.path
    self.troubles = troubles
    do {
      self.file = try FileHandle(forReadingFrom: file)
    } catch {
      throw MagicDataError(.notAllowed, "\(file.path) could not be opened", cause: error)
    }
    var (buffer, start, isAtEnd) = ([UInt8](), 0, false)
    guard let first = try ExportReader.line(self.file, &buffer, &start, &isAtEnd), first.starts(with: ExportFormat.mark),
      let header = try? JSONValue(first), let format = header["format"]?.integer
    else { throw MagicDataError(.damaged, "\(file.path), line 1: this is no export of a journal") }
    guard format == ExportFormat.format else {
      throw MagicDataError(.incompatible, "\(file.path) is an export of format \(format), which this version does not know")
    }
    guard let dataSet = header["dataSet"]?.text.flatMap({ Identifier($0) }) else {
      throw MagicDataError(.damaged, "\(file.path), line 1: it lacks the 32 digits of its data set")
    }
    let clock = header["clock"]?.integer ?? 0
    (self.dataSet, self.clock) = (dataSet, 0...Stamp.latest.milliseconds ~= clock ? clock : 0)
    (self.buffer, self.start, self.isAtEnd, line) = (buffer, start, isAtEnd, 1)
  }

  deinit { try? file.close() }

  /// `nil` at the end, or before what cannot be read.
  func next() throws -> Transaction? {
    guard !isOver else { return nil }
    do {
      while let text = try ExportReader.line(file, &buffer, &start, &isAtEnd) {
        line += 1
        guard !ExportReader.isBlank(text[...]) else { continue }
        let object: JSONValue
        do { object = try JSONValue(text) } catch let error as JSONValue.Failure {
          throw damaged("\(error.message), at its byte \(error.offset)")
        }
        guard object.members != nil else { throw damaged("this is no object") }
        if let type = object["type"] {
          try learn(type)
        } else if let transaction = object["transaction"] {
          transactions += 1
          return try inOrder(read(transaction))
        } else if let end = object["end"] {
          guard end["transactions"]?.integer == Int64(transactions) else { throw damaged("transactions are missing before it") }
          try checkIsLast()
          isOver = true
          return nil
        }
        // other lines are for others.
      }
      line += 1
      throw damaged("the export ends without its last line; it was cut")
    } catch let error as MagicDataError {
      isOver = true
      troubles.add(UnreadFile(path: path, code: error.code, message: error.message + ". What follows was not read"))
      return nil
    }
  }

  /// that nothing follows but lines that mean nothing.
  private func checkIsLast() throws {
    while let text = try ExportReader.line(file, &buffer, &start, &isAtEnd) {
      line += 1
      guard ExportReader.isBlank(text[...]) else { throw damaged("something follows the last line") }
    }
    line += 1
    // What no line feed ends.
    guard ExportReader.isBlank(buffer[start...]) else { throw damaged("something follows the last line") }
  }

  ///
  private static func isBlank(_ text: ArraySlice<UInt8>) -> Bool {
    text.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }
  }

  private func damaged(_ what: String) -> MagicDataError { MagicDataError(.damaged, "\(path), line \(line): \(what)") }

  /// The next line without its end; `nil` after the last one.
  private static func line(
    _ file: FileHandle, _ buffer: inout [UInt8], _ start: inout Int, _ isAtEnd: inout Bool
  ) throws -> [UInt8]? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return Array(buffer[start..<end])
      }
      searched = buffer.count - start
      buffer.removeFirst(start)
      start = 0
      guard !isAtEnd, buffer.count < lineLimit, let more = try file.read(upToCount: 1 << 18), !more.isEmpty else {
        isAtEnd = true
        return nil
      }
      buffer += more
    }
  }

  // MARK: Schema

  ///
  private func learn(_ line: JSONValue) throws {
    guard let id = line["id"]?.name, let name = line["name"]?.text.flatMap({ try? Name($0) }) else {
      throw damaged("a type lacks its name")
    }
    guard let newFields = line.listed(in: "fields") else { throw damaged("type \(id.text) has fields that are no array") }
    let known = types[id]
    if known == nil {
      var primary: TypeSchema.Field?
      if let field = line["primary"], field != .null {
        guard let name = field["name"]?.text.flatMap({ try? Name($0) }), let kind = kind(field["kind"]),
          kind == .integer || kind == .text
        else { throw damaged("type \(id.text) has a primary value that is none") }
        primary = .init(name: name, kind: kind)
      }
      let type = TypeSchema(name: name, primary: primary)
      guard schema.types.count < Limits.types, !schema.types.contains(where: { $0.identity == type.identity }) else {
        throw damaged("type \(id.text) stands twice, or there are too many")
      }
      types[id] = schema.types.count
      schema.types.append(type)
      fields.append([:])
    }
    guard let index = types[id] else { return }
    for field in newFields {
      guard let key = field["id"]?.name, let name = field["name"]?.text.flatMap({ try? Name($0) }),
        let kind = kind(field["kind"])
      else {
        throw damaged("a field of type \(id.text) lacks its name or kind")
      }
      guard fields[index][key] == nil else { continue }
      var target: TypeSchema.Identity?
      if kind.isRelation {
        guard let type = field["target"]?.name.flatMap({ types[$0] }) else {
          throw damaged("field \(key.text) of type \(id.text) leads to a type that no line before has")
        }
        target = schema.types[type].identity
      }
      let stored = TypeSchema.Field(name: name, kind: kind, target: target)
      guard schema.types[index].index(of: stored) == nil, schema.types[index].fields.count < Limits.fieldsOfType,
        fieldCount < Limits.fields
      else {
        throw damaged("field \(key.text) of type \(id.text) stands twice, or there are too many")
      }
      fieldCount += 1
      fields[index][key] = schema.types[index].fields.count
      schema.types[index].append(stored)
    }
  }

  private func kind(_ name: JSONValue?) -> Value.Kind? {
    ExportFormat.kinds.first { $0.name == name?.text }?.kind
  }

  // MARK: Transactions

  ///
  private func read(_ line: JSONValue) throws -> Transaction {
    func stamp(_ text: JSONValue?) -> Stamp? {
      text?.text.flatMap { UInt64(exported: $0) }.map { Stamp($0) }.flatMap { $0 > .earliest && $0 <= .latest ? $0 : nil }
    }
    guard let replica = line["replica"]?.text.flatMap({ Identifier($0) }),
      let sequence = line["sequence"]?.exportedInteger, 1..<Int64(Limits.sequence) ~= sequence,
      let stamp = stamp(line["stamp"]),
      let tag = line["tag"]?.integer.flatMap({ UInt32(exactly: $0) }),
      let root = line["root"]?.text.flatMap({ Identifier($0) }),
      let lines = line["entries"]?.elements, 1...Limits.entries ~= lines.count
    else { throw damaged("a transaction lacks replica, sequence, stamp, tag, root or entries, or has one that is none") }
    let name = TransactionName(stamp: stamp, tag: tag)
    var (entries, size): ([Entry], Int) = ([], 0)
    var spoken: Set<TypedKey> = []
    for (ordinal, line) in lines.enumerated() {
      let entry = try read(line, UInt32(ordinal), name)
      size += entry.size
      guard entry.isPossible(at: ordinal, of: name), spoken.insert(TypedKey(type: entry.type, key: entry.key)).inserted,
        size <= Limits.transactionBytes
      else { throw damaged("entry \(ordinal) cannot stand in its transaction") }
      entries.append(entry)
    }
    return Transaction(replica: replica, sequence: UInt64(sequence), name: name, root: root, entries: entries)
  }

  ///
  private func inOrder(_ transaction: Transaction) throws -> Transaction {
    let (version, last) = (transaction.version, lasts[transaction.replica])
    guard lastVersion.map({ $0 <= version }) ?? true,
      last.map({ $0.sequence < transaction.sequence && $0.stamp < version.stamp }) ?? true
    else {
      throw damaged(
        "transaction \(transaction.replica):\(transaction.sequence) stands after one that it comes before, or twice")
    }
    lastVersion = version
    lasts[transaction.replica] = (transaction.sequence, version.stamp)
    return transaction
  }

  ///
  private func read(_ line: JSONValue, _ ordinal: UInt32, _ name: TransactionName) throws -> Entry {
    guard let type = line["type"]?.name.flatMap({ types[$0] }) else {
      throw damaged("entry \(ordinal) is of a type that no line before has")
    }
    let wrong = damaged("entry \(ordinal) lacks its op, object, base or number, or has one that is none")
    let number = line["number"]?.exportedInteger
    let base = line["base"]?.text.flatMap { UInt64(exported: $0) }.map { Stamp($0) }
    guard line["number"] == nil || number != nil, line["base"] == nil || base != nil else { throw wrong }
    let operation: Entry.Operation
    switch line["op"]?.text.flatMap({ name in ExportFormat.operations.first { $0.name == name }?.code }) {
    case .remove: operation = .remove
    case .update: operation = .update
    case .revival:
      guard let base else { throw wrong }
      operation = .revival(base: base)
    case .birth: operation = .birth
    case .claim:
      guard let number else { throw wrong }
      operation = .claim(number: number)
    case .withdrawal:
      guard let number else { throw wrong }
      operation = .withdrawal(number: number)
    case .purge:
      guard let base else { throw wrong }
      operation = .purge(base: base)
    case nil: throw wrong
    }
    let key = operation.isFirst ? .birth(Birth(transaction: name, ordinal: ordinal)) : line["object"]?.exportedKey
    guard let key, key.isReadable, key.fits(schema.types[type].identity), operation.fits(schema.types[type]) else {
      throw wrong
    }
    guard let members = line.named(in: "fields") else { throw damaged("entry \(ordinal) has fields that are no object") }
    var values: [FieldValue] = []
    for (id, value) in members {
      guard let field = fields[type][id], let value = checked(value, schema.types[type].fields[field]) else {
        throw damaged("entry \(ordinal) has a value of \(id.text) that is none")
      }
      values.append(FieldValue(field: field, value: value))
    }
    values.sort { $0.field < $1.field }
    let slots = Set(values.map { schema.types[type].slots[$0.field] })
    guard slots.count == values.count else {
      throw damaged("entry \(ordinal) has values for two fields of one name, of which one alone can be set at a time")
    }
    guard values.isEmpty || !operation.isRemove else { throw damaged("entry \(ordinal) is a remove and has values") }
    return Entry(type: type, key: key, operation: operation, fields: values)
  }

  /// What every decoder would take.
  private func checked(_ value: JSONValue, _ field: TypeSchema.Field) -> Value? {
    guard let value = value.exported(field.kind), value.fits(field) else { return nil }
    var reader = ByteReader(value.encoded)
    return (try? Value(from: &reader)) == value ? value : nil
  }
}

/// The transactions of an export, of all its replicas in one.
final class ExportCursor: TransactionCursor {
  private let reader: ExportReader
  private let window: JournalWindow
  private var schema = SourceSchema(Schema())

  init(_ reader: ExportReader, _ window: JournalWindow) {
    (self.reader, self.window) = (reader, window)
  }

  func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    while let transaction = try reader.next() {
      // the order is theirs.
      if let until = window.until, transaction.name.stamp > until { return nil }
      if let since = window.since, transaction.name.stamp < since { continue }
      guard window.has(transaction.replica), transaction.sequence > window.after[transaction.replica] else { continue }
      if schema.schema != reader.schema { schema = SourceSchema(reader.schema) }
      return (transaction, schema)
    }
    return nil
  }
}
