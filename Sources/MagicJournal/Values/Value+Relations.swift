extension Value {
  /// A change of a set. Of elements with one key the last one counts.
  package static func set(of elements: [SetElement]) -> Value {
    .set(rising(elements, by: \.identity))
  }

  /// A change of a dictionary. Of elements with one name the last one counts.
  package static func dictionary(of elements: [DictionaryElement]) -> Value {
    .dictionary(rising(elements, by: \.name))
  }

  /// What two values of one field come to that were written one after the other: element by element, or the later one (J-2).
  package func overlaid(by later: Value) -> Value {
    switch (self, later) {
    case (.set(let elements), .set(let more)): .set(of: elements + more)
    case (.dictionary(let elements), .dictionary(let more)): .dictionary(of: elements + more)
    default: later
    }
  }

  /// One set or dictionary of the elements of several; `nil` for none.
  static func joined(_ values: [Value]) -> Value? {
    switch values.first {
    case .set: .set(of: values.flatMap { if case .set(let elements) = $0 { elements } else { [] as [SetElement] } })
    case .dictionary:
      .dictionary(of: values.flatMap { if case .dictionary(let elements) = $0 { elements } else { [] as [DictionaryElement] } })
    default: nil
    }
  }

  /// How many objects a relation speaks of; 0 for other values.
  package var elementCount: Int {
    switch self {
    case .reference: 1
    case .list(let keys): keys.count
    case .set(let elements): elements.count
    case .dictionary(let elements): elements.count
    case .null, .integer, .real, .text, .bytes, .coded, .asset: 0
    }
  }

  /// The value with objects that have other names.
  package func renamed(_ name: (ObjectKey) -> ObjectKey) -> Value {
    switch self {
    case .reference(let key): .reference(name(key))
    case .list(let keys): .list(keys.map(name))
    case .set(let elements): .set(of: elements.map { SetElement(key: name($0.key), isIn: $0.isIn) })
    case .dictionary(let elements):
      .dictionary(of: elements.map { DictionaryElement(name: $0.name, key: $0.key.map(name)) })
    case .null, .integer, .real, .text, .bytes, .coded, .asset: self
    }
  }

  /// Whether a field may hold it (J-16): null, but for fields with elements, or a value of its kind, whose objects are named as
  /// the target's are.
  package func fits(_ field: TypeSchema.Field) -> Bool {
    guard let kind else { return !field.kind.hasElements }
    guard kind == field.kind else { return false }
    switch self {
    case .null, .integer, .real, .text, .bytes, .coded: return true
    case .asset(let name): return AssetName.isValid(name)
    case .reference(let key): return key.fits(field.target)
    case .list(let keys): return keys.allSatisfy { $0.fits(field.target) }
    case .set(let elements): return !elements.isEmpty && elements.allSatisfy { $0.key.fits(field.target) }
    case .dictionary(let elements): return !elements.isEmpty && elements.allSatisfy { $0.key?.fits(field.target) ?? true }
    }
  }

  private static func rising<Element>(_ elements: [Element], by bytes: (Element) -> [UInt8]) -> [Element] {
    let named = elements.indices.map { (bytes: bytes(elements[$0]), index: $0) }.sorted {
      $0.bytes == $1.bytes ? $0.index < $1.index : $0.bytes.lexicographicallyPrecedes($1.bytes)
    }
    return named.indices.compactMap { number in
      let isLast = number + 1 == named.count || named[number].bytes != named[number + 1].bytes
      return isLast ? elements[named[number].index] : nil
    }
  }
}

extension [FieldValue] {
  /// What the fields of two entries of one object come to, the later one's over these (J-2).
  package func overlaid(by later: [FieldValue], of type: TypeSchema) -> [FieldValue] {
    var values = later
    for field in self {
      if let index = values.firstIndex(where: { $0.field == field.field }) {
        values[index].value = field.value.overlaid(by: values[index].value)
      } else if !values.contains(where: { type.slots[$0.field] == type.slots[field.field] }) {
        values.append(field)
      }
    }
    return values.sorted { $0.field < $1.field }
  }
}

extension ObjectKey {
  /// Whether objects of a type are named so (J-6, J-7, J-26).
  package func fits(_ target: TypeSchema.Identity?) -> Bool {
    guard let target else { return false }
    return fits(target.primaryKind)
  }

  fileprivate func fits(_ primary: Value.Kind?) -> Bool {
    switch self {
    case .primary(let value): value.kind != nil && value.kind == primary
    case .birth: primary == nil || primary == .integer
    }
  }
}

// For who asks it of each entry: nothing of the schema is copied.
extension TypeSchema {
  /// Whether one of its objects can be named so.
  package func names(_ key: ObjectKey) -> Bool { key.fits(primary?.kind) }

  /// Whether the field can hold the value.
  package func holds(_ field: FieldValue) -> Bool {
    switch field.value {
    case .integer, .real, .text, .bytes, .coded: field.value.kind == fields[field.field].kind
    default: field.value.fits(fields[field.field])
    }
  }
}
