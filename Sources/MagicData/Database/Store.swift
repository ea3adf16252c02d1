internal import Foundation
package import GRDB
internal import MagicJournal

/// An open database file: connections, the tables of the journal, and what is known of the app's types.
package final class Store: Sendable {
  package enum Kind: Sendable {
    case file(DatabaseLocation, mustExist: Bool)
    case temporary
    case memory
  }

  package let database: any DatabaseWriter
  package let location: DatabaseLocation?
  package let surroundings: Surroundings
  /// Whether this opening made the database.
  package let isNew: Bool
  /// Names the file to the objects that are fetched from it.
  let id: Identifier
  private let types = Locked<Types>(Types())
  /// Goes away with the store.
  private let temporaryFolder: URL?

  /// How long a write waits for another process's before it gives up.
  private static let busySeconds: TimeInterval = 10

  package init(_ kind: Kind, _ surroundings: Surroundings = .system) throws {
    self.surroundings = surroundings
    switch kind {
    case .memory:
      location = nil
      temporaryFolder = nil
      database = try DatabaseQueue(configuration: Store.configuration(mustExist: false))
    case .temporary:
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("magicdata-\(UUID())", isDirectory: true)
      temporaryFolder = folder
      let location = DatabaseLocation(folder)
      self.location = location
      database = try Store.open(location, mustExist: false)
    case .file(let location, let mustExist):
      temporaryFolder = nil
      self.location = location
      database = try Store.open(location, mustExist: mustExist)
    }
    do {
      // A database that is there already is opened without waiting for whoever writes to it.
      let known = try database.read(Store.name)
      id = try known ?? database.write { db in try Store.prepare(db, surroundings) }
      isNew = known == nil
    } catch {
      throw MagicDataError(error, "the database could not be prepared")
    }
  }

  deinit {
    guard let temporaryFolder else { return }
    try? database.close()
    try? FileManager.default.removeItem(at: temporaryFolder)
  }

  func close() async throws {
    // Others may be reading from the WAL, which then stays; that is no failure.
    if database is DatabasePool {
      _ = try? await database.writeWithoutTransaction { db in try db.checkpoint(.full) }
    }
    try database.close()
  }

  private static func open(_ location: DatabaseLocation, mustExist: Bool) throws -> DatabasePool {
    let path = location.file.path
    try location.check()
    if mustExist {
      guard location.exists else {
        throw access(path, F_OK) != 0 && errno == EACCES
          ? MagicDataError(.notAllowed, "\(path) cannot be looked at; check the permissions of its folders")
          : MagicDataError(.notFound, "there is no database at \(path)")
      }
    } else {
      try location.makeFolder()
    }
    do {
      return try DatabasePool(path: path, configuration: configuration(mustExist: mustExist))
    } catch {
      throw MagicDataError(error, "\(path) could not be opened")
    }
  }

  private static func configuration(mustExist: Bool) -> Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(busySeconds)
    configuration.foreignKeysEnabled = false
    // Runs before the file is changed in any way, so that a file of somebody else's stays as it was.
    configuration.prepareDatabase { db in try recognise(db, mustExist: mustExist) }
    return configuration
  }

  private static func recognise(_ db: Database, mustExist: Bool) throws {
    let id = try Int.fetchOne(db, sql: "PRAGMA application_id")
    let format = try Int.fetchOne(db, sql: "PRAGMA user_version")
    if id == Statements.applicationID {
      guard format == Statements.format else {
        throw MagicDataError(
          .incompatible,
          "the database has format \(format ?? 0), and this version knows \(Statements.format); use a newer version")
      }
      return
    }
    guard id == 0, try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0, !mustExist else {
      throw MagicDataError(.notADatabase, "it is an SQLite file, and no MagicData database")
    }
  }

  /// What the file calls itself; `nil` if it is new.
  private static func name(_ db: Database) throws -> Identifier? {
    guard try Int.fetchOne(db, sql: "PRAGMA application_id") == Statements.applicationID else { return nil }
    return try DatabaseState(db).store
  }

  /// Makes the tables of a database that is new, unless another process just did.
  private static func prepare(_ db: Database, _ surroundings: Surroundings) throws -> Identifier {
    if let name = try name(db) { return name }
    try db.execute(sql: Statements.create)
    var generator = Chance(surroundings)
    let replica = Identifier.random(using: &generator)
    let row = try JournalWriter.row(of: replica, db)
    var insert = try SQL(db, Statements.insertDatabase)
    try insert.bind(Identifier.random(using: &generator))
    try insert.bind(row)
    try insert.bind(Stamp.earliest)
    try insert.bind(Identifier.random(using: &generator))
    try insert.run()
    return try DatabaseState(db).store
  }

  /// The type's place in this database; makes its table, or the columns that are new, if need be.
  func mapped<Object: MagicObject>(_ type: Object.Type) async throws -> MappedType {
    let key = ObjectIdentifier(type)
    if let mapped = types.withLock({ $0.mapped[key] }) { return mapped }
    let layout = try Layout.of(type)
    try types.withLock { try $0.claim(layout.schema.identity, for: type) }
    // A type that is known costs no wait for whoever writes.
    let known = try await read { db in try StoredSchema(db).find(layout.schema).map { MappedType(layout, $0, $1) } }
    let mapped: MappedType
    if let known {
      mapped = known
    } else {
      mapped = try await write { db in
        var schema = try StoredSchema(db)
        try schema.checkTakenOver(layout, db)
        let learnt = try schema.learn(Schema(types: [layout.schema]), db)[0]
        return MappedType(layout, schema.types[learnt.id], learnt.fields)
      }
    }
    // Only what is committed is remembered: a field id that was rolled back could be given to another field.
    types.withLock { $0.mapped[key] = mapped }
    return mapped
  }

  private struct Types {
    var mapped: [ObjectIdentifier: MappedType] = [:]
    var names: [TypeSchema.Identity: any MagicObject.Type] = [:]

    /// Two Swift types of one name would read and write each other's objects.
    mutating func claim(_ name: TypeSchema.Identity, for type: any MagicObject.Type) throws {
      if let other = names[name], other != type {
        throw MagicDataError(
          .model,
          """
          \(String(reflecting: other)) and \(String(reflecting: type)) are both stored as \(name.name); give one of them a static \
          magicName of its own
          """)
      }
      names[name] = type
    }
  }

  package func read<Result: Sendable>(_ body: @Sendable @escaping (Database) throws -> Result) async throws -> Result {
    do {
      return try await database.read(body)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw MagicDataError(error, "the database could not be read")
    }
  }

  package func write<Result: Sendable>(_ body: @Sendable @escaping (Database) throws -> Result) async throws -> Result {
    do {
      return try await database.write(body)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw MagicDataError(error, "the database could not be written")
    }
  }
}

/// A type's layout and where its properties are in a database.
struct MappedType: Sendable {
  let layout: Layout
  let stored: StoredType
  /// For each property its field; `nil` for the primary value, which is in the key's column.
  let fields: [Int?]

  init(_ layout: Layout, _ stored: StoredType, _ learnt: [Int]) {
    self.layout = layout
    self.stored = stored
    var rest = learnt[...]
    fields = layout.properties.map { $0.role == .primary ? nil : rest.popFirst() }
  }

  /// The fields that an object has to have to be shown (M-6).
  var required: [Int] {
    zip(layout.properties, fields).compactMap { property, field in property.canBeAbsent ? nil : field }
  }
}

/// Random numbers from the surroundings.
package struct Chance: RandomNumberGenerator {
  private let surroundings: Surroundings

  package init(_ surroundings: Surroundings) {
    self.surroundings = surroundings
  }

  package mutating func next() -> UInt64 { surroundings.random() }
}
