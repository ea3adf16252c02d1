internal import MagicData
internal import MagicJournal

/// Works out what undoing comes to.
struct UndoPlanner {
  private let db: Connection
  private let journal: JournalReader
  private let selection: UndoSelection
  private let transactions: Set<UndoAddress>
  private let since: Stamp?
  private var made: UndoPlan

  private init(_ db: Connection, _ selection: UndoSelection, _ transactions: [UndoAddress], _ since: Stamp?) throws {
    (self.db, self.selection, self.transactions, self.since) = (db, selection, Set(transactions), since)
    made = UndoPlan(selection)
    journal = try JournalReader(db)
  }

  private func has(_ replica: ReplicaID) -> Bool {
    selection.replicas.isEmpty || selection.replicas.contains { replica.begins(with: $0) }
  }

  private func has(_ type: StoredType) -> Bool {
    selection.types.isEmpty || selection.types.contains { type.schema.name.isWritten($0) }
  }

  private func has(_ stamp: Stamp, _ address: UndoAddress) -> Bool {
    if transactions.contains(address) { return true }
    return since.map { stamp >= $0 } ?? false && has(address.replica)
  }

  static func plan(
    _ db: Connection, _ selection: UndoSelection, _ transactions: [UndoAddress], _ since: Stamp?
  ) throws -> UndoPlan {
    var planner = try UndoPlanner(db, selection, transactions, since)
    return try planner.plan()
  }

  private mutating func plan() throws -> UndoPlan {
    for (type, key) in try touched() { try undo(key, of: journal.schema.types[type]) }
    return made
  }

  /// The objects that are spoken of, in a fixed order.
  private func touched() throws -> [(type: Int, key: ObjectKey)] {
    var seen: Set<Spoken> = []
    var touched: [(type: Int, key: ObjectKey)] = []
    func add(_ transaction: Transaction) throws {
      try Task.checkCancellation()
      for entry in transaction.entries where has(journal.schema.types[entry.type]) {
        if seen.insert(Spoken(type: entry.type, key: entry.key)).inserted { touched.append((entry.type, entry.key)) }
      }
    }
    for address in transactions.sorted(by: { ($0.replica, $0.sequence) < ($1.replica, $1.sequence) }) {
      for transaction in try journal.transactions(of: address.replica, from: address.sequence, atMost: 1) {
        try add(transaction)
      }
    }
    if let since {
      let frontier = try journal.frontier()
      for replica in frontier.replicas where has(replica) {
        let first = try journal.firstSequence(of: replica, from: since, through: frontier[replica])
        try journal.forEachTransaction(of: replica, after: first - 1) { try add($0) }
      }
    }
    return touched
  }

  private struct Spoken: Hashable {
    let type: Int
    let key: ObjectKey
  }

  private mutating func undo(_ key: ObjectKey, of type: StoredType) throws {
    let table = ObjectTable(type, db)
    guard let place = try table.place(of: key) ?? table.absentPlace(of: key) else { return }
    var (now, without) = (ObjectState(), ObjectState())
    var entries: [(version: Version, address: UndoAddress, isUndone: Bool, entry: Entry)] = []
    try journal.forEachEntry(from: place.last) { stamp, root, place, entry in
      let (replica, sequence) = try journal.address(ofRow: place.row)
      let address = UndoAddress(replica: replica, sequence: sequence)
      let version = Version(stamp: stamp, root: root)
      now.fold(entry.operation, entry.fields, at: version, of: type.schema)
      entries.append((version, address, has(stamp, address), entry))
    }
    entries.sort { $0.version < $1.version }
    let undoneRemoves = Set(entries.filter { $0.isUndone && $0.entry.operation.isRemove }.map(\.version.stamp))
    let lastRevival = entries.last { $0.isUndone && $0.entry.operation.code == .revival }?.version
    var isMadeByRevival = lastRevival != nil
    for entry in entries where !entry.isUndone {
      // Without the remove nobody would have purged what it removed.
      if let remove = entry.entry.operation.knownRemove, undoneRemoves.contains(remove.stamp) { continue }
      without.fold(entry.entry.operation, entry.entry.fields, at: entry.version, of: type.schema)
      // It was there when it was made again, or others have removed it since, or made it again.
      if let lastRevival {
        if entry.version < lastRevival { isMadeByRevival = !without.isAlive }
        let operation = entry.entry.operation
        if entry.version > lastRevival, operation.isRemove || operation.code == .revival { isMadeByRevival = false }
      }
    }
    func author(_ version: Version) -> MagicObjectHistory.Author? {
      entries.first { $0.version == version }.map {
        .init(time: version.stamp.date, replica: $0.address.replica.description, sequence: $0.address.sequence)
      }
    }
    let before = made.kept.count
    func keep(_ property: String?, _ version: Version?) {
      guard let author = version.flatMap(author) else { return }
      let kept = UndoPlan.Kept(type: type.schema.name.text, object: key.text, property: property, author: author)
      // Of one property several elements may be left.
      if !made.kept[before...].contains(kept) { made.kept.append(kept) }
    }
    let names = type.schema.fields.map(\.name.text)
    let firstUndone = entries.first { $0.isUndone }?.version
    switch (now.isAlive, without.isAlive) {
    case (true, true):
      // What others made of an object is nothing without what made it.
      let firstUpdate = entries.first { $0.entry.operation.isLife }
      let isMadeByFirst =
        firstUpdate.map { first in first.isUndone && !entries.contains { !$0.isUndone && $0.version < first.version } } ?? false
      if isMadeByFirst || isMadeByRevival {
        return keep(nil, entries.last { !$0.isUndone }?.version)
      }
      let later = now.values.filter { write in
        guard let firstUndone, write.version > firstUndone, let entry = entries.first(where: { $0.version == write.version })
        else { return false }
        return !entry.isUndone
      }
      for write in later
      where entries.contains(where: { $0.isUndone && $0.version < write.version && $0.entry.isBelow(write, of: type.schema) }) {
        keep(names[write.field], write.version)
      }
      let changes = now.row.changes(to: without.row, of: type.schema)
      guard !changes.isEmpty else { return }
      add(.change, key, type, now.row, without.row, .update(changes))
    case (true, false):
      add(.remove, key, type, now.row, [], .remove)
    case (false, true):
      add(.revive, key, type, [], without.row, .revival(without.row))
    case (false, false):
      guard let removed = now.removed, let firstUndone, removed > firstUndone else { return }
      if let entry = entries.first(where: { $0.version == removed }), !entry.isUndone { keep(nil, removed) }
    }
  }

  private mutating func add(
    _ kind: UndoPlan.Change.Kind, _ key: ObjectKey, _ type: StoredType, _ before: [FieldValue], _ after: [FieldValue],
    _ change: ObjectChange.Kind
  ) {
    // By name: a property that was converted has a field of each kind, and a value in one of them.
    func byName(_ row: [FieldValue]) -> [Name: FieldValue] {
      Dictionary(row.map { (type.schema.fields[$0.field].name, $0) }) { $1 }
    }
    let (old, new) = (byName(before), byName(after))
    let names = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }
    func field(of name: Name) -> Int { (old[name] ?? new[name])?.field ?? 0 }
    let fields = names.sorted { field(of: $0) < field(of: $1) }.map { name in
      UndoPlan.Field(name: name.text, before: old[name]?.value.shownJSON, after: new[name]?.value.shownJSON)
    }
    made.changes.append(.init(kind: kind, type: type.schema.name.text, object: key.text, fields: fields))
    made.objects.append(ObjectChange(type: type.id, key: key, change))
  }
}

/// A transaction that is undone.
struct UndoAddress: Hashable, Sendable {
  let replica: ReplicaID
  let sequence: UInt64
}

extension Entry {
  /// Whether it has a value that a later write took the place of: of the same name, and of the same element, if both have elements.
  fileprivate func isBelow(_ write: ObjectState.Write, of type: TypeSchema) -> Bool {
    fields.contains { type.slots[$0.field] == type.slots[write.field] && $0.value.hasPlace(of: write.value) }
  }
}

extension Value {
  /// Whether what a write has, one element of several or a value, folds with something of this (M-13).
  fileprivate func hasPlace(of write: Value) -> Bool {
    switch (self, write) {
    case (.set(let mine), .set(let others)): mine.contains { $0.key == others.first?.key }
    case (.dictionary(let mine), .dictionary(let others)): mine.contains { $0.name == others.first?.name }
    default: true
    }
  }
}
