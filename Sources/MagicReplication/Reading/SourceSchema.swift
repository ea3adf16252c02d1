package import MagicJournal

/// The schema that a transaction's entries speak of, as a reading hands it out: one for all transactions of a segment, or of a database, so that
/// what is worked out for a type is worked out once.
package final class SourceSchema: Sendable {
  package let schema: Schema
  /// Names as JSON strings, for lines of output.
  let typeNames: [[UInt8]]
  /// By type and field: the name as a member of an object, with its colon.
  let fieldNames: [[[UInt8]]]

  init(_ schema: Schema) {
    self.schema = schema
    typeNames = schema.types.map { Array(Value.quoted($0.name.text).utf8) }
    fieldNames = schema.types.map { type in type.fields.map { Array((Value.quoted($0.name.text) + ":").utf8) } }
  }
}
