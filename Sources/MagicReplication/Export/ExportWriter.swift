internal import MagicData
package import MagicJournal

/// Writes a journal as lines of JSON (Protocol/export.md).
package struct ExportWriter: Sendable {
  private var known = Schema()
  /// By type and field of `known`: what lines call them.
  private var types: [[UInt8]] = []
  private var fields: [[[UInt8]]] = []
  private var transactions = 0
  private var writer = ByteWriter()
  private var source: SourceSchema?
  private var learnt: [(type: Int, fields: [Int])] = []

  package init() {}

  /// - Parameter clock: that of the source, in milliseconds, if it is ahead of the time of day.
  package func header(_ dataSet: DataSetID, clock: Int64? = nil) -> [UInt8] {
    let clock = clock.map { ",\"clock\":\($0)" } ?? ""
    return ExportFormat.mark + Array("\"format\":\(ExportFormat.format),\"dataSet\":\"\(dataSet)\"\(clock)}".utf8)
  }

  package func end() -> [UInt8] { Array("{\"end\":{\"transactions\":\(transactions)}}".utf8) }

  /// The lines of a transaction: of what it needs of the schema, if it is the first that does, and its own.
  package mutating func lines(_ transaction: Transaction, _ schema: SourceSchema, _ line: ([UInt8]) throws -> Void) rethrows {
    if source !== schema { try learn(schema, line) }
    transactions += 1
    writer.removeAll()
    writer.append("{\"transaction\":{\"replica\":\"\(transaction.replica)\",\"sequence\":".utf8)
    writer.exported(integer: Int64(transaction.sequence))
    writer.append(",\"time\":\"\(transaction.name.stamp.inLog)\",\"stamp\":\"\(transaction.name.stamp.bits)\"".utf8)
    writer.append(",\"tag\":\(transaction.name.tag),\"root\":\"\(transaction.root)\",\"entries\":[".utf8)
    for (index, entry) in transaction.entries.enumerated() {
      if index > 0 { writer.byte(UInt8(ascii: ",")) }
      write(entry)
    }
    writer.append("]}}".utf8)
    try line(writer.bytes)
  }

  private mutating func write(_ entry: Entry) {
    let (type, ids) = learnt[entry.type]
    writer.append("{\"type\":".utf8)
    writer.append(types[type])
    writer.append(",\"op\":\"\(ExportFormat.operations[Int(entry.operation.code.rawValue)].name)\"".utf8)
    if !entry.operation.isFirst {
      writer.append(",\"object\":".utf8)
      writer.exported(entry.key)
    }
    if let base = entry.operation.base { writer.append(",\"base\":\"\(base.bits)\"".utf8) }
    if let number = entry.operation.number {
      writer.append(",\"number\":".utf8)
      writer.exported(integer: number)
    }
    if !entry.fields.isEmpty {
      writer.append(",\"fields\":{".utf8)
      for (index, field) in entry.fields.enumerated() {
        if index > 0 { writer.byte(UInt8(ascii: ",")) }
        writer.append(fields[type][ids[field.field]])
        writer.byte(UInt8(ascii: ":"))
        writer.exported(field.value)
      }
      writer.byte(UInt8(ascii: "}"))
    }
    writer.byte(UInt8(ascii: "}"))
  }

  /// Says what is new in a schema: first the types, since fields lead to types.
  private mutating func learn(_ source: SourceSchema, _ line: ([UInt8]) throws -> Void) rethrows {
    self.source = source
    learnt = source.schema.types.map { type in
      if let index = known.types.firstIndex(where: { $0.identity == type.identity }) { return (index, []) }
      known.types.append(TypeSchema(name: type.name, primary: type.primary))
      types.append(free(type.name, types))
      fields.append([])
      return (known.types.count - 1, [])
    }
    for (number, type) in source.schema.types.enumerated() where learnt[number].type >= announced {
      try line(self.line(learnt[number].type, type, []))
    }
    announced = known.types.count
    for (number, type) in source.schema.types.enumerated() {
      let index = learnt[number].type
      var added: [Int] = []
      learnt[number].fields = type.fields.map { field in
        if let known = known.types[index].index(of: field) { return known }
        added.append(known.types[index].fields.count)
        fields[index].append(free(field.name, fields[index]))
        known.types[index].append(field)
        return known.types[index].fields.count - 1
      }
      if !added.isEmpty { try line(self.line(index, type, added)) }
    }
  }

  /// How many types lines have told of.
  private var announced = 0

  private func free(_ name: Name, _ taken: [[UInt8]]) -> [UInt8] {
    func quoted(_ text: String) -> [UInt8] { Array(Value.quoted(text).utf8) }
    if !taken.contains(quoted(name.text)) { return quoted(name.text) }
    var number = 2
    while taken.contains(quoted("\(name.text)~\(number)")) { number += 1 }
    return quoted("\(name.text)~\(number)")
  }

  private func line(_ index: Int, _ type: TypeSchema, _ added: [Int]) -> [UInt8] {
    var writer = ByteWriter()
    writer.append("{\"type\":{\"id\":".utf8)
    writer.append(types[index])
    writer.append(",\"name\":".utf8)
    writer.quoted(type.name.text)
    if let primary = type.primary {
      writer.append(",\"primary\":{\"name\":".utf8)
      writer.quoted(primary.name.text)
      writer.append(",\"kind\":\"\(ExportFormat.name(of: primary.kind))\"}".utf8)
    }
    writer.append(",\"fields\":[".utf8)
    for (place, field) in added.enumerated() {
      let stored = known.types[index].fields[field]
      writer.append((place == 0 ? "{\"id\":" : ",{\"id\":").utf8)
      writer.append(fields[index][field])
      writer.append(",\"name\":".utf8)
      writer.quoted(stored.name.text)
      writer.append(",\"kind\":\"\(ExportFormat.name(of: stored.kind))\"".utf8)
      if let target = stored.target.flatMap({ target in known.types.firstIndex { $0.identity == target } }) {
        writer.append(",\"target\":".utf8)
        writer.append(types[target])
      }
      writer.byte(UInt8(ascii: "}"))
    }
    writer.append("]}}".utf8)
    return writer.bytes
  }
}

extension JournalSource {
  /// Writes what a window of the journal holds as lines of JSON.
  package func export(
    _ selection: LogSelection, _ line: @Sendable @escaping ([UInt8]) throws -> Void
  ) async throws -> (transactions: Int, report: MagicReadReport) {
    let surroundings = database?.store.surroundings ?? .system
    let (count, report) = try await OpenJournal.read([self], isSentOn: true) { journal, checkCancelled in
      var (writer, count) = (ExportWriter(), 0)
      var window = try selection.window(journal)
      // What is imported is merged, so it has to have passed its check (S-1).
      (window.salvages, window.last) = (false, nil)
      if let givenUp = journal.givenUp {
        throw MagicDataError(
          .notFound,
          """
          history up to \(givenUp.inLog) was given up by compact, and an export has whole transactions alone; push to a bundle, which holds all that is left
          """)
      }
      // Of a file so damaged that nobody knows its data set nothing follows, but the first line.
      var chance = Chance(surroundings)
      let dataSet = try journal.dataSet() ?? DataSetID.random(using: &chance)
      let isAhead = journal.clock > surroundings.milliseconds()
      try journal.checkIsOne(window)
      try line(writer.header(dataSet, clock: isAhead ? journal.clock : nil))
      try journal.forEachTransaction(window) { transaction, schema in
        try checkCancelled()
        count += 1
        try writer.lines(transaction, schema, line)
      }
      try journal.checkIsOne(window)
      try line(writer.end())
      return count
    }
    return (count, report)
  }
}
