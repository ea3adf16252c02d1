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

  /// By `column(of:)`; absent where the column is NULL, and for a relation without elements.
  package var objects: [Object: [String: Value]] = [:]

  /// A field's name, kind and target.
  package static func column(of field: TypeSchema.Field) -> String {
    "\(field.name) \(field.kind)" + (field.target.map { " of \($0.name) by \($0.primaryKind?.rawValue ?? 0)" } ?? "")
  }

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
          if value != .null { objects[object]?[Dump.column(of: field)] = value }
        }
      }
    }
  }
}
