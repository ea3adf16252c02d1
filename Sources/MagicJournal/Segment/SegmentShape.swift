/// What entries of one kind have in common: type, operation, fields. An entry names its shape by a number.
struct SegmentShape: Hashable, Sendable {
  var type: Int
  var operation: UInt8
  var fields: [Int]

  func encode(to writer: inout ByteWriter) {
    writer.varint(type)
    writer.byte(operation)
    guard operation != Entry.Operation.remove.code else { return }
    writer.varint(fields.count)
    for field in fields { writer.varint(field) }
  }

  init(type: Int, operation: UInt8, fields: [Int]) {
    self.type = type
    self.operation = operation
    self.fields = fields
  }

  init(from reader: inout ByteReader, _ schema: Schema) throws(JournalError) {
    type = try reader.index(below: schema.types.count, "type")
    let start = reader
    operation = try reader.byte()
    fields = []
    guard operation <= Entry.Operation.birth.code else { throw start.damaged("there is no operation \(operation)") }
    guard operation != Entry.Operation.birth.code || schema.types[type].primary == nil else {
      throw start.damaged("a birth of a type with a primary value")
    }
    guard operation != Entry.Operation.remove.code else { return }
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
