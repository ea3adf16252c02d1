internal import MagicData
internal import MagicJournal

/// All that a journal says of one object.
struct ObjectEntries: Sendable {
  struct Of: Sendable {
    let version: Version
    let replica: ReplicaID
    let sequence: UInt64
    let entry: Entry
  }

  let key: ObjectKey
  let type: TypeSchema
  /// The oldest first.
  let entries: [Of]

  /// As the merge folds it.
  var state: ObjectState {
    var state = ObjectState()
    for of in entries { state.fold(of.entry.operation, of.entry.fields, at: of.version, of: type) }
    return state
  }
}

extension JournalSource {
  /// Finds an object: in a database by its index, elsewhere, and where that leads to damage, by reading everything.
  ///
  /// - Parameter object: its primary value, number or birth, as a log prints it.
  /// - Throws: `MagicDataError` with `notFound`, which says what could not be read.
  func entries(of type: String, _ object: String) async throws -> (ObjectEntries, MagicReadReport) {
    let name = ObjectName(object)
    let lookedUp = try await lookedUp(type, name)
    let (found, report) = if let lookedUp { lookedUp } else { try await scanned(type, name) }
    guard let first = found.first else {
      let damage = report.unread.map(\.message) + report.gaps.map { "transactions of \($0.replica) are missing" }
      let unknown = try await self.unknown(type: type)
      throw MagicDataError(
        .notFound,
        (unknown ?? "there is no \(type) \(object); `magic-replay log SOURCE --type \(type)` prints those there are")
          + (damage.isEmpty ? "" : ". Not all of it could be read: \(damage.prefix(3).joined(separator: "; "))"))
    }
    guard found.count == 1 else {
      let names = found.map(\.key.text).sorted().joined(separator: ", ")
      throw MagicDataError(.notFound, "several objects are called \(type) \(object): \(names); name one so")
    }
    return (first, report)
  }

  /// `nil` for what is no database, or a damaged one.
  private func lookedUp(_ type: String, _ name: ObjectName) async throws -> ([ObjectEntries], MagicReadReport)? {
    guard let magic = database else { return nil }
    return try await magic.store.read { db in
      let journal = try JournalReader(db)
      var report = fetchReport
      report.historyBegins = try journal.floor().highest?.date
      do {
        return (try journal.entries(of: type, name, db), report)
      } catch let error as MagicDataError where error.code == .notADatabase {
        return nil
      }
    }
  }

  /// A number is looked for in a reading of its own.
  private func scanned(_ type: String, _ name: ObjectName) async throws -> ([ObjectEntries], MagicReadReport) {
    try await OpenJournal.read([self]) { journal, checkCancelled in
      let holder = try name.number.flatMap { try journal.holder(of: $0, type, checkCancelled) }
      var (filter, union) = (EntryFilter(type: type), UnionSchema())
      var found: [TypedKey: [ObjectEntries.Of]] = [:]
      try journal.forEachTransaction(JournalWindow()) { transaction, schema in
        try checkCancelled()
        for entry in transaction.entries where filter.has(entry, schema.schema) {
          guard name.isIdentity(entry.key) || entry.key == holder else { continue }
          let entry = entry.translated(union.learn(schema))
          found[TypedKey(type: entry.type, key: entry.key), default: []].append(
            .init(version: transaction.version, replica: transaction.replica, sequence: transaction.sequence, entry: entry))
        }
      }
      return found.map { ObjectEntries(key: $0.key, type: union.schema.types[$0.type], entries: $1) }
    }
  }
}

extension Name {
  /// By its bytes (L-3).
  func isWritten(_ text: String) -> Bool { self.text.utf8.elementsEqual(text.utf8) }
}

extension OpenJournal {
  /// The object of a type whose claim comes to a number (M-16, M-17); `nil` for a number that an app has set.
  fileprivate func holder(of number: Int64, _ type: String, _ checkCancelled: () throws -> Void) throws -> ObjectKey? {
    var numbers = Numbers()
    try forEachTransaction(JournalWindow()) { transaction, schema in
      try checkCancelled()
      let types = schema.schema.types
      for entry in transaction.entries where types[entry.type].hasNumbers && types[entry.type].name.isWritten(type) {
        numbers.add(entry)
      }
    }
    return numbers.shown.first { $0.value == number }.map { .birth($0.key) }
  }
}

extension JournalReader {
  fileprivate func entries(of name: String, _ object: ObjectName, _ db: Connection) throws -> [ObjectEntries] {
    var found: [ObjectEntries] = []
    for type in schema.types where type.schema.name.isWritten(name) {
      let table = ObjectTable(type, db)
      for key in try table.keys(of: object) {
        guard let place = try table.place(of: key) ?? table.absentPlace(of: key), !place.last.isNone else { continue }
        var entries: [ObjectEntries.Of] = []
        try forEachEntry(from: place.last) { stamp, root, place, entry in
          let (replica, sequence) = try address(ofRow: place.row)
          entries.append(.init(version: Version(stamp: stamp, root: root), replica: replica, sequence: sequence, entry: entry))
        }
        found.append(ObjectEntries(key: key, type: type.schema, entries: entries.sorted { $0.version < $1.version }))
      }
    }
    return found
  }
}

extension ObjectTable {
  /// What a person may mean by a primary value, a number or a birth.
  fileprivate func keys(of name: ObjectName) throws -> Set<ObjectKey> {
    var keys: Set<ObjectKey> = []
    if type.schema.primary?.kind == .text { keys.insert(.primary(.text(name.text))) }
    if type.schema.hasNumbers, let number = name.number { keys.insert(try named(by: .primary(.integer(number)))) }
    if type.schema.hasBirths, let birth = name.birth { keys.insert(.birth(birth)) }
    return keys
  }
}
