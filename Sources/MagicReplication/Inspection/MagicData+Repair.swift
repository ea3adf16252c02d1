package import MagicData
internal import MagicJournal

/// Which side is right where tables and journal differ.
package enum RepairSide: String, Sendable, CaseIterable {
  /// Rows become what the journal folds to.
  case journal
  /// What the rows say is written to the journal, as changes of this replica, which others merge. Automatic numbers are no such thing: they follow from
  /// the claims in the journal (M-16), and are made so.
  case tables
}

extension MagicData {
  /// Settles what SQL has changed behind the journal's back, in one transaction.
  ///
  /// - Returns: how many objects were settled.
  /// - Throws: `MagicDataError` with `notADatabase` if the file itself is damaged: that is nothing that can be settled here.
  package func repair(_ side: RepairSide) async throws -> Int {
    let store = store
    let count = Locked(0)
    _ = try await store.change { db in
      let integrity = try store.integrityFaults(db)
      guard integrity.isEmpty else {
        throw MagicDataError(
          .notADatabase, "the database file is damaged (\(integrity[0])); restore it from a copy, or clone a remote")
      }
      let check = try DatabaseCheck(db)
      if let fault = check.journalFault { throw fault }
      count.withLock { $0 = check.found.count + check.faultyNumbers }
      let repairer = try Repairer(db)
      for type in try JournalReader(db).schema.types { try ObjectTable(type, db).removeOrphanLinks() }
      switch side {
      case .journal:
        try repairer.foldAnew(check)
        return []
      case .tables:
        return try repairer.changes(check)
      }
    }
    return count.withLock { $0 }
  }
}

private struct Repairer {
  private let db: Connection
  private let journal: JournalReader

  init(_ db: Connection) throws {
    self.db = db
    journal = try JournalReader(db)
  }

  private func table(_ fault: ObjectFault) -> ObjectTable { ObjectTable(journal.schema.types[fault.type], db) }

  /// Where the entries of objects really end, of those whose place is wrong.
  private func ends(of faults: [ObjectFault]) throws -> [Int: [ObjectKey: EntryPlace]] {
    guard faults.contains(where: { $0.kind == .astray }) else { return [:] }
    var ends: [Int: [ObjectKey: EntryPlace]] = [:]
    try journal.forEachStoredEntry { entry, place, _ in ends[entry.type, default: [:]][entry.key] = place }
    return ends
  }

  /// - Parameter adopted: rows that are about to become objects.
  private func settleNumbers(_ check: DatabaseCheck, adopted: [ObjectFault] = []) throws {
    for type in journal.schema.types where type.schema.hasNumbers {
      let adopted = adopted.filter { $0.type == type.id }
      guard check.misnumbered.contains(type.id) || !adopted.isEmpty else { continue }
      var numbers = check.numbers[type.id] ?? Numbers()
      for fault in adopted { numbers.add(fault.key, claim: nil) }
      try ObjectTable(type, db).replaceNumbers(numbers)
    }
  }

  func foldAnew(_ check: DatabaseCheck) throws {
    let faults = check.found
    let ends = try ends(of: faults)
    func last(_ fault: ObjectFault) -> EntryPlace {
      fault.kind == .astray ? ends[fault.type]?[fault.key] ?? .none : fault.place.last
    }
    // Rows that nobody has journaled may stand where others belong.
    for fault in faults where fault.isShown && last(fault).isNone {
      try table(fault).remove(fault.key, ObjectPlace(zIndex: fault.place.zIndex, last: .none))
    }
    try settleNumbers(check)
    for fault in faults where !last(fault).isNone {
      let place = ObjectPlace(zIndex: fault.place.zIndex, last: last(fault))
      let state = try journal.state(from: place.last, of: fault.type)
      if state.isAlive {
        try table(fault).replace(fault.key, state.row, claim: state.claim, place)
      } else {
        try table(fault).remove(fault.key, place)
      }
    }
  }

  func changes(_ check: DatabaseCheck) throws -> [ObjectChange] {
    let faults = check.found
    // What claims a number that a row has taken by SQL has lost it, and may be about to be removed under its own.
    try settleNumbers(check, adopted: faults.filter { $0.isShown && $0.place.last.isNone && $0.kind == .life })
    let ends = try ends(of: faults)
    return try faults.compactMap { fault in
      let table = table(fault)
      func change(_ kind: ObjectChange.Kind) -> ObjectChange { ObjectChange(type: fault.type, key: fault.key, kind) }
      var place = fault.place
      if fault.kind == .astray {
        place = ObjectPlace(zIndex: place.zIndex, last: ends[fault.type]?[fault.key] ?? .none)
        try table.setLast(fault.key, place)
      }
      let state = place.last.isNone ? ObjectState() : try journal.state(from: place.last, of: fault.type)
      guard fault.isShown else {
        // It has no row, and is to have none.
        guard state.isAlive else {
          if fault.kind == .lost { try table.remove(fault.key, place) }
          return nil
        }
        try table.replace(fault.key, state.row, claim: state.claim, place)
        return change(.remove)
      }
      let row = try table.row(at: place.zIndex)
      guard state.isAlive else { return change(.adoption(row, place)) }
      let changes = state.tableRow.changes(to: row)
      return changes.isEmpty ? nil : change(.update(changes))
    }
  }
}
