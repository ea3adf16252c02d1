/// What entries of one kind have in common: type, operation, fields. An entry names its shape by a number.
struct SegmentShape: Hashable, Sendable {
  var type: Int
  var operation: UInt8
  var fields: [Int]

  func encode(to writer: inout ByteWriter) {
    writer.varint(type)
    writer.byte(operation)
    guard !SegmentShape.isRemove(operation) else { return }
    writer.varint(fields.count)
    for field in fields { writer.varint(field) }
  }

  /// Whether an entry's object is named by its own place.
  static func isFirst(_ operation: UInt8) -> Bool { operation >= 3 }

  private static func isRemove(_ operation: UInt8) -> Bool { operation == 0 || operation == 5 }

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
    let example: Entry.Operation =
      switch operation {
      case 0, 1, 2: .update
      case 3: .birth
      case 4, 5: .claim(number: 1)
      default: throw start.damaged("there is no operation \(operation)")
      }
    guard example.fits(schema.types[type]) else {
      throw start.damaged("objects of type \(schema.types[type].name) have no operation \(operation)")
    }
    guard !SegmentShape.isRemove(operation) else { return }
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
