package import MagicJournal

/// The schema that a transaction's entries speak of, as a reading hands it out: one for all transactions of a segment, or of a
/// database, so that what is worked out for a type is worked out once.
package final class SourceSchema: Sendable {
  package let schema: Schema
  /// By type: what lines of output say of it.
  let types: [TypeWords]

  /// A class, since a struct of so many arrays would be copied with all of them.
  final class TypeWords: Sendable {
    /// By operation.
    private let operations: [Words]
    /// Before their values: the name and `=`, and as a member of an object, with its colon.
    let fields: [Words]

    init(_ type: TypeSchema) {
      operations = MagicHistory.Operation.allCases.map { operation in
        Words(
          text: Array("  \(operation) \(type.name.text) ".utf8),
          json: Array(",\"type\":\(Value.quoted(type.name.text)),\"object\":".utf8),
          operation: Array(",\"op\":\"\(operation)\"".utf8))
      }
      fields = type.fields.map {
        Words(text: Array(" \($0.name.text)=".utf8), json: Array((Value.quoted($0.name.text) + ":").utf8))
      }
    }

    subscript(operation: MagicHistory.Operation) -> Words { operations[operation.index] }
  }

  struct Words: Sendable {
    let text, json: [UInt8]
    var operation: [UInt8] = []
  }

  init(_ schema: Schema) {
    self.schema = schema
    types = schema.types.map(TypeWords.init)
  }
}
