internal import MagicData
internal import MagicJournal

/// The history of an object, a part of which is undone.
struct UndoneHistory {
  struct Item {
    let version: Version
    let address: TransactionAddress
    /// The transaction's row in the journal.
    let row: Int64
    let entry: Entry
    fileprivate(set) var isUndone: Bool
  }

  private let schema: TypeSchema
  /// With all entries.
  let now: ObjectState
  /// In the order of their versions.
  private let items: [Item]
  /// The first of each version, by its index.
  private let firsts: [Version: Int]

  /// - Parameter isUndone: whether the transaction with this stamp and address is.
  init(
    _ journal: JournalReader, from last: EntryPlace, of schema: TypeSchema, isUndone: (Stamp, TransactionAddress) -> Bool
  ) throws {
    self.schema = schema
    var (now, items) = (ObjectState(), [Item]())
    try journal.forEachEntry(from: last) { stamp, root, place, entry in
      let (replica, sequence) = try journal.address(ofRow: place.row)
      let address = TransactionAddress(replica: replica, sequence: sequence)
      let version = Version(stamp: stamp, root: root)
      now.fold(entry.operation, entry.fields, at: version, of: schema)
      items.append(
        Item(version: version, address: address, row: place.row, entry: entry, isUndone: isUndone(stamp, address)))
    }
    items.sort { $0.version < $1.version }
    // What is held under two ids is one transaction (J-3).
    let undone = Dictionary(grouping: items.filter(\.isUndone), by: \.version)
    for index in items.indices where !items[index].isUndone {
      guard let same = undone[items[index].version] else { continue }
      let name = try journal.name(ofRow: items[index].row)
      items[index].isUndone = try same.contains { try journal.name(ofRow: $0.row) == name }
    }
    firsts = Dictionary(items.enumerated().map { ($0.element.version, $0.offset) }) { first, _ in first }
    (self.now, self.items) = (now, items)
  }

  var firstUndone: Version? { items.first(where: \.isUndone)?.version }

  /// The last entry that stays.
  var lastKept: Item? { items.last { !$0.isUndone }.flatMap { firsts[$0.version] }.map { items[$0] } }

  /// The entry with a version, unless it is undone.
  func kept(at version: Version) -> Item? {
    firsts[version].map { items[$0] }.flatMap { $0.isUndone ? nil : $0 }
  }

  /// Whether what made the object is undone, and nobody else wrote to it before.
  var isMadeByUndone: Bool {
    guard let first = items.first(where: { $0.entry.operation.isLife }), first.isUndone else { return false }
    return !items.contains { !$0.isUndone && $0.version < first.version }
  }

  /// What the entries come to that are not undone, and whether the object is there only since a revival that is.
  func withoutUndone() -> (state: ObjectState, isMadeByRevival: Bool) {
    var state = ObjectState()
    let undoneRemoves = Set(items.filter { $0.isUndone && $0.entry.operation.isRemove }.map(\.version.stamp))
    let lastRevival = items.last { $0.isUndone && $0.entry.operation.code == .revival }?.version
    var isMadeByRevival = lastRevival != nil
    for item in items where !item.isUndone {
      let operation = item.entry.operation
      // Without the remove nobody would have purged what it removed.
      if let remove = operation.knownRemove, undoneRemoves.contains(remove.stamp) { continue }
      state.fold(operation, item.entry.fields, at: item.version, of: schema)
      // It was there when it was made again, or others have removed it since, or made it again.
      if let lastRevival {
        if item.version < lastRevival { isMadeByRevival = !state.isAlive }
        if item.version > lastRevival, operation.isRemove || operation.code == .revival { isMadeByRevival = false }
      }
    }
    return (state, isMadeByRevival)
  }

  func earliestUndone() -> EarliestWrites {
    var earliest = EarliestWrites()
    for item in items where item.isUndone { earliest.add(item.entry.fields, at: item.version, of: schema) }
    return earliest
  }
}
