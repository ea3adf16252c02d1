/// Where a schema's type and its fields are in another schema.
package struct LearntType: Sendable {
  package let id: Int
  package let fields: [Int]
  /// Whether each field has the same number here, as where schemas grew alike.
  fileprivate let hasSameFields: Bool
  /// Whether they are in the same order here.
  fileprivate let rises: Bool

  package init(id: Int, fields: [Int]) {
    self.id = id
    self.fields = fields
    hasSameFields = fields.elementsEqual(fields.indices)
    rises = zip(fields, fields.dropFirst()).allSatisfy { $0 < $1 }
  }
}

extension Schema {
  /// Adds what is not known yet; what is known keeps its index. Returns, for each type of `other`, where it and its fields are
  /// here.
  package mutating func learn(_ other: Schema) throws(JournalError) -> [LearntType] {
    var learnt: [LearntType] = []
    for type in other.types {
      let id = types.firstIndex { $0.identity == type.identity } ?? types.count
      if id == types.count { types.append(TypeSchema(name: type.name, primary: type.primary)) }
      var fields: [Int] = []
      for field in type.fields {
        if types[id].index(of: field) == nil { types[id].append(field) }
        fields.append(types[id].index(of: field) ?? 0)
      }
      guard types.count <= Limits.types, types[id].fields.count <= Limits.fieldsOfType else { throw Schema.tooLarge }
      learnt.append(LearntType(id: id, fields: fields))
    }
    guard fieldCount <= Limits.fields else { throw Schema.tooLarge }
    return learnt
  }

  /// The number of fields of all types.
  package var fieldCount: Int { types.reduce(0) { $0 + $1.fields.count } }

  private static let tooLarge = JournalError(.tooLarge, "more types or fields than a schema may have")
}

extension Entry {
  /// The entry with the types and fields of another schema.
  package func translated(_ learnt: [LearntType]) -> Entry { translated(learnt[type]) }

  /// - Parameter type: its own.
  package consuming func translated(_ type: LearntType) -> Entry {
    var entry = self
    entry.type = type.id
    guard !type.hasSameFields else { return entry }
    var (last, rises) = (-1, true)
    for index in entry.fields.indices {
      let field = type.fields[entry.fields[index].field]
      entry.fields[index].field = field
      (last, rises) = (field, rises && last < field)
    }
    if !rises { entry.fields.sort { $0.field < $1.field } }
    return entry
  }
}

extension EncodedEntry {
  /// Its values' indexes, as their fields rise in another schema; `nil` where they are in that order.
  ///
  /// - Parameter type: its own.
  package func order(as type: LearntType) -> [Int]? {
    type.rises ? nil : (0..<fieldCount).sorted { type.fields[field(at: $0)] < type.fields[field(at: $1)] }
  }

  /// What `put` writes.
  package func length(as type: LearntType) -> Int {
    var length = keyLength
    for index in 0..<fieldCount {
      length += ByteWriter.length(ofVarint: UInt64(type.fields[field(at: index)])) + self.length(ofValueAt: index)
    }
    return length
  }

  /// Writes its object's key (V-12), and each field's number in another schema with its value, by which they rise (J-18).
  package func put(as type: LearntType, to buffer: UnsafeMutableRawBufferPointer, _ position: inout Int) {
    putKey(to: buffer, &position)
    let order = order(as: type)
    for number in 0..<fieldCount {
      let index = order?[number] ?? number
      buffer.put(UInt64(type.fields[field(at: index)]), &position)
      buffer.put(bytes(ofValueAt: index), &position)
    }
  }
}
