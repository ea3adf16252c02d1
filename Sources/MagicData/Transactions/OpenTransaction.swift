internal import GRDB

/// A transaction whose body is running: the connection is in it, and the gate is taken, from begin to commit.
///
/// It lives with the body's owner, as the objects do that are saved in it.
final class OpenTransaction {
  let store: Store
  /// Puts back what the instances that were saved remember, in reverse order, if it comes to a rollback.
  private var memories: [(number: Int, memory: InstanceMemory)] = []
  private var lastMemory = 0
  /// How many at which those of instances that are gone are looked for.
  private var mostMemories = OpenTransaction.fewMemories
  private(set) var progress: LocalTransaction.Progress
  /// How many were made that are not undone.
  private(set) var changes = 0
  private var types: [(type: any MagicObject.Type, mapped: MappedType)] = []
  /// The level of the innermost nested transaction that is open, which alone may be used: each has a higher one than all
  /// before it.
  private(set) var level = 0
  private var lastLevel = 0
  private(set) var isOver = false
  /// The connection of a transaction whose body blocks: it runs within one access to it.
  let held: Connection?
  /// An actor's methods may come in between each other at each `await`.
  private var isInUse = false {
    didSet {
      guard !isInUse else { return }
      for waiting in waiting { waiting.resume() }
      waiting = []
    }
  }
  /// Whether a nested one ended while a call within it was under way: what the database holds is not known then, and nothing of
  /// it is kept.
  private var isBroken = false
  /// Who waits for the access that is under way.
  private var waiting: [CheckedContinuation<Void, Never>] = []

  private static let fewMemories = 1_024

  /// The caller has passed the gate.
  nonisolated(nonsending) static func begin(_ store: Store) async throws -> OpenTransaction {
    let progress = try await store.begin("a transaction could not be begun") { db in try LocalTransaction(db, store).progress }
    return OpenTransaction(store, progress)
  }

  init(_ store: Store, _ progress: LocalTransaction.Progress, holding held: Connection? = nil) {
    self.store = store
    self.progress = progress
    self.held = held
  }

  /// One access to the connection, which leaves nothing of itself if it throws.
  ///
  /// - Parameter isPart: whether that is undone by whoever asks.
  nonisolated(nonsending) func access<Result: Sendable>(
    isPart: Bool = false, _ body: @Sendable @escaping (Connection) throws -> Result
  ) async throws -> Result {
    try Task.checkCancellation()
    return try await connection { db in isPart ? try body(db) : try db.whole(body) }
  }

  nonisolated(nonsending) func change<Result: Sendable>(
    isPart: Bool, _ body: @Sendable @escaping (inout LocalTransaction) throws -> Result
  ) async throws -> Result {
    let (id, before) = (store.id, progress)
    let (result, after) = try await access(isPart: isPart) { db in try LocalTransaction.change(db, id, from: before, body) }
    changed(after)
    return result
  }

  /// A change that goes on while its caller does something else: nobody uses the transaction until it has been taken. What it
  /// leaves if it throws is undone by whoever asks.
  func start<Result: Sendable>(
    _ body: @Sendable @escaping (inout LocalTransaction) throws -> Result
  ) throws -> Task<(Result, LocalTransaction.Progress), any Error> {
    try checkFree()
    try Task.checkCancellation()
    isInUse = true
    let (store, before) = (store, progress)
    return Task {
      try await OpenTransaction.goOn(store) { db in try LocalTransaction.change(db, store.id, from: before, body) }
    }
  }

  /// Waits for what was started.
  nonisolated(nonsending) func take<Result>(_ change: Task<(Result, LocalTransaction.Progress), any Error>) async throws
    -> Result
  {
    defer { isInUse = false }
    let (result, after) = try await change.value
    changed(after)
    return result
  }

  func changed(_ after: LocalTransaction.Progress) {
    progress = after
    changes += 1
  }

  private func checkFree() throws {
    try checkOpen()
    guard !isBroken else {
      throw MagicDataError(
        .transaction, "a nested transaction ended in the middle of a call, so all is rolled back; let it wait for its calls")
    }
    guard !isInUse else {
      throw MagicDataError(.transaction, "the transaction is in the middle of another call; make one after the other")
    }
  }

  /// One call at a time: each goes on from what the one before has left.
  private nonisolated(nonsending) func connection<Result: Sendable>(
    _ body: @Sendable @escaping (Connection) throws -> Result
  ) async throws -> Result {
    try checkFree()
    isInUse = true
    defer { isInUse = false }
    return try await OpenTransaction.goOn(store, body)
  }

  private nonisolated(nonsending) static func goOn<Result: Sendable>(
    _ store: Store, _ body: @Sendable @escaping (Connection) throws -> Result
  ) async throws -> Result {
    try await store.accessNow("the transaction could not go on") { db in
      try db.checkInTransaction()
      return try body(db)
    }
  }

  private nonisolated(nonsending) func untilFree() async {
    while isInUse { await withCheckedContinuation { waiting.append($0) } }
  }

  func checkOpen() throws {
    guard !isOver else {
      throw MagicDataError(.transaction, "the transaction is over; what its body was given is of no use afterwards")
    }
  }

  nonisolated(nonsending) func mapped<Object: MagicObject>(_ type: Object.Type, _ layout: Layout) async throws -> MappedType {
    if let known = known(type) { return known }
    return learnt(try await access { db in try MappedType.find(layout, db) ?? MappedType.make(layout, db) }, type)
  }

  func known(_ type: any MagicObject.Type) -> MappedType? { types.first { $0.type == type }?.mapped }

  func learnt(_ mapped: MappedType, _ type: any MagicObject.Type) -> MappedType {
    types.append((type, mapped))
    return mapped
  }

  /// Runs `body` so that it can be rolled back alone.
  nonisolated(nonsending) func nested<Result>(
    _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    let savepoint = savepoint
    try Task.checkCancellation()
    try await connection { db in try db.beginPart() }
    let outer = descend()
    let own = level
    defer { level = outer }
    do {
      let result = try await body()
      try Task.checkCancellation()
      try checkInnermost(own)
      try await connection { db in try db.endPart() }
      return result
    } catch {
      // What is under way would be undone in part, or go on after it. Of one that is over everything is undone already.
      if isInUse || level != own { isBroken = true }
      guard !isBroken, !isOver else { throw error }
      isInUse = true
      defer { isInUse = false }
      rewind(to: savepoint)
      // Of a connection that is closed everything is undone already; what went wrong first is what counts.
      try? await store.accessNow("the transaction could not go on") { db in db.undoPart() }
      throw error
    }
  }

  /// Where a nested transaction began.
  struct Savepoint: Sendable {
    fileprivate let progress: LocalTransaction.Progress
    fileprivate let (changes, memory, types): (Int, Int, Int)
  }

  var savepoint: Savepoint { Savepoint(progress: progress, changes: changes, memory: lastMemory, types: types.count) }

  func rewind(to savepoint: Savepoint) {
    progress = savepoint.progress
    changes = savepoint.changes
    types.removeLast(types.count - savepoint.types)
    rewind(to: savepoint.memory, UndoneChanges(transaction: progress.name, changes: changes, first: progress.ordinal))
  }

  private func checkInnermost(_ own: Int) throws {
    guard level == own else {
      throw MagicDataError(
        .transaction, "a transaction ended while one that is nested in it was under way; let it wait for that")
    }
  }

  /// Runs `body` as the innermost.
  func deeper<Result>(_ body: () throws -> Result) rethrows -> Result {
    let outer = descend()
    defer { level = outer }
    return try body()
  }

  /// - Returns: the level to come back to.
  private func descend() -> Int {
    let outer = level
    lastLevel += 1
    level = lastLevel
    return outer
  }

  nonisolated(nonsending) func commit() async throws {
    let (store, progress) = (store, progress)
    try checkInnermost(0)
    try await connection { db in
      var transaction = LocalTransaction(db, store.id, progress)
      try transaction.finish(store.assets)
      // Its body may have taken long.
      try store.checkIsInPlace()
      try db.endWriting()
    }
    committed()
  }

  func committed() {
    store.commits.committed()
    isOver = true
    for (type, mapped) in types { store.remember(mapped, as: type) }
  }

  nonisolated(nonsending) func rollback() async {
    isOver = true
    await untilFree()
    rolledBack()
    // If this fails as well, SQLite has rolled back already, or does when the connection closes.
    try? await store.accessNow("the transaction could not be rolled back") { db in
      try db.undoWriting()
    }
  }

  func rolledBack() {
    isOver = true
    rewind(to: 0, UndoneChanges(transaction: progress.name, changes: 0, first: 0))
  }

  func remember(_ memory: InstanceMemory) {
    lastMemory += 1
    memories.append((lastMemory, memory))
    guard memories.count >= mostMemories else { return }
    memories.removeAll(where: \.memory.isGone)
    mostMemories = max(2 * memories.count, OpenTransaction.fewMemories)
  }

  private func rewind(to last: Int, _ undone: UndoneChanges) {
    var kept: [InstanceMemory] = []
    while let (number, memory) = memories.last, number > last {
      memories.removeLast()
      if memory.restore(undone) { kept.append(memory) }
    }
    // What still means an object may mean one that the rest of the transaction made.
    for memory in kept { remember(memory) }
  }
}
