internal import GRDB
package import MagicJournal

/// A change of one object, told by fields: for who mends or undoes, and has no instances.
package struct ObjectChange: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// An update of an object that has a row.
    case update([FieldValue])
    case remove
    /// Makes an object again that has no row: all that it is to show.
    case revival([FieldValue])
    /// Takes over an object whose row is as it should be, and is in no entry: what the row shows, and its last entry, if any.
    case adoption([FieldValue], ObjectPlace)
  }

  /// As the database numbers it.
  package let type: Int
  package let key: ObjectKey
  package let kind: Kind

  package init(type: Int, key: ObjectKey, _ kind: Kind) {
    (self.type, self.key, self.kind) = (type, key, kind)
  }
}

/// Says of an object that was removed that nothing of what is stamped up to a base is needed any more (K-23), but for some
/// values (K-24).
package struct ObjectPurge: Sendable {
  fileprivate let entry: Entry

  package init(type: Int, key: ObjectKey, base: Stamp, _ fields: [FieldValue] = []) {
    entry = Entry(type: type, key: key, operation: .purge(base: base), fields: fields)
  }
}

extension Store {
  /// Writes what `plan` finds, as one transaction of this replica. `plan` reads what is there at that moment, and may mend
  /// rows.
  @inline(never) package func change(
    _ plan: @Sendable @escaping (Connection) throws -> [ObjectChange]
  ) async throws -> [ObjectChange] {
    try await exclusively {
      try await change { transaction in
        transaction.share()
        let changes = try plan(transaction.db)
        let types = try StoredSchema(transaction.db).types
        for change in changes { try transaction.apply(change, types[change.type]) }
        return changes
      }
    }
  }

  /// Writes purges as transactions of this replica, as many as their sizes need (J-20), within one of SQLite's that others have
  /// begun.
  ///
  /// - Parameter purges: by type and object.
  package func write(_ purges: [ObjectPurge], _ db: Connection) throws {
    if !purges.isEmpty { try identity.assure(db) }
    var left = purges[...]
    while !left.isEmpty {
      var transaction = try LocalTransaction(db, self, DatabaseState(db))
      let types = try StoredSchema(db).types
      var (size, last): (Int, ObjectPurge?) = (0, nil)
      while let purge = left.first, size == 0 || size + purge.entry.size <= Limits.transactionBytes / 2,
        last.map({ ($0.entry.type, $0.entry.key) != (purge.entry.type, purge.entry.key) }) ?? true,
        transaction.ordinal < Limits.entries
      {
        try transaction.apply(purge, types[purge.entry.type])
        size += purge.entry.size
        last = left.removeFirst()
      }
      try transaction.finish(assets)
    }
  }
}

extension LocalTransaction {
  fileprivate mutating func apply(_ change: ObjectChange, _ type: StoredType) throws {
    let table = ObjectTable(type, db)
    let key = change.key
    willChange(type)
    switch change.kind {
    case .update(let fields):
      guard let place = try table.place(of: key) else { throw lacks(type) }
      try check(Entry(type: type.id, key: key, operation: .update, fields: fields), type)
      _ = try write(fields, key, place, table)
    case .remove:
      guard let place = try table.place(of: key) else { throw lacks(type) }
      try remove(key, place, table)
    case .revival(let fields):
      guard let absent = try table.absentPlace(of: key) else { throw lacks(type) }
      let reader = try reader()
      let remove = try reader.lastRemove(from: absent.last, by: state.replicaRow, since: firstEntry)
      let claim = try reader.state(from: absent.last, of: type.id).claim
      let entry = Entry(type: type.id, key: key, operation: remove.map { .revival(base: $0.stamp) } ?? .update, fields: fields)
      try check(entry, type)
      _ = try insert(entry, absent, number: try table.number(of: key, claim: claim), table)
    case .adoption(let fields, let place):
      let remove = try reader().lastRemove(from: place.last, by: state.replicaRow, since: firstEntry)
      let entry = Entry(type: type.id, key: key, operation: remove.map { .revival(base: $0.stamp) } ?? .update, fields: fields)
      try check(entry, type)
      try append(entry, key, place, table)
    }
  }

  fileprivate mutating func apply(_ purge: ObjectPurge, _ type: StoredType) throws {
    let (table, key) = (ObjectTable(type, db), purge.entry.key)
    let row = try table.place(of: key)
    guard let place = try row ?? table.absentPlace(of: key) else { throw lacks(type) }
    try check(purge.entry, type)
    try append(purge.entry, key, place, table)
    guard row != nil, let now = try table.place(of: key) else { return }
    willChange(type)
    let state = try reader().state(from: now.last, of: type.id)
    willName(type)
    try table.replace(key, state.row, claim: state.claim, now)
  }

  /// An entry that leaves the object's row, or its absence, as it is.
  private mutating func append(_ entry: Entry, _ key: ObjectKey, _ place: ObjectPlace, _ table: ObjectTable) throws {
    let last = next
    try append(entry, zIndex: place.zIndex, previous: place.last)
    try table.setLast(key, ObjectPlace(zIndex: place.zIndex, last: last))
  }

  /// What no reader would take (S-7, J-7, J-16) is not written. SQL may have put anything into a row.
  private func check(_ entry: Entry, _ type: StoredType) throws {
    let fields = type.schema.fields
    let wrong = entry.fields.first { !$0.value.fits(fields[$0.field]) }?.field
    let twice = Dictionary(grouping: entry.fields) { type.schema.slots[$0.field] }.values.first { $0.count > 1 }?[0].field
    let fault: String? =
      if let wrong {
        "a value that property \(fields[wrong].name.text) cannot have"
      } else if let twice {
        "several values of property \(fields[twice].name.text), where one may show"
      } else if !entry.isPossible(at: Int(ordinal), of: name) || !entry.key.isReadable {
        "a name that it cannot have"
      } else {
        nil
      }
    guard let fault else { return }
    throw MagicDataError(
      .value,
      """
      \(type.schema.name) \(entry.key.text) has \(fault), which no journal can hold; nothing was written. Set it right, or take what the \
      journal says
      """)
  }

  private func lacks(_ type: StoredType) -> MagicDataError {
    MagicDataError(.failed, "an object of type \(type.schema.name) is not where it was looked for")
  }
}
