import Foundation
import MagicJournal

/// How the files of Protocol/vectors write values, transactions and objects. Numbers that JSON may round are strings.
struct ValueNotation: Codable {
  var integer: String?
  var real: String?
  var text: String?
  var bytes: String?
  var coded: String?
  var asset: String?
  var reference: KeyNotation?
  var list: [KeyNotation]?
  var set: [SetElementNotation]?
  var dictionary: [DictionaryElementNotation]?
  /// Of a relation in an entry or an object.
  var target: TargetNotation?

  /// `nil` for null, which is JSON's own.
  init?(_ value: Value, _ target: TypeSchema.Identity? = nil) {
    self.target = target.map(TargetNotation.init)
    switch value {
    case .null: return nil
    case .integer(let number): integer = String(number)
    case .real(let number): real = withUnsafeBytes(of: number.bitPattern.bigEndian) { Array($0).hexadecimal }
    case .text(let text): self.text = text
    case .bytes(let bytes): self.bytes = bytes.hexadecimal
    case .coded(let bytes): coded = bytes.hexadecimal
    case .asset(let name): asset = name
    case .reference(let key): reference = KeyNotation(key)
    case .list(let keys): list = keys.map(KeyNotation.init)
    case .set(let elements): set = elements.map { SetElementNotation(object: KeyNotation($0.key), isIn: $0.isIn) }
    case .dictionary(let elements):
      dictionary = elements.map {
        DictionaryElementNotation(name: $0.name.hexadecimal, object: $0.key.map(KeyNotation.init))
      }
    }
  }

  var value: Value {
    get throws {
      if let integer { return .integer(try parsed(Int64(integer), integer)) }
      if let real { return .real(Double(bitPattern: try parsed(UInt64(real, radix: 16), real))) }
      if let text { return .text(text) }
      if let bytes { return .bytes(try parsed([UInt8](hexadecimal: bytes), bytes)) }
      if let coded { return .coded(try parsed([UInt8](hexadecimal: coded), coded)) }
      if let asset { return .asset(asset) }
      if let reference { return .reference(try reference.key) }
      if let list { return .list(try list.map { try $0.key }) }
      if let set { return .set(of: try set.map { SetElement(key: try $0.object.key, isIn: $0.isIn) }) }
      if let dictionary {
        return .dictionary(
          of: try dictionary.map {
            DictionaryElement(name: try parsed([UInt8](hexadecimal: $0.name), $0.name), key: try $0.object?.key)
          })
      }
      return .null
    }
  }
}

struct SetElementNotation: Codable {
  var object: KeyNotation
  var isIn: Bool

  enum CodingKeys: String, CodingKey {
    case object
    case isIn = "in"
  }
}

struct DictionaryElementNotation: Codable {
  /// The key's JSON in hexadecimal digits.
  var name: String
  /// Absent if the place was emptied.
  var object: KeyNotation?
}

struct TargetNotation: Codable {
  var type: String
  var primaryKind: UInt8

  init(_ target: TypeSchema.Identity) {
    type = target.name.text
    primaryKind = target.primaryKind?.rawValue ?? 0
  }

  var identity: TypeSchema.Identity {
    get throws { .init(name: try Name(type), primaryKind: Value.Kind(rawValue: primaryKind)) }
  }
}

struct NotationError: Error {
  let text: String
}

func parsed<Result>(_ result: Result?, _ text: String) throws -> Result {
  guard let result else { throw NotationError(text: text) }
  return result
}

extension ValueNotation? {
  var value: Value { get throws { try self?.value ?? .null } }
}

struct KeyNotation: Codable {
  struct BirthNotation: Codable {
    var stamp: String
    var tag: String
    var ordinal: UInt32
  }

  struct PrimaryNotation: Codable {
    var integer: String?
    var text: String?
  }

  var primary: PrimaryNotation?
  var birth: BirthNotation?

  init(_ key: ObjectKey) {
    switch key {
    case .primary(.integer(let number)): primary = PrimaryNotation(integer: String(number))
    case .primary(.text(let text)): primary = PrimaryNotation(text: text)
    case .primary(let value): preconditionFailure("no object is named \(value)")
    case .birth(let birth):
      self.birth = BirthNotation(
        stamp: String(birth.transaction.stamp.bits), tag: birth.transaction.tag.digits, ordinal: birth.ordinal)
    }
  }

  var key: ObjectKey {
    get throws {
      if let text = primary?.text { return .primary(.text(text)) }
      if let integer = primary?.integer { return .primary(.integer(try parsed(Int64(integer), integer))) }
      let birth = try parsed(birth, "neither primary value nor birth")
      return .birth(Birth(transaction: try name(birth.stamp, birth.tag), ordinal: birth.ordinal))
    }
  }
}

func name(_ stamp: String, _ tag: String) throws -> TransactionName {
  TransactionName(stamp: Stamp(try parsed(UInt64(stamp), stamp)), tag: try parsed(UInt32(tag, radix: 16), tag))
}

extension UInt32 {
  var digits: String { withUnsafeBytes(of: bigEndian) { Array($0).hexadecimal } }
}

struct EntryNotation: Codable {
  var type: String
  var primaryKind: UInt8
  var object: KeyNotation
  var operation: String
  var base: String?
  /// What is claimed.
  var number: String?
  var fields: [String: ValueNotation?]?
}

struct TransactionNotation: Codable {
  var replica: String
  var sequence: String
  var stamp: String
  var tag: String
  var root: String
  var entries: [EntryNotation]

  init(_ transaction: Transaction, _ schema: Schema) {
    replica = transaction.replica.description
    sequence = String(transaction.sequence)
    stamp = String(transaction.name.stamp.bits)
    tag = transaction.name.tag.digits
    root = transaction.root.description
    entries = transaction.entries.map { entry in
      let type = schema.types[entry.type]
      let fields = entry.fields.map {
        (type.fields[$0.field].name.text, ValueNotation($0.value, type.fields[$0.field].target))
      }
      return EntryNotation(
        type: type.name.text, primaryKind: type.primary?.kind.rawValue ?? 0, object: KeyNotation(entry.key),
        operation: ["remove", "update", "revival", "birth", "claim", "withdrawal", "purge"][Int(entry.operation.code.rawValue)],
        base: entry.operation.base.map { String($0.bits) }, number: entry.operation.number.map { String($0) },
        fields: entry.operation.isRemove ? nil : Dictionary(uniqueKeysWithValues: fields))
    }
  }

  /// Adds what it needs to `schema`. A null takes any field of its name.
  func transaction(_ schema: inout Schema) throws -> Transaction {
    Transaction(
      replica: try parsed(Identifier(replica), replica), sequence: try parsed(UInt64(sequence), sequence),
      name: try name(stamp, tag), root: try parsed(Identifier(root), root),
      entries: try entries.map { try $0.entry(&schema) })
  }
}

extension EntryNotation {
  fileprivate func entry(_ schema: inout Schema) throws -> Entry {
    let primary = try Value.Kind(rawValue: primaryKind).map { TypeSchema.Field(name: try Name("id"), kind: $0) }
    let identity = TypeSchema.Identity(name: try Name(type), primaryKind: primary?.kind)
    let index =
      schema.types.firstIndex { $0.identity == identity }
      ?? {
        schema.types.append(TypeSchema(name: identity.name, primary: primary))
        return schema.types.count - 1
      }()
    let values = try (fields ?? [:]).sorted { $0.key < $1.key }.map { name, notation in
      let value = try notation.value
      let target = try notation?.target?.identity
      let known = try schema.types[index].fields.firstIndex {
        try $0.name == Name(name) && (value.kind == nil ? !$0.kind.hasElements : $0.kind == value.kind && $0.target == target)
      }
      if let known { return FieldValue(field: known, value: value) }
      schema.types[index].append(.init(name: try Name(name), kind: value.kind ?? .text, target: target))
      return FieldValue(field: schema.types[index].fields.count - 1, value: value)
    }
    let operation: Entry.Operation =
      switch self.operation {
      case "remove": .remove
      case "update": .update
      case "birth": .birth
      case "claim": .claim(number: try parsed(number.flatMap { Int64($0) }, self.operation))
      case "withdrawal": .withdrawal(number: try parsed(number.flatMap { Int64($0) }, self.operation))
      case "purge": .purge(base: Stamp(try parsed(base.flatMap { UInt64($0) }, self.operation)))
      default: .revival(base: Stamp(try parsed(base.flatMap { UInt64($0) }, self.operation)))
      }
    return Entry(type: index, key: try object.key, operation: operation, fields: values.sorted { $0.field < $1.field })
  }
}

struct ObjectNotation: Codable {
  struct FieldNotation: Codable {
    var value: ValueNotation?
    var stamp: String
    var root: String

    enum CodingKeys: CodingKey { case value, stamp, root }

    /// A null is written as one.
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(value, forKey: .value)
      try container.encode(stamp, forKey: .stamp)
      try container.encode(root, forKey: .root)
    }
  }

  struct ElementNotation: Codable {
    var field: String
    /// A set or dictionary of the one element.
    var value: ValueNotation?
    var stamp: String
    var root: String
  }

  var type: String
  var primaryKind: UInt8
  var object: KeyNotation
  /// That it has by its claim.
  var number: String?
  var fields: [String: FieldNotation]
  /// All that are held, in or out, and then what a row shows of the object; if it has any.
  var elements: [ElementNotation]?
  var row: [String: ValueNotation?]?

  init(_ key: ObjectKey, _ state: ObjectState, _ number: Int64?, of type: TypeSchema) {
    self.type = type.name.text
    primaryKind = type.primary?.kind.rawValue ?? 0
    object = KeyNotation(key)
    self.number = number.map { String($0) }
    fields = [:]
    var elements: [ElementNotation] = []
    for write in state.values {
      let field = type.fields[write.field]
      let value = ValueNotation(write.value, field.target)
      let (stamp, root) = (String(write.version.stamp.bits), write.version.root.description)
      if write.value.kind?.hasElements == true {
        elements.append(ElementNotation(field: field.name.text, value: value, stamp: stamp, root: root))
      } else {
        fields[field.name.text] = FieldNotation(value: value, stamp: stamp, root: root)
      }
    }
    guard !elements.isEmpty else { return }
    // A field's number is this schema's own.
    self.elements = elements.map { (text: (try? text($0)) ?? "", element: $0) }.sorted { $0.text < $1.text }.map(\.element)
    row = Dictionary(
      uniqueKeysWithValues: state.row.map {
        (type.fields[$0.field].name.text, ValueNotation($0.value, type.fields[$0.field].target))
      })
  }
}
