internal import GRDB

/// A transaction whose body blocks: it runs on one thread, within one access to the connection.
extension OpenTransaction {
  static func run<Result>(blocking store: Store, _ body: (OpenTransaction) throws -> Result) throws -> Result {
    try store.exclusivelyBlocking {
      var open: OpenTransaction?
      do {
        let result = try store.writeBlocking { db in
          let progress = try Store.failing("a transaction could not be begun") {
            try LocalTransaction(db, store).progress
          }
          let transaction = OpenTransaction(store, progress, holding: db)
          open = transaction
          let result = try RunningTransaction.run(blocking: store) { try body(transaction) }
          try Task.checkCancellation()
          try transaction.finishBlocking()
          return result
        }
        open?.committed()
        return result
      } catch {
        open?.rolledBack()
        throw error
      }
    }
  }

  /// One access to the connection, which leaves nothing of itself if it throws.
  ///
  /// - Parameter isPart: whether that is undone by whoever asks.
  func accessBlocking<Result>(isPart: Bool = false, _ body: (Connection) throws -> Result) throws -> Result {
    try connectionBlocking { db in isPart ? try body(db) : try db.whole(body) }
  }

  func changeBlocking<Result>(isPart: Bool, _ body: (inout LocalTransaction) throws -> Result) throws -> Result {
    let (result, after) = try accessBlocking(isPart: isPart) { db in
      try LocalTransaction.change(db, store.id, from: progress, body)
    }
    changed(after)
    return result
  }

  func mappedBlocking<Object: MagicObject>(_ type: Object.Type, _ layout: Layout) throws -> MappedType {
    if let known = known(type) { return known }
    return learnt(try accessBlocking { db in try MappedType.find(layout, db) ?? MappedType.make(layout, db) }, type)
  }

  func nestedBlocking<Result>(_ body: () throws -> Result) throws -> Result {
    let savepoint = savepoint
    try connectionBlocking { db in try db.beginPart() }
    do {
      let result = try deeper(body)
      try connectionBlocking { db in try db.endPart() }
      return result
    } catch {
      rewind(to: savepoint)
      held?.undoPart()
      throw error
    }
  }

  private func finishBlocking() throws {
    try connectionBlocking { db in
      var transaction = LocalTransaction(db, store.id, progress)
      try transaction.finish(store.assets)
    }
  }

  private func connectionBlocking<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try checkOpen()
    guard let held else { preconditionFailure("a transaction that blocks holds its connection") }
    return try Store.failing("the transaction could not go on") {
      try held.checkInTransaction()
      return try HeldConnection.run(of: store) { try body(held) }
    }
  }
}
