/// Collects transactions into the columns of a body: of a segment, or of a checkpoint's part.
struct BodyWriter: Sendable {
  private let source: Schema
  /// Whether it is a checkpoint's, whose transactions are of several replicas and have lost entries (K-11).
  private let isKept: Bool
  private var lastStamp = Stamp.earliest
  private var used = SegmentSchema()
  private var roots = Interned<ReplicaID>()
  private var shapes = Interned<SegmentShape>()
  private var columns = SegmentColumns<ByteWriter>()
  /// The shape of the entry before; the next one mostly has the same.
  private var alike = Alike()
  /// The sizes of the transactions so far: when they pass `Limits.segmentCut`, it is time for the next body.
  private(set) var size = 0

  init(_ schema: Schema, isKept: Bool = false) {
    source = schema
    self.isKept = isKept
  }

  var isFull: Bool { size >= Limits.segmentCut }
  var isEmpty: Bool { size == 0 }

  mutating func add(_ part: TransactionPart) {
    let transaction = part.transaction
    if part.isFirst {
      columns.stamps.varint(transaction.name.stamp.bits - lastStamp.bits)
      columns.tags.fixed(transaction.name.tag)
      columns.roots.varint(roots.index(of: transaction.root))
      columns.counts.varint(part.count)
      lastStamp = transaction.name.stamp
    }
    size += transaction.size
    for entry in transaction.entries { add(entry, of: transaction.name) }
  }

  private mutating func add(_ entry: Entry, of name: TransactionName) {
    if !alike.fits(entry) { alike = number(entry) }
    let type = alike.shape.type
    columns.shapes.varint(alike.number)
    if let base = entry.operation.base { columns.bases.varint(name.stamp.bits - base.bits) }
    if isKept, entry.operation.isFirst, case .birth(let birth) = entry.key {
      columns.types[type].objects.varint(Int(birth.ordinal))
    }
    columns.types[type].objects.key(entry, of: name, source.types[entry.type])
    for (index, field) in zip(alike.order, alike.shape.fields) {
      entry.fields[index].value.encode(to: &columns.types[type].fields[field])
    }
  }

  private mutating func number(_ entry: Entry) -> Alike {
    let type = used.index(of: entry.type, in: source)
    let fields = entry.fields.map { used.index(of: $0.field, ofType: entry.type, in: source) }
    // More than this type, if fields have targets that came up with them.
    while columns.types.count < used.schema.types.count { columns.types.append(.init()) }
    while columns.types[type].fields.count < used.schema.types[type].fields.count { columns.types[type].fields.append(.init()) }
    // A shape's fields rise; they were numbered here in the order in which they first came up.
    let order = fields.indices.sorted { fields[$0] < fields[$1] }
    let shape = SegmentShape(type: type, operation: entry.operation.code, fields: order.map { fields[$0] })
    return Alike(
      type: entry.type, fields: entry.fields.map(\.field), shape: shape, order: order, number: shapes.index(of: shape))
  }

  func finish() throws(JournalError) -> [UInt8] {
    var body = ByteWriter()
    used.schema.encode(to: &body)
    body.varint(roots.values.count)
    for root in roots.values { root.encode(to: &body) }
    body.varint(shapes.values.count)
    for shape in shapes.values { shape.encode(to: &body) }
    let streams = columns.ordered
    body.reserve(streams.reduce(0) { $0 + ByteWriter.length(ofVarint: UInt64($1.count)) + $1.count })
    for stream in streams { body.block(stream.bytes) }
    guard body.count <= Limits.segmentBytes else {
      throw JournalError(.tooLarge, "a body of \(body.count) bytes is above the limit")
    }
    return body.bytes
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

/// Entries of one shape, as the source has them.
private struct Alike: Sendable {
  private var type = -1
  private var fields: [Int] = []
  private(set) var shape = SegmentShape(type: 0, operation: .remove, fields: [])
  /// Where the values of the shape's fields are in the entry.
  private(set) var order: [Int] = []
  /// The shape's number.
  private(set) var number = 0

  /// Fits no entry.
  init() {}

  init(type: Int, fields: [Int], shape: SegmentShape, order: [Int], number: Int) {
    (self.type, self.fields, self.shape, self.order, self.number) = (type, fields, shape, order, number)
  }

  func fits(_ entry: Entry) -> Bool {
    entry.type == type && entry.operation.code == shape.operation && entry.fields.count == fields.count
      && entry.fields.indices.allSatisfy { entry.fields[$0].field == fields[$0] }
  }
}

/// What a transaction's entries use of a schema, numbered in the order of use. Of a field the other kinds that it was ever
/// stored in come along: an older app that knows no other than these finds its own in a data set that only newer ones have
/// written to (H-24).
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
    let number = schema.types[index].fields.count - 1
    fields[index][field] = number
    let (own, all) = (source.types[type].fields[field].name, source.types[type].fields)
    for other in all.indices where all[other].name == own { _ = self.index(of: other, ofType: type, in: source) }
    return number
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
