internal import GRDB
internal import MagicJournal

/// Where an operation runs: in a transaction of its own, or in one that is open. The operations are written once, for both.
enum Scope {
  case database(Store)
  /// The whole database, for a fetch that is to know where the journal was.
  case observed(Store, PositionNote)
  /// - Parameter isPart: of a call that undoes all that it did if any of it fails: then what it is made of has no savepoints of
  ///   its own. SQLite copies into a file what each page was before a savepoint's first change of it, and the parts of a large
  ///   call change the same pages.
  case transaction(TransactionPlace, isPart: Bool = false)

  var store: Store {
    switch self {
    case .database(let store), .observed(let store, _): store
    case .transaction(let place, _): place.open.store
    }
  }

  /// Runs `body` while nobody else of this process writes, so that what an instance holds and what the database holds stay told
  /// apart: of two saves of one instance, the second sees what the first stored.
  nonisolated(nonsending) func exclusively<Result>(
    _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    switch self {
    case .database(let store), .observed(let store, _): try await store.exclusively(body)
    case .transaction: try await body()
    }
  }

  /// Within `exclusively`: a transaction of this replica, or a part of one.
  nonisolated(nonsending) func change<Result: Sendable>(
    _ body: @Sendable @escaping (inout LocalTransaction) throws -> Result
  ) async throws -> Result {
    switch self {
    case .database(let store), .observed(let store, _): try await store.change(body)
    case .transaction(let place, let isPart): try await place.checked.change(isPart: isPart, body)
    }
  }

  /// A change of objects. Of two of one instance, the second is made when the first is done.
  nonisolated(nonsending) func write<Done, Result>(_ make: () throws -> ObjectWrite<Done, Result>) async throws -> Result {
    try await exclusively {
      try await AssetsWentAway.retrying {
        let (write, before) = (try make(), changes)
        let (work, assets) = (write.work, try await stage(write.assets))
        guard before == changes else {
          throw MagicDataError(
            .transaction, "the transaction was changed while an asset of this call was written; make one call after the other")
        }
        return try write.finish(
          try await change { [store] transaction in
            try assets.place(in: store)
            return try work(&transaction, assets)
          }, assets)
      }
    }
  }

  /// How many changes the transaction has made; `nil` for the whole database, whose other writers are held off.
  private var changes: Int? { if case .transaction(let place, _) = self { place.open.changes } else { nil } }

  // Something has to follow the read within each of these: else Swift 6.3's optimizer takes the way back to the caller's actor
  // for one that nobody needs (`IsolationTests`).

  /// What mostly takes little, and may take long.
  ///
  /// - Parameters:
  ///   - isOneStatement: then it sees one moment by itself.
  ///   - pace: of reads like this one, if it is known.
  nonisolated(nonsending) func read<Result: Sendable>(
    isOneStatement: Bool = false, pace: SlowReadFlag? = nil, _ body: @Sendable @escaping (Connection) throws -> Result
  ) async throws -> Result {
    let result: Result
    switch self {
    case .database(let store): result = try await store.readBriefly(isOneStatement: isOneStatement, pace: pace, body)
    case .observed(let store, let note): result = try await store.readBriefly(note.noting(body))
    case .transaction(let place, _): result = try await place.checked.access(body)
    }
    try Task.checkCancellation()
    return result
  }

  /// An object's row, which one statement finds within microseconds.
  @inline(__always) nonisolated(nonsending) func row(_ type: MappedType, _ key: ObjectKey) async throws -> FetchedRow? {
    guard case .database(let store) = self else { return try await read { db in try FetchedRow.find(key, type, db) } }
    let row = try await store.row(type, key)
    try Task.checkCancellation()
    return row
  }

  /// The type's place in the database; makes its table, or the columns that are new, if need be.
  nonisolated(nonsending) func mapped<Object: MagicObject>(_ type: Object.Type) async throws -> MappedType {
    if let mapped = store.known(type) { return mapped }
    let layout = try store.layout(type)
    switch self {
    case .transaction(let place, _):
      return try await place.checked.mapped(type, layout)
    case .database(let store), .observed(let store, _):
      // A type that is known costs no wait for whoever writes.
      var mapped = try await store.read { db in try MappedType.find(layout, db) }
      if mapped == nil {
        do {
          mapped = try await store.write { db in try MappedType.make(layout, db) }
        } catch let error as MagicDataError where MappedType.canDoWithoutIndexes(error) {
          guard let found = try await store.read({ db in try MappedType.find(layout, db, hasIndexes: false) }) else {
            throw error
          }
          // Where others are at it, who asks again need not wait again; the next opening makes them.
          guard error.code != .transaction else { return found }
          mapped = found
        }
      }
      guard let mapped else { throw MagicDataError(.failed, "the type \(layout.name) found no place in the database") }
      store.remember(mapped, as: type)
      return mapped
    }
  }

  /// What is known of a type, for who only reads: `nil` if the database has never had such objects. Nothing is made then.
  nonisolated(nonsending) func mappedForReading<Object: MagicObject>(_ type: Object.Type) async throws -> MappedType? {
    if let mapped = store.known(type) { return mapped }
    let name = try store.layout(type).schema.identity
    guard try await read({ db in try StoredSchema(db).has(name) }) else { return nil }
    return try await mapped(type)
  }

  /// The places of a type and of all types of objects that it may hold; their tables are made if need be.
  nonisolated(nonsending) func types<Object: MagicObject>(of type: Object.Type) async throws -> [ObjectIdentifier: MappedType] {
    var types: [ObjectIdentifier: MappedType] = [:]
    var next: [any MagicObject.Type] = [type]
    while let type = next.popLast() {
      guard types[ObjectIdentifier(type)] == nil else { continue }
      let mapped = try await mapped(type)
      types[ObjectIdentifier(type)] = mapped
      next += mapped.relations.map(\.codec.target)
    }
    return types
  }

  /// The types that a fetch reads, the type itself first: without those of which the database has never had objects.
  nonisolated(nonsending) func typesForReading(of type: MappedType) async throws -> [MappedType] {
    var types = [type]
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(type.layout.type)]
    var index = 0
    while index < types.count {
      for relation in types[index].relations where seen.insert(ObjectIdentifier(relation.codec.target)).inserted {
        if let mapped = try await mappedForReading(relation.codec.target) { types.append(mapped) }
      }
      index += 1
    }
    return types
  }

  /// Puts the instance's memory back if the transaction is rolled back.
  func onRollback(_ memory: @autoclosure () -> InstanceMemory) {
    if case .transaction(let place, _) = self { place.open.remember(memory()) }
  }
}
