internal import MagicData
internal import MagicJournal

/// Works out what undoing comes to.
struct UndoPlanner {
  private let db: Connection
  private let journal: JournalReader
  private let selection: UndoSelection
  private let transactions: Set<TransactionAddress>
  private let since: Stamp?
  private var made: UndoPlan

  private init(_ db: Connection, _ selection: UndoSelection, _ transactions: [TransactionAddress], _ since: Stamp?) throws {
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

  private func has(_ stamp: Stamp, _ address: TransactionAddress) -> Bool {
    if transactions.contains(address) { return true }
    return since.map { stamp >= $0 } ?? false && has(address.replica)
  }

  static func plan(
    _ db: Connection, _ selection: UndoSelection, _ transactions: [TransactionAddress], _ since: Stamp?
  ) throws -> UndoPlan {
    var planner = try UndoPlanner(db, selection, transactions, since)
    return try planner.plan()
  }

  private mutating func plan() throws -> UndoPlan {
    for object in try touched() {
      try Task.checkCancellation()
      try undo(object.key, of: journal.schema.types[object.type])
    }
    return made
  }

  /// The objects that are spoken of, in a fixed order.
  private func touched() throws -> [TypedKey] {
    var seen: Set<TypedKey> = []
    var touched: [TypedKey] = []
    func add(_ transaction: Transaction) throws {
      try Task.checkCancellation()
      for entry in transaction.entries where has(journal.schema.types[entry.type]) {
        let object = TypedKey(type: entry.type, key: entry.key)
        if seen.insert(object).inserted { touched.append(object) }
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

  private mutating func undo(_ key: ObjectKey, of type: StoredType) throws {
    let table = ObjectTable(type, db)
    guard let place = try table.place(of: key) ?? table.absentPlace(of: key) else { return }
    let history = try UndoneHistory(journal, from: place.last, of: type.schema, isUndone: has)
    let (without, isMadeByRevival) = history.withoutUndone()
    switch (history.now.isAlive, without.isAlive) {
    case (true, true):
      // What others made of an object is nothing without what made it.
      guard !history.isMadeByUndone, !isMadeByRevival else { return keep(history.lastKept, as: nil, of: key, type) }
      keepLaterWrites(history, of: key, type)
      let changes = history.now.row.changes(to: without.row, of: type.schema)
      guard !changes.isEmpty else { return }
      add(.change, key, type, history.now.row, without.row, .update(changes))
    case (true, false):
      add(.remove, key, type, history.now.row, [], .remove)
    case (false, true):
      add(.revive, key, type, [], without.row, .revival(without.row))
    case (false, false):
      guard let removed = history.now.removed, let firstUndone = history.firstUndone, removed > firstUndone else { return }
      keep(history.kept(at: removed), as: nil, of: key, type)
    }
  }

  /// Values that others wrote after what is undone stay as they are. Of one property several elements may.
  private mutating func keepLaterWrites(_ history: UndoneHistory, of key: ObjectKey, _ type: StoredType) {
    let earliest = history.earliestUndone()
    var seen: Set<KeptWrite> = []
    for write in history.now.values {
      let slot = type.schema.slots[write.field]
      guard let kept = history.kept(at: write.version), earliest.isAny(before: write, in: slot),
        seen.insert(KeptWrite(slot: slot, version: write.version)).inserted
      else { continue }
      keep(kept, as: slot, of: key, type)
    }
  }

  /// - Parameter slot: the property's; `nil` for the object as a whole.
  private mutating func keep(_ item: UndoneHistory.Item?, as slot: Int?, of key: ObjectKey, _ type: StoredType) {
    guard let item else { return }
    made.kept.append(
      UndoPlan.Kept(
        type: type.schema.name.text, object: key.text, property: slot.map { type.schema.fields[$0].name.text },
        author: .init(
          time: item.version.stamp.date, replica: item.address.replica.description, sequence: item.address.sequence)))
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

/// A write that is left as it is.
private struct KeptWrite: Hashable {
  let slot: Int
  let version: Version
}
