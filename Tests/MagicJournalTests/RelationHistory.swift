import MagicJournal

/// Writes to one object with relations, by hand.
struct RelationHistory {
  enum Change {
    case links(_ ins: [String], out: [String] = [])
    case linksText(String)
    case linksToCounts([Int64])
    case rooms([String: Int64?])
    case agenda([Int64])
    case parent(String?)
  }

  struct Write {
    let stamp: UInt64
    let root: UInt64
    /// `nil` for a remove.
    let changes: [Change]?
    let base: UInt64?
    private let isPurge: Bool

    init(_ stamp: UInt64, _ root: UInt64, _ changes: [Change]?, base: UInt64? = nil) {
      self.stamp = stamp
      self.root = root
      self.changes = changes
      self.base = base
      isPurge = false
    }

    init(_ stamp: UInt64, _ root: UInt64, purge base: UInt64, but changes: [Change] = []) {
      (self.stamp, self.root, self.base, self.changes, isPurge) = (stamp, root, base, changes, true)
    }

    var operation: Entry.Operation {
      guard let base else { return changes == nil ? .remove : .update }
      return isPurge ? .purge(base: Stamp(base)) : .revival(base: Stamp(base))
    }
  }

  let schema: Schema
  let key = ObjectKey.primary(.text("note"))
  private(set) var transactions: [Transaction] = []
  private(set) var state = ObjectState()

  init(_ writes: [Write]) throws {
    try self.init()
    for write in writes {
      add(write.operation, RelationHistory.fields(write.changes ?? []), stamp: write.stamp, root: write.root)
    }
  }

  /// Updates of rising stamps.
  init(fields: [[FieldValue]]) throws {
    try self.init()
    for (index, fields) in fields.enumerated() { add(.update, fields, stamp: UInt64(index) + 1, root: 1) }
  }

  private init() throws {
    let note = TypeSchema.Identity(name: try Name("Note"), primaryKind: .text)
    let count = TypeSchema.Identity(name: try Name("Count"), primaryKind: .integer)
    schema = Schema(types: [
      TypeSchema(
        name: note.name, primary: .init(name: try Name("id"), kind: .text),
        fields: [
          .init(name: try Name("links"), kind: .set, target: note), .init(name: try Name("links"), kind: .text),
          .init(name: try Name("links"), kind: .set, target: count),
          .init(name: try Name("rooms"), kind: .dictionary, target: count),
          .init(name: try Name("agenda"), kind: .list, target: count),
          .init(name: try Name("parent"), kind: .reference, target: note),
        ]),
      TypeSchema(name: count.name, primary: .init(name: try Name("id"), kind: .integer)),
    ])
  }

  private mutating func add(_ operation: Entry.Operation, _ fields: [FieldValue], stamp: UInt64, root: UInt64) {
    let replica = Identifier(0, root)
    let transaction = Transaction(
      replica: replica, sequence: UInt64(transactions.filter { $0.replica == replica }.count) + 1,
      name: TransactionName(stamp: Stamp(stamp), tag: UInt32(transactions.count)), root: replica,
      entries: [Entry(type: 0, key: key, operation: operation, fields: fields)])
    transactions.append(transaction)
    state.fold(operation, fields, at: transaction.version, of: schema.types[0])
  }

  static func fields(_ changes: [Change]) -> [FieldValue] {
    changes.map { change in
      switch change {
      case .links(let ins, let outs):
        let elements = ins.map { SetElement(key: note($0)) } + outs.map { SetElement(key: note($0), isIn: false) }
        return FieldValue(field: 0, value: .set(of: elements))
      case .linksText(let text): return FieldValue(field: 1, value: .text(text))
      case .linksToCounts(let numbers): return FieldValue(field: 2, value: .set(of: numbers.map { SetElement(key: count($0)) }))
      case .rooms(let rooms):
        let elements = rooms.map { DictionaryElement(name: Array("\"\($0)\"".utf8), key: $1.map(count)) }
        return FieldValue(field: 3, value: .dictionary(of: elements))
      case .agenda(let numbers): return FieldValue(field: 4, value: .list(numbers.map(count)))
      case .parent(let text): return FieldValue(field: 5, value: text.map { .reference(note($0)) } ?? .null)
      }
    }.sorted { $0.field < $1.field }
  }

  private static func note(_ text: String) -> ObjectKey { .primary(.text(text)) }
  private static func count(_ number: Int64) -> ObjectKey { .primary(.integer(number)) }
}
