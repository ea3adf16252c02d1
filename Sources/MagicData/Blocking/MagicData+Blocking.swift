public import Foundation

extension MagicData {
  /// The database for code that is not asynchronous: its calls hold up the thread until they are done.
  ///
  /// Use it on a thread of your own, a dispatch queue's for one. While somebody else of the process writes, a call waits its
  /// turn, for ten seconds at most, and as long again for another process. On the main thread and within a task each wait is
  /// one second, since those threads are shared, and what it waits for may need this very one to go on; then it throws
  /// ``MagicDataError`` with `busy`. Code that can `await` uses the calls of ``MagicData``.
  public var blocking: Blocking { Blocking(store) }

  /// See ``MagicData/blocking``.
  public struct Blocking: Sendable {
    private let store: Store

    init(_ store: Store) {
      self.store = store
    }

    private var scope: Scope { .database(store) }

    /// Opens the program's own database, or makes it; see ``MagicData/init(reads:)``.
    public static func open(reads: MagicData.Reads = .copied) throws -> MagicData {
      try open(.file(DatabaseLocation.ofProgram(), mustExist: false), reads)
    }

    /// Opens the database at a path, or makes it; see ``MagicData/init(path:reads:)-(URL,_)``.
    ///
    /// ```swift
    /// let magic = try MagicData.Blocking.open(path: url)
    /// try magic.blocking.update(note)
    /// try magic.blocking.close()
    /// ```
    ///
    /// It may wait ten seconds for another process, on the main thread as well.
    /// - Throws: ``MagicDataError`` with `notFound`, `notADatabase`, `incompatible`, `notAllowed`, `full` or `busy`.
    public static func open(path: URL, reads: MagicData.Reads = .copied) throws -> MagicData {
      try open(.file(DatabaseLocation(checking: path), mustExist: false), reads)
    }

    /// Makes an empty database that goes away with the instance.
    public static func open(type: MagicData.Volatile) throws -> MagicData {
      switch type {
      case .memory: try open(.memory)
      case .temporary: try open(.temporary)
      }
    }

    private static func open(_ place: Store.Kind, _ reads: MagicData.Reads = .copied) throws -> MagicData {
      MagicData(store: try Store(place, reads: reads))
    }

    /// Closes the database; see ``MagicData/close()``. Waits for reads and writes that are on their way, on the main thread and
    /// in a task for a second.
    /// - Throws: ``MagicDataError`` with `busy` if they last longer, and the database is open as before.
    public func close() throws {
      do {
        try store.closeBlocking()
      } catch {
        throw MagicDataError(error, "the database could not be closed")
      }
    }

    /// Adds an object, or updates it; see ``MagicData/update(_:)``.
    @discardableResult
    public func update<Object: MagicObject>(_ object: Object) throws -> Int {
      try transaction { transaction in try transaction.update(object) }
    }

    /// Adds or updates many objects in one transaction; see ``MagicData/update(contentsOf:progress:)``.
    public func update<Object: MagicObject>(
      contentsOf objects: some Sequence<Object>, progress: ((_ saved: Int) -> Void)? = nil
    ) throws {
      try transaction { transaction in try transaction.updateWhole(objects, progress) }
    }

    /// Removes an object; see ``MagicData/remove(_:)``.
    public func remove<Object: MagicObject>(_ object: Object) throws {
      try transaction { transaction in try transaction.remove(object) }
    }

    /// Removes many objects in one transaction; see ``MagicData/remove(contentsOf:progress:)``.
    public func remove<Object: MagicObject>(
      contentsOf objects: some Sequence<Object>, progress: ((_ removed: Int) -> Void)? = nil
    ) throws {
      try transaction { transaction in try transaction.removeWhole(objects, progress) }
    }

    /// Removes all objects of a type in one transaction.
    public func removeAll<Object: MagicObject>(of: Object.Type) throws {
      try transaction { transaction in try transaction.removeAll(of: Object.self) }
    }

    /// All objects of a type, in the order of their z indexes; see ``MagicData/object(of:)``.
    public func object<Object: MagicObject>(of: Object.Type) throws -> [Object] {
      try scope.blockingObjects(of: Object.self)
    }

    /// The objects that a query asks for; see ``MagicQuery/all()``.
    public func all<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> [Object] {
      try scope.blockingObjects(query)
    }

    /// The first of the objects that a query asks for; see ``MagicQuery/first()``.
    public func first<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> Object? {
      try scope.blockingObjects(query.first).first
    }

    /// Removes the objects that a query asks for, all in one transaction; see ``MagicQuery/remove()``.
    /// - Returns: how many they were.
    @discardableResult
    public func remove<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> Int {
      try scope.blockingRemove(query)
    }

    /// How many objects a query asks for.
    public func count<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> Int {
      try scope.blockingCount(query)
    }

    /// How many objects of a type there are; see ``MagicData/count(of:)``.
    public func count<Object: MagicObject>(of: Object.Type) throws -> Int {
      try scope.blockingCount(MagicQuery<Object>(.database(store)))
    }

    /// The object with a primary value.
    /// - Throws: ``MagicDataError`` with `notFound` if there is none, `value` if a stored value cannot be read as its
    ///   property's type.
    public func object<Object: MagicObject>(of: Object.Type, primary: some MagicalPrimary) throws -> Object {
      try scope.blockingObject(of: Object.self, primary: primary)
    }

    /// Whether there is an object with a primary value, also one with values that this version of the app cannot read.
    public func has<Object: MagicObject>(of: Object.Type, primary: some MagicalPrimary) throws -> Bool {
      try scope.blockingHas(of: Object.self, primary)
    }

    /// Counts what the database holds, in one snapshot; see ``MagicData/statistics()``.
    ///
    /// - Throws: ``MagicDataError`` if the database cannot be read; of one in memory `busy`, and `transaction` within one.
    public func statistics() throws -> MagicStatistics {
      try store.readBlocking { db in try MagicStatistics(db) }
    }

    /// Runs several updates, removes and reads as one: all of it is stored, or nothing; see ``MagicData/transaction(_:)``.
    ///
    /// - Parameter body: is given the transaction, which is of no use afterwards. A write to the database itself would wait for
    ///   the body to end; that is an error. A read of it sees nothing of the transaction; of a database in memory it is that
    ///   error, too.
    /// - Throws: what `body` throws; ``MagicDataError`` with `busy`, `full` or `tooLarge`; `CancellationError` in a task that
    ///   was cancelled.
    @discardableResult
    public func transaction<Result>(_ body: (MagicBlockingTransaction) throws -> Result) throws -> Result {
      try OpenTransaction.run(blocking: store) { open in try body(MagicBlockingTransaction(open)) }
    }
  }
}
