/// Collects transactions of one replica, in the order of their sequences, into the columns of a segment.
package struct SegmentWriter: Sendable {
  private let dataSet: DataSetID
  private let writer: ReplicaID
  private let source: Schema
  private let replica: ReplicaID
  private let first: UInt64
  private let previous: TransactionName

  private var names: [TransactionName] = []
  private var used = SegmentSchema()
  private var roots = Interned<ReplicaID>()
  private var shapes = Interned<SegmentShape>()
  private var columns = SegmentColumns<ByteWriter>()

  /// `schema` is the one that the transactions' entries speak of; what they use of it goes into the segment.
  package init(
    dataSet: DataSetID, writer: ReplicaID, schema: Schema, replica: ReplicaID, first: UInt64, previous: TransactionName
  ) {
    self.dataSet = dataSet
    self.writer = writer
    self.source = schema
    self.replica = replica
    self.first = first
    self.previous = previous
  }

  package var isEmpty: Bool { names.isEmpty }

  /// The sizes of the transactions so far: when they pass `Limits.segmentCut`, it is time for the next segment.
  private var size = 0

  package var isFull: Bool { size >= Limits.segmentCut || names.count == Limits.segmentTransactions }

  /// The transaction's sequence must be the one after the last that was added.
  package mutating func add(_ transaction: Transaction) {
    precondition(transaction.replica == replica && transaction.sequence == first + UInt64(names.count), "a segment is a run")
    let last = names.last?.stamp ?? .earliest
    columns.stamps.varint(transaction.name.stamp.bits - last.bits)
    columns.tags.fixed(transaction.name.tag)
    columns.roots.varint(roots.index(of: transaction.root))
    columns.counts.varint(transaction.entries.count)
    names.append(transaction.name)
    size += transaction.size
    for entry in transaction.entries { add(entry, of: transaction.name) }
  }

  private mutating func add(_ entry: Entry, of name: TransactionName) {
    let type = used.index(of: entry.type, in: source)
    let fields = entry.fields.map { used.index(of: $0.field, ofType: entry.type, in: source) }
    // More than this type, if fields have targets that came up with them.
    while columns.types.count < used.schema.types.count { columns.types.append(.init()) }
    // A shape's fields rise; they were numbered here in the order in which they first came up.
    let order = fields.indices.sorted { fields[$0] < fields[$1] }
    let shape = SegmentShape(type: type, operation: entry.operation.code, fields: order.map { fields[$0] })
    columns.shapes.varint(shapes.index(of: shape))
    if let base = entry.operation.base { columns.bases.varint(name.stamp.bits - base.bits) }
    columns.types[type].objects.key(entry, of: name, source.types[entry.type])
    for index in order {
      let field = fields[index]
      while columns.types[type].fields.count <= field { columns.types[type].fields.append(.init()) }
      entry.fields[index].value.encode(to: &columns.types[type].fields[field])
    }
  }

  /// The file's bytes, and what to call it.
  package func finish() throws(JournalError) -> (name: String, bytes: [UInt8]) {
    guard let last = names.last else { throw JournalError(.damaged, "a segment without transactions") }
    var body = ByteWriter()
    used.schema.encode(to: &body)
    body.varint(roots.values.count)
    for root in roots.values { root.encode(to: &body) }
    body.varint(shapes.values.count)
    for shape in shapes.values { shape.encode(to: &body) }
    for stream in columns.ordered(by: used.schema) { body.block(stream.bytes) }
    guard body.count <= Limits.segmentBytes else {
      throw JournalError(.tooLarge, "a segment's body of \(body.count) bytes is above the limit")
    }
    let stored = try Zlib.deflate(body.bytes)
    var file = ByteWriter()
    SegmentHeader(
      dataSet: dataSet, writer: writer, replica: replica, first: first, last: first + UInt64(names.count) - 1,
      previous: previous, lastName: last, bodyLength: body.count, storedLength: stored.count,
      storedChecksum: Zlib.checksum(stored[...])
    ).encode(to: &file)
    file.append(stored)
    return (Segment.name(of: names), file.bytes)
  }
}

extension ByteWriter {
  fileprivate mutating func key(_ entry: Entry, of name: TransactionName, _ type: TypeSchema) {  // S-5, S-10
    switch entry.key {
    case .primary(let value):
      value.encode(to: &self)
    case .birth(let birth) where !entry.operation.isFirst:
      if type.hasNumbers { byte(ObjectKey.birthForm) }
      varint(name.stamp.bits - birth.transaction.stamp.bits)
      fixed(birth.transaction.tag)
      varint(Int(birth.ordinal))
    case .birth:
      if let number = entry.operation.number { varint(UInt64(number)) }
    }
  }
}

/// What a transaction's entries use of a schema, numbered in the order of use.
private struct SegmentSchema: Sendable {
  var schema = Schema()
  private var types: [Int: Int] = [:]
  private var fields: [[Int: Int]] = []

  mutating func index(of type: Int, in source: Schema) -> Int {
    if let index = types[type] { return index }
    schema.types.append(TypeSchema(name: source.types[type].name, primary: source.types[type].primary))
    fields.append([:])
    types[type] = schema.types.count - 1
    return schema.types.count - 1
  }

  mutating func index(of field: Int, ofType type: Int, in source: Schema) -> Int {
    let index = index(of: type, in: source)
    if let field = fields[index][field] { return field }
    if let target = source.types[type].fields[field].target {
      guard let target = source.types.firstIndex(where: { $0.identity == target }) else {
        preconditionFailure("a schema holds the targets of its fields")
      }
      _ = self.index(of: target, in: source)
    }
    schema.types[index].append(source.types[type].fields[field])
    fields[index][field] = schema.types[index].fields.count - 1
    return schema.types[index].fields.count - 1
  }
}

/// Values numbered in the order in which they first came up.
private struct Interned<Element: Hashable & Sendable>: Sendable {
  private(set) var values: [Element] = []
  private var indexes: [Element: Int] = [:]

  mutating func index(of value: Element) -> Int {
    if let index = indexes[value] { return index }
    values.append(value)
    indexes[value] = values.count - 1
    return values.count - 1
  }
}
