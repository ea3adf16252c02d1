internal import GRDB
package import MagicData
package import MagicJournal

/// What the tables of a database show: every row of every type, named as other replicas name it.
package struct Dump: Equatable, Sendable {
  package struct Object: Hashable, Sendable {
    package let type: String
    package let key: ObjectKey

    package init(type: String, key: ObjectKey) {
      self.type = type
      self.key = key
    }
  }

  /// By name and kind of the field; absent where the column is NULL.
  package var objects: [Object: [String: Value]] = [:]

  package init() {}

  package init(_ magic: MagicData) async throws {
    self = try await magic.store.read { db in try Dump(db) }
  }

  private init(_ db: Database) throws {
    for type in try StoredSchema(db).types {
      let columns = ([type.keyColumn] + type.columns).map { "\"" + $0.replacing("\"", with: "\"\"") + "\"" }
      var rows = try SQL(db, "SELECT \(columns.joined(separator: ", ")) FROM \"\(type.table.replacing("\"", with: "\"\""))\"")
      while try rows.step() {
        let object = Object(
          type: type.schema.name.text, key: try ObjectKey(value: rows.value(0, type.keyKind), of: type.schema))
        objects[object] = [:]
        for (index, field) in type.schema.fields.enumerated() {
          let value = rows.value(Int32(index + 1), field.kind)
          if value != .null { objects[object]?["\(field.name) \(field.kind)"] = value }
        }
      }
    }
  }
}

/// The state that a set of transactions stands for, worked out from the definition: all writes of a field side by side, the highest taken.
package struct NaiveFold: Sendable {
  private struct Written: Sendable {
    let version: (stamp: UInt64, root: String)
    let value: Value
    let column: String
  }

  private var updates: [Dump.Object: [(stamp: UInt64, root: String)]] = [:]
  private var removes: [Dump.Object: [(stamp: UInt64, root: String)]] = [:]
  private var bases: [Dump.Object: [UInt64]] = [:]
  private var writes: [Dump.Object: [String: [Written]]] = [:]

  package init() {}

  /// Of everything in a database's journal.
  package init(journalOf magic: MagicData) async throws {
    self = try await magic.store.read { db in
      let journal = try JournalReader(db)
      let schema = journal.schema.schema
      var fold = NaiveFold()
      try journal.forEachTransaction { fold.add($0, schema) }
      return fold
    }
  }

  package mutating func add(_ transaction: Transaction, _ schema: Schema) {
    let version = (stamp: transaction.name.stamp.bits, root: transaction.root.description)
    for entry in transaction.entries {
      let type = schema.types[entry.type]
      let object = Dump.Object(type: type.name.text, key: entry.key)
      if entry.operation == .remove {
        removes[object, default: []].append(version)
        continue
      }
      updates[object, default: []].append(version)
      if case .revival(let base) = entry.operation { bases[object, default: []].append(base.bits) }
      for field in entry.fields {
        let name = type.fields[field.field].name.text
        let column = "\(name) \(type.fields[field.field].kind)"
        writes[object, default: [:]][name, default: []].append(
          Written(version: version, value: field.value, column: column))
      }
    }
  }

  package var dump: Dump {
    var dump = Dump()
    for (object, versions) in updates {
      guard let last = versions.max(by: { $0 < $1 }) else { continue }
      let isRemoved = removes[object, default: []].contains { $0 >= last }
      guard !isRemoved else { continue }
      let base = bases[object]?.max()
      dump.objects[object] = [:]
      for written in (writes[object] ?? [:]).values {
        let highest = written.max { left, right in
          left.version == right.version
            ? left.value.encoded.lexicographicallyPrecedes(right.value.encoded) : left.version < right.version
        }
        guard let highest, base.map({ highest.version.stamp > $0 }) ?? true, highest.value != .null else { continue }
        dump.objects[object]?[highest.column] = highest.value
      }
    }
    return dump
  }
}
