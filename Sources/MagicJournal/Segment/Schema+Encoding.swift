extension Schema {
  func encode(to writer: inout ByteWriter) {
    let indexes = Dictionary(uniqueKeysWithValues: types.enumerated().map { ($1.identity, $0) })
    writer.varint(types.count)
    for type in types {
      writer.string(type.name.text)
      writer.byte(type.primary?.kind.rawValue ?? 0)
      if let primary = type.primary { writer.string(primary.name.text) }
      writer.varint(type.fields.count)
      for field in type.fields {
        writer.string(field.name.text)
        writer.byte(field.kind.rawValue)
        guard field.kind.isRelation else { continue }
        guard let target = field.target.flatMap({ indexes[$0] }) else {
          preconditionFailure("a schema holds the targets of its fields")
        }
        writer.varint(target)
      }
    }
  }

  init(from reader: inout ByteReader) throws(JournalError) {
    types = []
    var known: Set<TypeSchema.Identity> = []
    var fields: [[EncodedField]] = []
    let count = try reader.count(of: 4, atMost: Limits.types)
    var left = Limits.fields
    for _ in 0..<count {
      let start = reader
      let type = try TypeSchema(from: &reader)
      guard known.insert(type.identity).inserted else { throw start.damaged("type \(type.name) stands twice") }
      types.append(type)
      fields.append(try EncodedField.all(from: &reader, atMost: min(left, Limits.fieldsOfType), types: count))
      left -= fields[fields.count - 1].count
    }
    // A target may be a type that comes later.
    let targets = types.map(\.identity)
    for type in types.indices {
      for field in fields[type] { try types[type].append(field, targets) }
    }
  }
}

/// A field whose target is an index yet.
private struct EncodedField {
  let offset: Int
  let name: Name
  let kind: Value.Kind
  let target: Int?

  static func all(from reader: inout ByteReader, atMost limit: Int, types: Int) throws(JournalError) -> [EncodedField] {
    var fields: [EncodedField] = []
    for _ in 0..<(try reader.count(of: 3, atMost: limit)) {
      fields.append(try EncodedField(from: &reader, types: types))
    }
    return fields
  }

  private init(from reader: inout ByteReader, types: Int) throws(JournalError) {
    let start = reader
    offset = start.offset
    name = try Name(from: &reader)
    guard let kind = Value.Kind(rawValue: try reader.byte()) else { throw start.damaged("a field of an unknown kind") }
    self.kind = kind
    target = kind.isRelation ? try reader.index(below: types, "type") : nil
  }
}

extension TypeSchema {
  fileprivate mutating func append(_ encoded: EncodedField, _ targets: [Identity]) throws(JournalError) {
    let field = Field(name: encoded.name, kind: encoded.kind, target: encoded.target.map { targets[$0] })
    guard index(of: field) == nil else {  // S-7
      throw JournalError(.damaged, "field \(field.name) stands twice", offset: encoded.offset)
    }
    append(field)
  }

  fileprivate init(from reader: inout ByteReader) throws(JournalError) {
    let name = try Name(from: &reader)
    let start = reader
    switch try reader.byte() {
    case 0: self.init(name: name, primary: nil)
    case 1: self.init(name: name, primary: Field(name: try Name(from: &reader), kind: .integer))
    case 3: self.init(name: name, primary: Field(name: try Name(from: &reader), kind: .text))
    case let code: throw start.damaged("a primary value is not of kind \(code)")
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
