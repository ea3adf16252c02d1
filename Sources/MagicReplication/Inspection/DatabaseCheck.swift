package import MagicData
internal import MagicJournal

/// Whether a database's tables are what its journal folds to.
package struct DatabaseCheck: Sendable {
  package private(set) var objects = 0
  package private(set) var entries = 0
  package private(set) var digest = ""
  /// What does not fit, the first hundred.
  package private(set) var faults: [String] = []
  package let assets: AssetCheck

  private static let maxFaults = 100

  /// Memory holds one object at a time, and the keys of one type.
  package init(_ magic: MagicData) async throws {
    let store = magic.store
    self = try await store.read { db in try DatabaseCheck(store, db) }
  }

  private init(_ store: Store, _ db: Connection) throws {
    assets = try AssetCheck(store, db)
    faults = try store.integrityFaults(db)
    let journal = try JournalReader(db)
    // Every transaction can be read, and they follow each other.
    var written = 0
    try journal.forEachTransaction { transaction in
      try Task.checkCancellation()
      written += transaction.entries.count
    }
    var digest = Digest()
    for type in journal.schema.types {
      let table = ObjectTable(type, db)
      var ofType = TypeDigest(type.schema)
      for (key, place) in try table.rows() { try check(key, place, table, journal, isShown: true, &ofType, &digest) }
      for (key, place) in try table.absent() { try check(key, place, table, journal, isShown: false, &ofType, &digest) }
      ofType.finish(&digest)
    }
    // Entries that are in no object's chain would be in no fold.
    if entries != written { report("the journal has \(written) entries, and objects know of \(entries)") }
    self.digest = digest.description
  }

  private mutating func check(
    _ key: ObjectKey, _ place: ObjectPlace, _ table: ObjectTable, _ journal: JournalReader, isShown: Bool,
    _ ofType: inout TypeDigest, _ digest: inout Digest
  ) throws {
    try Task.checkCancellation()
    let type = table.type.schema
    var state = ObjectState()
    try journal.forEachEntry(from: place.last) { stamp, root, _, entry in
      entries += 1
      if entry.type != table.type.id || entry.key != key { report("\(type.name) \(key.text) has an entry of another object") }
      state.fold(entry.operation, entry.fields, at: Version(stamp: stamp, root: root), of: type)
    }
    if !place.last.isNone { ofType.add(state, key, to: &digest) }
    guard state.isAlive == isShown else {
      return report("\(type.name) \(key.text) \(isShown ? "has a row" : "has no row"), against its journal")
    }
    guard isShown else { return }
    objects += 1
    let row = try table.row(at: place.zIndex)
    guard row != state.row.filter({ $0.value != .null && $0.value != .list([]) }) else { return }
    report("\(type.name) \(key.text) shows other values than its journal folds to")
  }

  private mutating func report(_ fault: String) {
    if faults.count < DatabaseCheck.maxFaults { faults.append(fault) }
  }
}
