/// The database, within a transaction whose body blocks: see ``MagicData/Blocking/transaction(_:)``.
public final class MagicBlockingTransaction {
  private let place: TransactionPlace

  init(_ open: OpenTransaction) {
    place = TransactionPlace(open)
  }

  /// Adds an object, or updates it; see ``MagicData/update(_:)``. If it throws, nothing of it is stored, and the transaction
  /// can go on.
  @discardableResult
  public func update<Object: MagicObject>(_ object: Object) throws -> Int {
    try place.scope.blockingUpdate(object)
  }

  /// Adds or updates many objects; see ``MagicData/update(contentsOf:progress:)``.
  public func update<Object: MagicObject>(
    contentsOf objects: some Sequence<Object>, progress: ((_ saved: Int) -> Void)? = nil
  ) throws {
    try place.check()
    try place.open.nestedBlocking { try updateWhole(objects, progress) }
  }

  /// Removes an object; see ``MagicData/remove(_:)``.
  public func remove<Object: MagicObject>(_ object: Object) throws {
    try place.scope.blockingRemove(object)
  }

  /// Removes many objects; see ``MagicData/remove(contentsOf:progress:)``. If it throws, none is removed, and the transaction
  /// can go on.
  public func remove<Object: MagicObject>(
    contentsOf objects: some Sequence<Object>, progress: ((_ removed: Int) -> Void)? = nil
  ) throws {
    try place.check()
    try place.open.nestedBlocking { try removeWhole(objects, progress) }
  }

  /// Removes all objects of a type.
  public func removeAll<Object: MagicObject>(of: Object.Type) throws {
    try place.scope.blockingRemoveAll(of: Object.self)
  }

  /// All objects of a type, with what this transaction has changed so far.
  public func object<Object: MagicObject>(of: Object.Type) throws -> [Object] {
    try place.scope.blockingObjects(of: Object.self)
  }

  /// The objects that a query asks for, with what this transaction has changed so far; see ``MagicQuery/all()``.
  public func all<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> [Object] {
    try place.scope.blockingObjects(query)
  }

  /// The first of the objects that a query asks for, with what this transaction has changed so far; see ``MagicQuery/first()``.
  public func first<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> Object? {
    try place.scope.blockingObjects(query.first).first
  }

  /// Removes the objects that a query asks for; see ``MagicQuery/remove()``.
  /// - Returns: how many they were.
  @discardableResult
  public func remove<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> Int {
    try place.scope.blockingRemove(query)
  }

  /// How many objects a query asks for, with what this transaction has changed so far.
  public func count<Object: MagicObject>(_ query: MagicQuery<Object>) throws -> Int {
    try place.scope.blockingCount(query)
  }

  /// The object with a primary value, with what this transaction has changed so far.
  /// - Throws: ``MagicDataError`` with `notFound` if there is none.
  public func object<Object: MagicObject>(of: Object.Type, primary: some MagicalPrimary) throws -> Object {
    try place.scope.blockingObject(of: Object.self, primary: primary)
  }

  /// Whether there is an object with a primary value, with what this transaction has changed so far.
  public func has<Object: MagicObject>(of: Object.Type, primary: some MagicalPrimary) throws -> Bool {
    try place.scope.blockingHas(of: Object.self, primary)
  }

  /// A transaction within this one: if `body` throws, what it did is undone, and this transaction can go on.
  @discardableResult
  public func transaction<Result>(_ body: (MagicBlockingTransaction) throws -> Result) throws -> Result {
    try place.check()
    return try place.open.nestedBlocking { try body(MagicBlockingTransaction(place.open)) }
  }
}

extension MagicBlockingTransaction {
  /// If it throws, whoever calls it undoes what was done.
  func updateWhole<Object: MagicObject>(_ objects: some Sequence<Object>, _ progress: ((_ saved: Int) -> Void)?) throws {
    let scope = Scope.transaction(place.innermost, isPart: true)
    var parts = Parts(objects)
    while let part = parts.next() {
      try scope.blockingUpdate(part: part)
      progress?(parts.taken)
      try Task.checkCancellation()
    }
  }

  /// If it throws, whoever calls it undoes what was done.
  func removeWhole<Object: MagicObject>(_ objects: some Sequence<Object>, _ progress: ((_ removed: Int) -> Void)?) throws {
    let scope = Scope.transaction(place.innermost, isPart: true)
    var (parts, seen) = (Parts(objects), [InstanceIdentity: Instance]())
    while let part = parts.next() {
      try scope.blockingRemove(part: part, &seen)
      progress?(parts.taken)
      try Task.checkCancellation()
    }
  }
}
