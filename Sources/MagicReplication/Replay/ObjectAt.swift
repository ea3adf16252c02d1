internal import Dispatch
internal import MagicData
package import MagicJournal

/// An object as it was at a moment.
package struct ObjectAt: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package let name: String
    package let value: Value

    /// Compares names by their bytes (L-3).
    package static func == (left: Field, right: Field) -> Bool {
      left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
    }
  }

  package let type: String
  /// The names of all fields that the type is known to have.
  package let fieldNames: [String]
  /// Whether its objects may have numbers.
  package let mayHaveNumber: Bool
  package let key: ObjectKey
  /// That it has claimed, and what that comes to (M-16).
  package let number: Int64?
  /// What it shows (M-14), in the order in which fields were learnt.
  package let fields: [Field]

  init(_ state: ObjectState, _ key: ObjectKey, number: Int64?, of type: TypeSchema, _ fieldNames: [String]) {
    (self.type, self.fieldNames, mayHaveNumber) = (type.name.text, fieldNames, type.hasNumbers)
    (self.key, self.number) = (key, number)
    fields = state.row.filter { $0.value != .null }.map { Field(name: type.fields[$0.field].name.text, value: $0.value) }
  }

  package var object: String { key.text }
}

extension Value {
  /// As an object shows it: a set as its members, a dictionary by its keys.
  package var shownJSON: String {
    switch self {
    case .set(let elements): Value.list(elements.filter(\.isIn).map(\.key)).json
    default: json
    }
  }
}

extension Value {
  /// The value for people: a text stands as it is, unless that would do something to a terminal.
  package var shownText: String {
    guard case .text(let text) = self else { return shownJSON }
    var writer = ByteWriter()
    writer.printable(text)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

/// Folds objects as they were at a moment, with the fold of the merge, one at a time.
struct StateReader {
  private let journal: JournalReader
  private let db: Connection
  /// As messages name it.
  private let path: String
  private let troubles: ReadProblems
  /// By type.
  private let fieldNames: [[String]]

  init(_ db: Connection, _ path: String, _ troubles: ReadProblems) throws {
    (self.db, journal, self.path, self.troubles) = (db, try JournalReader(db), path, troubles)
    fieldNames = journal.schema.types.map { $0.schema.fields.map(\.name.text) }
  }

  /// By name.
  var types: [StoredType] {
    journal.schema.types.sorted {
      ($0.schema.name.text, $0.schema.primary?.kind.rawValue ?? 0) < (
        $1.schema.name.text, $1.schema.primary?.kind.rawValue ?? 0
      )
    }
  }

  func type(_ identity: TypeSchema.Identity) -> StoredType? { journal.schema.types.first { $0.schema.identity == identity } }

  func forEachObject(of type: StoredType, _ body: (ObjectKey, ObjectPlace) throws -> Void) throws {
    try ObjectTable(type, db).forEachPlace { key, place in if !place.last.isNone { try body(key, place) } }
  }

  func place(of key: ObjectKey, in type: StoredType) throws -> ObjectPlace? {
    let table = ObjectTable(type, db)
    return try table.place(of: key) ?? table.absentPlace(of: key)
  }

  /// The numbers that lost claims came to at a moment; any other claim came to the number that was claimed (M-16, M-17). Of
  /// types without numbers none.
  ///
  /// Memory holds every claim meanwhile, some 100 bytes each.
  func lostNumbers(of type: StoredType, at moment: Stamp) throws -> [Birth: Int64] {
    guard type.schema.hasNumbers else { return [:] }
    var (claims, set): ([Claim], Set<Int64>) = ([], [])
    try forEachObject(of: type) { key, place in
      let state = try journal.state(from: place.last, of: type.id, until: moment)
      guard state.updated != nil || state.removed != nil else { return }
      switch key {
      case .primary(.integer(let number)): set.insert(number)
      case .primary: break
      case .birth(let birth): if let number = state.claim { claims.append(Claim(number: number, birth: birth)) }
      }
    }
    return Numbers.shown(claims) { set.contains($0) }.filter { Numbers.isLost($0.value) }
  }

  /// `nil` if it was not there.
  func object(_ key: ObjectKey, _ place: ObjectPlace, of type: StoredType, at moment: Stamp, _ lost: [Birth: Int64]) throws
    -> ObjectAt?
  {
    let state = try journal.state(from: place.last, of: type.id, until: moment)
    guard state.isAlive else { return nil }
    var number: Int64?
    if case .birth(let birth) = key { number = lost[birth] ?? state.claim }
    return ObjectAt(state, key, number: number, of: type.schema, fieldNames[type.id])
  }
}

extension JournalSource {
  /// Hands out the objects that were there at a moment, type by type.
  package func forEachObject(
    at moment: MagicMoment?, type name: String?, _ body: @Sendable @escaping (ObjectAt) throws -> Void
  ) async throws -> MagicReadReport {
    let path = path
    let (unread, report) = try await withDatabase { magic in
      let body = outsideOfReads(of: [magic], body)
      let moment = try await magic.stamp(at: moment)
      return try await magic.store.read { db in
        let troubles = ReadProblems()
        let reader = try StateReader(db, path, troubles)
        for type in reader.types where name.map(type.schema.name.isWritten) ?? true {
          let lost = try reader.reading(type) { try reader.lostNumbers(of: type, at: moment) } ?? [:]
          try reader.forEachObject(of: type) { key, place in
            try Task.checkCancellation()
            let object = try reader.reading(type, key: key) {
              try reader.object(key, place, of: type, at: moment, lost)
            }
            if let object = object ?? nil { try body(object) }
          }
        }
        return troubles.report
      }
    }
    return report.joined(unread)
  }
}

/// The app's closure, made to run where it may read these databases: GRDB takes what runs on a connection's queue for a part
/// of that access. A database in memory has one connection, so there the closure is left as it is.
func outsideOfReads<Element>(
  of databases: [MagicData], _ body: @Sendable @escaping (Element) throws -> Void
) -> @Sendable (Element) throws -> Void {
  guard databases.allSatisfy({ $0.store.location != nil }) else { return body }
  let queue = DispatchQueue(label: "MagicData.Reading")
  return { element in try queue.sync { try HeldConnection.outside { try body(element) } } }
}

extension StateReader {
  /// What is damaged is said, and the rest is read.
  func reading<Result>(_ type: StoredType, key: ObjectKey? = nil, _ body: () throws -> Result) throws -> Result? {
    do {
      return try body()
    } catch let error as MagicDataError where error.code == .notADatabase {
      let what = "\(type.schema.name)\(key.map { " \($0.text)" } ?? "")"
      troubles.add(UnreadFile(path: path, code: error.code, message: "\(path), \(what): \(error.message)"))
      return nil
    }
  }
}

extension MagicData {
  func stamp(at moment: MagicMoment?) async throws -> Stamp {
    guard let moment else { return .latest }
    return try await OpenJournal.read([.database(self)]) { journal, _ in
      let stamp = try journal.stamp(at: moment)
      try journal.checkIsKnown(stamp)
      return stamp
    }.0
  }
}
