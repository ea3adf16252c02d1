internal import Foundation
internal import GRDB
internal import MagicJournal

/// Reads the journal in the order in which transactions arrived, for whoever wants to hear of them.
struct ChangeReader {
  private let db: Connection
  private let schema: StoredSchema
  private let ownReplica: Int64

  /// A batch is this many transactions, or so many that they have this many entries: few enough for little memory.
  private static let (transactions, entries) = (100, 1_000)

  private init(_ db: Connection) throws {
    self.db = db
    schema = try StoredSchema(db)
    ownReplica = try DatabaseState(db).replicaRow
  }

  /// The next transactions after a row of the journal; `nil` if there are none.
  @Sendable static func batch(_ db: Connection, after last: inout Int64) throws -> [MagicChanges]? {
    guard try JournalPosition(db).row > last else { return nil }
    let batch = try ChangeReader(db).batch(after: &last)
    return batch.isEmpty ? nil : batch
  }

  private func batch(after last: inout Int64) throws -> [MagicChanges] {
    var rows = try SQL(db, Statements.selectArrivals)
    try rows.bind(last)
    var (batch, entries): ([MagicChanges], Int) = ([], 0)
    var next = try Row(&rows)
    while batch.count < ChangeReader.transactions, entries < ChangeReader.entries, let first = next {
      guard var count = first.count else { throw ChangeReader.damaged() }
      var (row, objects): (Row, [MagicChanges.Object]) = (first, [])
      while true {
        objects += try self.objects(in: row.data)
        last = row.id
        next = try Row(&rows)
        guard let more = next, more.isOf(first) else { break }
        // A large one goes on in the next rows; of one that was compacted each counts its own.
        guard more.count == nil ? objects.count < count : objects.count == count else { throw ChangeReader.damaged() }
        let (sum, isTooMany) = count.addingReportingOverflow(more.count ?? 0)
        guard !isTooMany else { throw ChangeReader.damaged() }
        (count, row) = (sum, more)
      }
      guard objects.count == count else { throw ChangeReader.damaged() }
      // Of a transaction that was compacted meanwhile nothing may be left here.
      guard !objects.isEmpty else { continue }
      let time = Date(timeIntervalSince1970: Double(first.stamp.milliseconds) / 1_000)
      batch.append(MagicChanges(origin: try origin(of: first.id), time: time, objects: objects))
      entries += count
    }
    return batch
  }

  private func origin(of row: Int64) throws -> MagicChanges.Origin {
    var select = try SQL(db, Statements.selectOriginOfRow)
    try select.bind(row)
    guard try select.step() else { throw ChangeReader.damaged() }
    return select.integer(0) == ownReplica ? .local : .replica(try select.identifier(1).description)
  }

  private func objects(in data: [UInt8]) throws -> [MagicChanges.Object] {
    var entries: [StoredEntry] = []
    do {
      for var part in try EntryRow.parts(of: data) where !part.isAtEnd {
        entries.append(try StoredEntry(from: &part, schema.types))
      }
    } catch {
      throw ChangeReader.damaged(error)
    }
    return try entries.map { stored in
      let (entry, type) = (stored.entry, schema.types[stored.entry.type])
      return MagicChanges.Object(
        type: type.schema.name.text, operation: entry.isOfWhatIsGone ? .remove : .update,
        primary: try MagicChanges.Primary(entry.key) ?? number(of: stored, type), zIndex: Int(clamping: stored.zIndex),
        fields: entry.fields.map { type.schema.fields[$0.field].name.text })
    }
  }

  /// The number that an object which claims one has now.
  private func number(of stored: StoredEntry, _ type: StoredType) throws -> MagicChanges.Primary? {
    guard type.schema.hasNumbers else { return nil }
    return try ObjectTable(type, db).number(at: stored.zIndex).map { .integer(Int(clamping: $0)) }
  }

  /// A row of the journal.
  private struct Row {
    let id: Int64
    let stamp: Stamp
    /// `nil` if the row before has the number of all.
    let count: Int?
    let data: [UInt8]
    private let tag: Int64
    private let root: Int64

    /// `nil` if there is none.
    init?(_ rows: inout SQL) throws {
      guard try rows.step() else { return nil }
      (id, stamp, tag, root) = (rows.integer(0), rows.stamp(1), rows.integer(2), rows.integer(3))
      (count, data) = (rows.isNull(4) ? nil : rows.int(4), rows.bytes(5))
    }

    /// Whether it is of the same transaction.
    func isOf(_ first: Row) -> Bool { (stamp, tag, root) == (first.stamp, first.tag, first.root) }
  }

  private static func damaged(_ cause: (any Error)? = nil) -> MagicDataError {
    MagicDataError(.notADatabase, "the database is damaged: a transaction of its journal cannot be read", cause: cause)
  }
}

extension Entry {
  /// A purge is of what was removed; one with values is of what somebody has revived.
  fileprivate var isOfWhatIsGone: Bool { operation.isRemove || operation.code == .purge && fields.isEmpty }
}

extension MagicChanges.Primary {
  /// `nil` for a birth.
  fileprivate init?(_ key: ObjectKey) {
    switch key {
    case .primary(.text(let text)): self = .text(text)
    case .primary(.integer(let number)): self = .integer(Int(clamping: number))
    default: return nil
    }
  }
}
