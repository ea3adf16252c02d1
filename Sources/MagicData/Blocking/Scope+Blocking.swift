internal import GRDB
internal import MagicJournal

/// The operations on objects for callers that block. A write on the database itself is a transaction of one.
extension Scope {
  func blockingUpdate<Object: MagicObject>(_ object: Object) throws -> Int {
    try writeBlocking(saving(object, as: mappedBlocking(Object.self)))
  }

  func blockingUpdate<Object: MagicObject>(part objects: [Object]) throws {
    for run in try saving(all: objects, as: mappedBlocking(Object.self)) { try writeBlocking(run) }
  }

  func blockingRemove<Object: MagicObject>(_ object: Object) throws {
    try writeBlocking(removing(object, as: mappedBlocking(Object.self)))
  }

  func blockingRemoveAll<Object: MagicObject>(of: Object.Type) throws {
    let type = try mappedBlocking(Object.self)
    try changeBlocking { transaction in try transaction.removeAll(of: type) }
  }

  func blockingObjects<Object: MagicObject>(of: Object.Type) throws -> [Object] {
    guard let type = try mappedForReadingBlocking(Object.self) else { return [] }
    return try objects(Object.self, try readBlocking { db in try FetchedRows(type, db) }, type.layout)
  }

  func blockingObject<Object: MagicObject>(of: Object.Type, primary: some MagicalPrimary) throws -> Object {
    guard let (rows, layout) = try blockingRow(of: Object.self, primary) else { throw missing(Object.self) }
    return try make(rows, 0, layout)
  }

  func blockingRow<Object: MagicObject>(of: Object.Type, _ primary: some MagicalPrimary) throws -> (FetchedRows, Layout)? {
    let key = try key(of: Object.self, primary)
    guard let type = try mappedForReadingBlocking(Object.self) else { return nil }
    let rows = try readBlocking { db in try FetchedRows(type, db, key: key) }
    return rows.count == 1 ? (rows, type.layout) : nil
  }

  // MARK: Access

  private func writeBlocking<Done, Result>(_ make: () throws -> ObjectWrite<Done, Result>) throws -> Result {
    let write = try make()
    return try write.finish(try changeBlocking(write.work))
  }

  private func changeBlocking<Result>(_ body: (inout LocalTransaction) throws -> Result) throws -> Result {
    switch self {
    case .database(let store): try OpenTransaction.run(blocking: store) { try $0.changeBlocking(body) }
    case .transaction(let open): try open.changeBlocking(body)
    }
  }

  private func readBlocking<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    switch self {
    case .database(let store): try store.readBlocking(body)
    case .transaction(let open): try open.accessBlocking(body)
    }
  }

  private func mappedForReadingBlocking<Object: MagicObject>(_ type: Object.Type) throws -> MappedType? {
    if let mapped = store.known(type) { return mapped }
    let name = try store.layout(type).schema.identity
    guard try readBlocking({ db in try StoredSchema(db).has(name) }) else { return nil }
    return try mappedBlocking(type)
  }

  private func mappedBlocking<Object: MagicObject>(_ type: Object.Type) throws -> MappedType {
    if let mapped = store.known(type) { return mapped }
    let layout = try store.layout(type)
    switch self {
    case .transaction(let open):
      return try open.mappedBlocking(type, layout)
    case .database(let store):
      if let mapped = try store.readBlocking({ db in try MappedType.find(layout, db) }) {
        store.remember(mapped, as: type)
        return mapped
      }
      return try OpenTransaction.run(blocking: store) { try $0.mappedBlocking(type, layout) }
    }
  }
}
