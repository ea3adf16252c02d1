internal import Foundation
internal import GRDB
internal import MagicJournal

/// Reads the journal in the order in which transactions arrived, for whoever wants to hear of them.
struct ChangeReader {
  private let db: Connection
  private let schema: StoredSchema

  /// A batch is this many transactions, or so many that they have this many entries: few enough for little memory.
  private static let (transactions, entries) = (100, 1_000)

  /// The next transactions after one; `nil` if there are none.
  @Sendable static func batch(_ db: Connection, after last: inout Int64) throws -> [MagicChanges]? {
    let own = try DatabaseState(db).replicaRow
    var reader: ChangeReader?
    var arrivals = try SQL(db, Statements.selectArrivals)
    try arrivals.bind(last)
    try arrivals.bind(transactions)
    var (batch, count): ([MagicChanges], Int) = ([], 0)
    while count < entries, try arrivals.step() {
      let known = try reader ?? ChangeReader(db: db, schema: StoredSchema(db))
      reader = known
      let objects = try known.objects(from: arrivals.integer(4), count: arrivals.integer(5))
      batch.append(
        MagicChanges(
          origin: arrivals.integer(1) == own ? .local : .replica(try arrivals.identifier(2).description),
          time: Date(timeIntervalSince1970: Double(arrivals.stamp(3).milliseconds) / 1_000), objects: objects))
      count += objects.count
      last = arrivals.integer(0)
    }
    return batch.isEmpty ? nil : batch
  }

  private func objects(from first: Int64, count: Int64) throws -> [MagicChanges.Object] {
    guard 1...Int64(Limits.entries) ~= count, 0...(Int64.max - count) ~= first else { throw ChangeReader.damaged }
    var select = try SQL(db, Statements.selectChanges)
    try select.bind(first)
    try select.bind(first + count - 1)
    var objects: [MagicChanges.Object] = []
    while try select.step() {
      guard schema.types.indices.contains(select.int(0)) else { throw ChangeReader.damaged }
      let type = schema.types[select.int(0)]
      let fields = try StoredFields.decode(select.bytes(4), of: type.schema)
      objects.append(
        MagicChanges.Object(
          type: type.schema.name.text, operation: select.integer(3) == 0 ? .remove : .update,
          primary: type.schema.primary == nil ? nil : try MagicChanges.Primary(select.value(2, type.keyKind)),
          zIndex: select.int(1), fields: fields.map { type.schema.fields[$0.field].name.text }))
    }
    guard objects.count == count else { throw ChangeReader.damaged }
    return objects
  }

  fileprivate static let damaged = MagicDataError(
    .notADatabase, "the database is damaged: a transaction of its journal cannot be read")
}

extension MagicChanges.Primary {
  fileprivate init(_ value: Value) throws {
    switch value {
    case .text(let text): self = .text(text)
    case .integer(let number): self = .integer(Int(clamping: number))
    default: throw ChangeReader.damaged
    }
  }
}
