/// What entries of one kind have in common: type, operation, fields. An entry names its shape by a number.
struct SegmentShape: Hashable, Sendable {
  var type: Int
  var operation: Entry.Operation.Code
  var fields: [Int]

  func encode(to writer: inout ByteWriter) {
    writer.varint(type)
    writer.byte(operation.rawValue)
    guard !operation.isRemove else { return }
    writer.varint(fields.count)
    for field in fields { writer.varint(field) }
  }

  init(type: Int, operation: Entry.Operation.Code, fields: [Int]) {
    self.type = type
    self.operation = operation
    self.fields = fields
  }

  init(from reader: inout ByteReader, _ schema: Schema) throws(JournalError) {
    type = try reader.index(below: schema.types.count, "type")
    let start = reader
    let code = try reader.byte()
    guard let operation = Entry.Operation.Code(rawValue: code) else { throw start.damaged("there is no operation \(code)") }
    self.operation = operation
    fields = []
    let example: Entry.Operation = operation.isClaim ? .claim(number: 1) : operation.isFirst ? .birth : .update
    guard example.fits(schema.types[type]) else {
      throw start.damaged("objects of type \(schema.types[type].name) have no operation \(operation)")
    }
    guard !operation.isRemove else { return }
    for _ in 0..<(try reader.count()) {
      let field = try reader.index(below: schema.types[type].fields.count, "field")
      guard fields.last.map({ $0 < field }) ?? true else { throw reader.damaged("a shape's fields do not rise") }
      fields.append(field)
    }
    guard Set(fields.map { schema.types[type].slots[$0] }).count == fields.count else {
      throw reader.damaged("a shape has two fields of one name")
    }
  }
}
