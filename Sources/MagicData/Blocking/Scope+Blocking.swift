internal import GRDB
internal import MagicJournal

/// The operations on objects for callers that block. A write on the database itself is a transaction of one.
extension Scope {
  func blockingUpdate<Object: MagicObject>(_ object: Object) throws -> Int {
    let type = try blockingMapped(Object.self)
    guard type.layout.hasRelations else { return try blockingWrite(saving(object, as: type)) }
    return try blockingWrite(saving(graphs: [object], as: type, among: blockingTypes(of: Object.self)))[0]
  }

  func blockingUpdate<Object: MagicObject>(part objects: [Object]) throws {
    let type = try blockingMapped(Object.self)
    guard type.layout.hasRelations else {
      for run in try saving(all: objects, as: type) { try blockingWrite(run) }
      return
    }
    _ = try blockingWrite(saving(graphs: objects, as: type, among: blockingTypes(of: Object.self)))
  }

  func blockingRemove<Object: MagicObject>(_ object: Object) throws {
    var seen: [InstanceIdentity: Instance] = [:]
    try blockingRemove(part: [object], &seen)
  }

  func blockingRemove<Object: MagicObject>(part objects: [Object], _ seen: inout [InstanceIdentity: Instance]) throws {
    try blockingWrite(removing(objects, as: blockingMapped(Object.self), &seen))
  }

  func blockingRemoveAll<Object: MagicObject>(of: Object.Type) throws {
    let type = try blockingMapped(Object.self)
    try blockingChange { transaction in try transaction.removeAll(of: type) }
  }

  func blockingObjects<Object: MagicObject>(of: Object.Type) throws -> [Object] {
    guard let type = try blockingMappedForReading(Object.self) else { return [] }
    return try objects(Object.self, try blockingFetch(type))
  }

  func blockingObject<Object: MagicObject>(of: Object.Type, primary: some MagicalPrimary) throws -> Object {
    let key = try key(of: Object.self, primary)
    guard let type = try blockingMappedForReading(Object.self),
      let found = try blockingFind(type, key)
    else { throw missing(Object.self) }
    return try object(Object.self, found)
  }

  func blockingHas<Object: MagicObject>(of: Object.Type, _ primary: some MagicalPrimary) throws -> Bool {
    let key = try key(of: Object.self, primary)
    guard let type = try blockingMappedForReading(Object.self) else { return false }
    return try blockingRead { db in try FetchedRow.find(key, type, db) != nil }
  }

  func blockingObjects<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> [Object] {
    guard let queried = try blockingMapped(query) else { return [] }
    let (plan, type) = (query.plan, queried.type)
    let types = type.layout.hasRelations ? try blockingTypesForReading(of: type) : []
    let fetched = try blockingRead { [store] db in
      try Fetched(FetchedRows(plan, queried, db, asInstancesIn: store), type, types, db)
    }
    return try objects(Object.self, fetched)
  }

  func blockingCount<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> Int {
    guard let types = try blockingMapped(query) else { return 0 }
    return try blockingRead { db in
      var select = try QueryText.count(query.plan, types, db).statement(db)
      return try select.step() ? select.int(0) : 0
    }
  }

  func blockingRemove<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> Int {
    guard let types = try blockingMapped(query) else { return 0 }
    return try blockingChange { transaction in try transaction.remove(query.plan, types) }
  }

  private func blockingMapped<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> QueryTypes? {
    guard query.isOfDatabase, query.store === store else {
      throw MagicDataError(
        .query,
        "the query is another \(query.isOfDatabase ? "database" : "transaction")'s: ask who blocks with one of `magic.query(of:)`"
      )
    }
    try query.plan.check()
    guard let type = try blockingMappedForReading(Object.self) else { return nil }
    let related = try query.plan.targets.compactMap { try blockingMappedForReading($0) }
    return QueryTypes(query.plan, type, related: related, in: store)
  }

  private func blockingFetch(_ type: MappedType) throws -> Fetched {
    let types = type.layout.hasRelations ? try blockingTypesForReading(of: type) : []
    return try blockingRead { [store] db in try Fetched(type, types, db, in: store) }
  }

  private func blockingFind(_ type: MappedType, _ key: ObjectKey) throws -> Found? {
    let types = type.layout.hasRelations ? try blockingTypesForReading(of: type) : []
    return try blockingRead { db in try Found(key, type, types, db) }
  }

  // MARK: Access

  private func blockingWrite<Done, Result>(_ make: () throws -> ObjectWrite<Done, Result>) throws -> Result {
    try AssetsWentAway.retryingBlocking {
      let write = try make()
      let assets = try stageBlocking(write.assets)
      return try write.finish(
        try blockingChange { transaction in
          try assets.place(in: store)
          return try write.work(&transaction, assets)
        }, assets)
    }
  }

  private func blockingChange<Result>(_ body: (inout LocalTransaction) throws -> Result) throws -> Result {
    switch self {
    case .database(let store), .observed(let store, _):
      try OpenTransaction.run(blocking: store) { try $0.changeBlocking(isPart: true, body) }
    case .transaction(let place, let isPart): try place.checked.changeBlocking(isPart: isPart, body)
    }
  }

  private func blockingRead<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    switch self {
    case .database(let store), .observed(let store, _): try store.readBlocking(body)
    case .transaction(let place, _): try place.checked.accessBlocking(body)
    }
  }

  private func blockingMappedForReading<Object: MagicObject>(_ type: Object.Type) throws -> MappedType? {
    if let mapped = store.known(type) { return mapped }
    let name = try store.layout(type).schema.identity
    guard try blockingRead({ db in try StoredSchema(db).has(name) }) else { return nil }
    return try blockingMapped(type)
  }

  private func blockingMapped<Object: MagicObject>(_ type: Object.Type) throws -> MappedType {
    if let mapped = store.known(type) { return mapped }
    let layout = try store.layout(type)
    switch self {
    case .transaction(let place, _):
      return try place.checked.mappedBlocking(type, layout)
    case .database(let store), .observed(let store, _):
      if let mapped = try store.readBlocking({ db in try MappedType.find(layout, db) }) {
        store.remember(mapped, as: type)
        return mapped
      }
      do {
        return try OpenTransaction.run(blocking: store) { try $0.mappedBlocking(type, layout) }
      } catch let error as MagicDataError where MappedType.canDoWithoutIndexes(error) {
        guard let mapped = try store.readBlocking({ db in try MappedType.find(layout, db, hasIndexes: false) }) else {
          throw error
        }
        if error.code != .transaction { store.remember(mapped, as: type) }
        return mapped
      }
    }
  }

  private func blockingTypes<Object: MagicObject>(of type: Object.Type) throws -> [ObjectIdentifier: MappedType] {
    var types: [ObjectIdentifier: MappedType] = [:]
    var next: [any MagicObject.Type] = [type]
    while let type = next.popLast() {
      guard types[ObjectIdentifier(type)] == nil else { continue }
      let mapped = try blockingMapped(type)
      types[ObjectIdentifier(type)] = mapped
      next += mapped.relations.map(\.codec.target)
    }
    return types
  }

  private func blockingTypesForReading(of type: MappedType) throws -> [MappedType] {
    var types = [type]
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(type.layout.type)]
    var index = 0
    while index < types.count {
      for relation in types[index].relations where seen.insert(ObjectIdentifier(relation.codec.target)).inserted {
        if let mapped = try blockingMappedForReading(relation.codec.target) { types.append(mapped) }
      }
      index += 1
    }
    return types
  }
}
