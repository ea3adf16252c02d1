public import MagicData
internal import MagicJournal

/// Which side is right where tables and journal differ.
public enum RepairSide: String, Sendable, CaseIterable {
  /// Rows become what the journal folds to.
  case journal
  /// What the rows say is written to the journal, as changes of this replica, which others merge. Automatic numbers are no such
  /// thing: they follow from the claims in the journal (M-16), and are made so.
  case tables
}

extension MagicData {
  /// Settles what SQL has changed behind the journal's back, in one transaction.
  ///
  /// - Returns: how many objects were settled.
  /// - Throws: `MagicDataError` with `notADatabase` if the file itself or the journal is damaged: that is nothing that can be
  ///   settled here; `value` if a row is to be journaled that has what no journal can hold; `busy`, `full`. Nothing was changed
  ///   then.
  @discardableResult
  public func repair(_ side: RepairSide) async throws -> Int {
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
      count.withLock { $0 = check.found.count + check.strays.count + check.faultyNumbers }
      let repairer = try Repairer(db)
      for type in try JournalReader(db).schema.types { try ObjectTable(type, db).removeOrphanLinks() }
      switch side {
      case .journal:
        try repairer.foldAnew(check)
        try MagicData.settle(db)
        return []
      case .tables:
        return try repairer.changes(check)
      }
    }
    return count.withLock { $0 }
  }

  /// What one mend has brought to light, as places that two objects shared, another one settles.
  private static func settle(_ db: Connection) throws {
    for _ in 0..<3 {
      let check = try DatabaseCheck(db)
      guard !check.faults.isEmpty else { return }
      for type in try JournalReader(db).schema.types { try ObjectTable(type, db).removeOrphanLinks() }
      try Repairer(db).foldAnew(check)
    }
    guard let fault = try DatabaseCheck(db).faults.first else { return }
    throw MagicDataError(
      .notADatabase, "\(fault), which cannot be settled here; make the database anew from its journal (magic-replay apply)")
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

  /// Where the entries of each object begin, of which those are chained anew that no place leads to, or a wrong one.
  private func places(of faults: [ObjectFault]) throws -> [ObjectPlace] {
    var astray: [Int: Set<ObjectKey>] = [:]
    for fault in faults where fault.isAstray { astray[fault.type, default: []].insert(fault.key) }
    let chains = astray.isEmpty ? [:] : try journal.chain(astray)
    return faults.map { fault in
      guard fault.isAstray else { return fault.place }
      return ObjectPlace(zIndex: fault.place.zIndex, last: chains[fault.type]?[fault.key] ?? .none)
    }
  }

  /// - Parameter adopted: rows that are about to become objects.
  private func settleNumbers(_ check: DatabaseCheck, adopted: [ObjectFault] = []) throws {
    for type in journal.schema.types where type.schema.hasNumbers {
      let adopted = adopted.filter { $0.type == type.id }
      // Where something is no object, numbers were not looked at.
      let isUnknown = check.misnumbered.contains(type.id) || check.strays.contains { $0.type == type.id }
      guard isUnknown || !adopted.isEmpty else { continue }
      var numbers = check.numbers[type.id] ?? Numbers()
      for fault in adopted { numbers.add(fault.key, claim: nil) }
      try ObjectTable(type, db).replaceNumbers(numbers)
    }
  }

  /// What is no object's goes, and each object that entries speak of has a place, before others are to refer to it.
  ///
  /// - Parameter keepsRows: whether rows stay that nobody has journaled.
  private func settlePlaces(_ check: DatabaseCheck, keepsRows: Bool) throws -> [(fault: ObjectFault, place: ObjectPlace)] {
    for stray in check.strays {
      try ObjectTable(journal.schema.types[stray.type], db).drop(stray.zIndex, isShown: stray.isShown)
    }
    // Others get back what they had.
    let had = Dictionary(check.found.map { ($0.type, max($0.place.zIndex, $0.home ?? 0)) }, uniquingKeysWith: max)
    let faults = try zip(check.found, try places(of: check.found)).map { fault, place in
      // To a row that nobody has journaled SQL may have given the z index of an object without one.
      guard fault.isShown, place.last.isNone, try table(fault).isAbsents(place.zIndex) else { return (fault, place) }
      let own = max(try table(fault).nextZIndex(), (had[fault.type] ?? 0) + 1)
      return (fault, try table(fault).move(place.zIndex, to: own) ? ObjectPlace(zIndex: own, last: place.last) : place)
    }
    if !keepsRows {
      // They may stand where others belong.
      for (fault, place) in faults where fault.isShown && place.last.isNone { try table(fault).remove(fault.key, place) }
    }
    return try faults.map { fault, place in
      let table = table(fault)
      switch fault.kind {
      case .lost:
        // Of a row that was given another name the z index is that name's.
        guard try !table.isTaken(place.zIndex, fromOther: fault.key) else {
          let own = ObjectPlace(zIndex: try table.reserve(fault.key).zIndex, last: place.last)
          try table.keepAbsent(fault.key, own)
          return (fault, own)
        }
        try table.drop(place.zIndex, isShown: false)
        try table.keepAbsent(fault.key, place)
        return (fault, place)
      case .astray:
        // A row that was replaced has a z index of its own, and others refer to the one that it had.
        guard fault.isShown, let home = fault.home, try table.move(place.zIndex, to: home) else { return (fault, place) }
        return (fault, ObjectPlace(zIndex: home, last: place.last))
      case .life, .values:
        return (fault, place)
      }
    }
  }

  func foldAnew(_ check: DatabaseCheck) throws {
    let faults = try settlePlaces(check, keepsRows: false)
    try settleNumbers(check)
    // A place alone has no entries.
    for (fault, place) in faults where place.last.isNone && !fault.isShown { try table(fault).keepAbsent(fault.key, place) }
    for (fault, place) in faults where !place.last.isNone {
      let state = try journal.state(from: place.last, of: fault.type)
      if state.isAlive {
        try table(fault).replace(fault.key, state.row, claim: state.claim, place)
      } else {
        try table(fault).remove(fault.key, place)
      }
    }
  }

  func changes(_ check: DatabaseCheck) throws -> [ObjectChange] {
    if let stray = check.strays.first(where: \.isShown) {
      throw MagicDataError(
        .value,
        """
        table \(journal.schema.types[stray.type].table) has a row (z_index \(stray.zIndex)) with a name that no journal can hold; nothing was written. Set it \
        right, or take what the journal says
        """)
    }
    let faults = try settlePlaces(check, keepsRows: true)
    // What claims a number that a row has taken by SQL has lost it, and may be about to be removed under its own.
    try settleNumbers(check, adopted: faults.filter { $0.fault.isShown && $0.place.last.isNone }.map(\.fault))
    return try faults.compactMap { fault, place in
      let table = table(fault)
      func change(_ kind: ObjectChange.Kind) -> ObjectChange { ObjectChange(type: fault.type, key: fault.key, kind) }
      if fault.kind == .astray { try table.setLast(fault.key, place) }
      let state = place.last.isNone ? ObjectState() : try journal.state(from: place.last, of: fault.type)
      guard fault.isShown else {
        // It has no row, and is to have none.
        guard state.isAlive else { return nil }
        try table.replace(fault.key, state.row, claim: state.claim, place)
        return change(.remove)
      }
      let row = try row(of: fault, place)
      guard state.isAlive else { return change(.adoption(row, place)) }
      let changes = state.tableRow.changes(to: row, of: journal.schema.types[fault.type].schema)
      return changes.isEmpty ? nil : change(.update(changes))
    }
  }

  private func row(of fault: ObjectFault, _ place: ObjectPlace) throws -> [FieldValue] {
    do {
      return try table(fault).row(at: place.zIndex)
    } catch let error where (error as? MagicDataError)?.code == .notADatabase || error is JournalError {
      throw MagicDataError(
        .value,
        """
        \(journal.schema.types[fault.type].schema.name) \(fault.key.text) refers to an object that nothing names; nothing was written. Set it right, or take \
        what the journal says
        """, cause: error)
    }
  }
}
