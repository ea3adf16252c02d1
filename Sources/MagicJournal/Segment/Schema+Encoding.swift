extension Schema {
  func encode(to writer: inout ByteWriter) {
    writer.varint(types.count)
    for type in types {
      writer.string(type.name.text)
      writer.byte(type.primary?.kind.rawValue ?? 0)
      if let primary = type.primary { writer.string(primary.name.text) }
      writer.varint(type.fields.count)
      for field in type.fields {
        writer.string(field.name.text)
        writer.byte(field.kind.rawValue)
      }
    }
  }

  init(from reader: inout ByteReader) throws(JournalError) {
    types = []
    var known: Set<TypeSchema.Identity> = []
    for _ in 0..<(try reader.count(of: 4, atMost: Limits.types)) {
      let start = reader
      let type = try TypeSchema(from: &reader)
      guard known.insert(type.identity).inserted else { throw start.damaged("type \(type.name) stands twice") }
      types.append(type)
    }
  }
}

extension TypeSchema {
  fileprivate init(from reader: inout ByteReader) throws(JournalError) {
    let name = try Name(from: &reader)
    let start = reader
    switch try reader.byte() {
    case 0: self.init(name: name, primary: nil)
    case 1: self.init(name: name, primary: Field(name: try Name(from: &reader), kind: .integer))
    case 3: self.init(name: name, primary: Field(name: try Name(from: &reader), kind: .text))
    case let code: throw start.damaged("a primary value is not of kind \(code)")
    }
    for _ in 0..<(try reader.count(of: 3, atMost: Limits.fieldsOfType)) {
      let start = reader
      let name = try Name(from: &reader)
      guard let kind = Value.Kind(rawValue: try reader.byte()) else { throw start.damaged("a field of an unknown kind") }
      let field = Field(name: name, kind: kind)
      guard index(of: field) == nil else { throw start.damaged("field \(name) stands twice") }
      append(field)
    }
  }
}

extension Name {
  fileprivate init(from reader: inout ByteReader) throws(JournalError) {
    let start = reader
    let text = try reader.string(atMost: Limits.nameBytes)
    do { try self.init(text) } catch { throw start.damaged(error.message) }
  }
}
