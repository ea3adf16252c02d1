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
    var (now, without) = (ObjectState(), ObjectState())
    var entries: [(version: Version, address: TransactionAddress, row: Int64, isUndone: Bool, entry: Entry)] = []
    try journal.forEachEntry(from: place.last) { stamp, root, place, entry in
      let (replica, sequence) = try journal.address(ofRow: place.row)
      let address = TransactionAddress(replica: replica, sequence: sequence)
      let version = Version(stamp: stamp, root: root)
      now.fold(entry.operation, entry.fields, at: version, of: type.schema)
      entries.append((version, address, place.row, has(stamp, address), entry))
    }
    entries.sort { $0.version < $1.version }
    // What is held under two ids is one transaction (J-3).
    let undone = Dictionary(grouping: entries.filter { $0.isUndone }) { $0.version }
    for index in entries.indices where !entries[index].isUndone {
      guard let same = undone[entries[index].version] else { continue }
      let name = try journal.name(ofRow: entries[index].row)
      entries[index].isUndone = try same.contains { try journal.name(ofRow: $0.row) == name }
    }
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
    let firsts = Dictionary(entries.enumerated().map { ($0.element.version, $0.offset) }) { first, _ in first }
    var seen: Set<KeptWrite> = []
    func keep(_ slot: Int?, _ version: Version?) {
      // Of one property several elements may be left.
      guard let version, let first = firsts[version] else { return }
      guard seen.insert(KeptWrite(slot: slot, version: version)).inserted else { return }
      let address = entries[first].address
      made.kept.append(
        UndoPlan.Kept(
          type: type.schema.name.text, object: key.text, property: slot.map { type.schema.fields[$0].name.text },
          author: .init(time: version.stamp.date, replica: address.replica.description, sequence: address.sequence)))
    }
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
      var earliest = EarliestWrites()
      for entry in entries where entry.isUndone { earliest.add(entry.entry.fields, at: entry.version, of: type.schema) }
      for write in now.values {
        guard let first = firsts[write.version], !entries[first].isUndone else { continue }
        let slot = type.schema.slots[write.field]
        if earliest.isAny(before: write, in: slot) { keep(slot, write.version) }
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
      if let first = firsts[removed], !entries[first].isUndone { keep(nil, removed) }
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

/// A write that is left as it is.
private struct KeptWrite: Hashable {
  /// `nil` for the object as a whole.
  let slot: Int?
  let version: Version
}

/// Of some writes to an object the earliest to each name and each element: whether a later one took the place of any.
private struct EarliestWrites {
  private enum Part: Hashable {
    case member(ObjectKey)
    case place([UInt8])
    /// A set, a dictionary, and what is one as a whole.
    case set, dictionary, whole
  }

  private struct Place: Hashable {
    let slot: Int
    let part: Part
  }

  private var earliest: [Place: Version] = [:]

  /// - Parameter version: none that was added is above it.
  mutating func add(_ fields: [FieldValue], at version: Version, of type: TypeSchema) {
    for field in fields {
      let slot = type.slots[field.field]
      switch field.value {
      case .set(let elements):
        add(.set, slot, version)
        for element in elements { add(.member(element.key), slot, version) }
      case .dictionary(let elements):
        add(.dictionary, slot, version)
        for element in elements { add(.place(element.name), slot, version) }
      default: add(.whole, slot, version)
      }
    }
  }

  private mutating func add(_ part: Part, _ slot: Int, _ version: Version) {
    let place = Place(slot: slot, part: part)
    if earliest[place] == nil { earliest[place] = version }
  }

  /// Whether one comes before a write, of one element of several or of a value, that folds with it (M-13): of the same element,
  /// if both have elements of one kind.
  func isAny(before write: ObjectState.Write, in slot: Int) -> Bool {
    let parts: [Part] =
      switch write.value {
      case .set(let elements): elements.map { Part.member($0.key) } + [.dictionary, .whole]
      case .dictionary(let elements): elements.map { Part.place($0.name) } + [.set, .whole]
      default: [.set, .dictionary, .whole]
      }
    return parts.contains { part in earliest[Place(slot: slot, part: part)].map { $0 < write.version } ?? false }
  }
}
