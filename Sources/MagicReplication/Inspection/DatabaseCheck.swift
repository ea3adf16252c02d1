public import MagicData
internal import MagicJournal

/// Whether a database's tables are what its journal folds to, and its assets what rows name.
public struct DatabaseCheck: Sendable {
  /// How many there are.
  public private(set) var objects = 0
  /// How many entries of the journal objects lead to.
  public private(set) var entries = 0
  /// The digest of what the journal folds to: that of every whole replica with equal journals.
  public private(set) var digest = ""
  /// What does not fit, the first hundred.
  public private(set) var faults: [String] = []
  /// Names in rows for which there is no file.
  public var missingAssets: [String] { assets.missing }
  /// Files that do not hold what their names say.
  public var damagedAssets: [String] { assets.damaged }
  /// Files that nothing names.
  public var orphanAssets: [String] { assets.orphans }
  package private(set) var assets = AssetCheck()
  /// What the journal says of numbers, by type.
  private(set) var numbers: [Int: Numbers] = [:]
  /// The types whose claims or numbers are not what it says.
  private(set) var misnumbered: Set<Int> = []
  /// The objects that do not fit, for who mends them.
  private(set) var found: [ObjectFault] = []
  /// Rows and places that are no object's, for who mends them.
  private(set) var strays: [Stray] = []
  /// The number of objects with faulty numbers.
  private(set) var faultyNumbers = 0
  /// Why the journal cannot be read to its end, or has no tables to be folded into: then nothing can be mended by it.
  private(set) var journalFault: MagicDataError?
  /// Whether SQLite finds its own file whole.
  private(set) var isFileWhole = true

  private static let maxFaults = 100

  /// Reads everything and changes nothing. Memory holds one object at a time; the claims of numbers; and, if there are any, the
  /// objects that do not fit. If entries are in no object's chain it holds the names of all objects as well.
  ///
  /// - Complexity: O(journal).
  public init(_ magic: MagicData) async throws {
    let store = magic.store
    self = try await store.read { db in
      var check = try DatabaseCheck(db, store.integrityFaults(db))
      check.assets = try AssetCheck(store, db)
      return check
    }
  }

  init(_ db: Connection, _ integrity: [String] = []) throws {
    (faults, isFileWhole) = (integrity, integrity.isEmpty)
    let journal = try JournalReader(db)
    // Every transaction can be read, and they follow each other.
    var written = 0
    do {
      try journal.forEachTransaction { transaction in
        try Task.checkCancellation()
        written += transaction.entries.count
        for entry in transaction.entries where journal.schema.types[entry.type].schema.hasNumbers {
          numbers[entry.type, default: Numbers()].add(entry)
        }
      }
    } catch let error as MagicDataError where error.code == .notADatabase {
      journalFault = error
      report(error.message)
    }
    let lacks = try journal.schema.types.compactMap { try ObjectTable($0, db).lack() }
    for lack in lacks { report(lack) }
    if let lack = lacks.first {
      // What is there refers to what is not.
      journalFault =
        journalFault ?? MagicDataError(.notADatabase, "\(lack); make the database anew from its journal (magic-replay apply)")
      return
    }
    var digest = Digest()
    for type in journal.schema.types {
      let table = ObjectTable(type, db)
      var ofType = TypeDigest(type.schema)
      try table.forEachPlaceAsIs { key, place, isShown in
        if let key, try isShown || table.place(of: key) == nil {
          try check(key, place, table, journal, isShown: isShown, &ofType, &digest)
        } else {
          let what = key.map { " \($0.text) has two places, one" } ?? " has a name that cannot be read,"
          report("\(type.schema.name)\(what) at the z index \(place.zIndex)")
          strays.append(Stray(type: type.id, zIndex: place.zIndex, isShown: isShown))
        }
      }
      for fault in try table.orphanLinks() { report(fault) }
      // Numbers are of objects.
      let isReadable = journalFault == nil && !strays.contains { $0.type == type.id }
      if type.schema.hasNumbers, isReadable { try checkNumbers(table) }
      ofType.finish(&digest)
    }
    // Entries that are in no object's chain would be in no fold.
    if entries != written, journalFault == nil {
      report("the journal has \(written) entries, and objects know of \(entries)")
      try findLost(journal, db)
    }
    self.digest = digest.description
  }

  private mutating func check(
    _ key: ObjectKey, _ place: ObjectPlace, _ table: ObjectTable, _ journal: JournalReader, isShown: Bool,
    _ ofType: inout TypeDigest, _ digest: inout Digest
  ) throws {
    try Task.checkCancellation()
    let type = table.type.schema
    var (state, isForeign) = (ObjectState(), false)
    do {
      try journal.forEachEntry(from: place.last) { stamp, root, _, entry in
        isForeign = isForeign || entry.type != table.type.id || entry.key != key
        guard !isForeign else { return }
        entries += 1
        state.fold(entry.operation, entry.fields, at: Version(stamp: stamp, root: root), of: type)
      }
    } catch is MagicDataError {
      isForeign = true
    }
    func fault(_ kind: ObjectFault.Kind, _ what: String) {
      report("\(type.name) \(key.text) \(what)")
      found.append(ObjectFault(type: table.type.id, key: key, place: place, isShown: isShown, kind: kind))
    }
    guard !isForeign else { return fault(.astray, "has an entry of another object, or one that is not there") }
    if !place.last.isNone { ofType.add(state, key, to: &digest) }
    guard state.isAlive == isShown else {
      return fault(.life, "\(isShown ? "has a row" : "has no row"), against its journal")
    }
    guard isShown else { return }
    objects += 1
    let row: [FieldValue]
    do {
      row = try table.row(at: place.zIndex)
    } catch let error where (error as? MagicDataError)?.code == .notADatabase || error is JournalError {
      return fault(.values, "refers to an object that nothing names")
    }
    let folded = state.tableRow
    guard row != folded else { return }
    let differing = (row + folded).filter { value in !row.contains(value) || !folded.contains(value) }
    let names = Set(differing.map { type.fields[$0.field].name.text }).sorted()
    fault(.values, "shows other values than its journal folds to: \(names.joined(separator: ", "))")
  }

  /// M-16 to M-20: that claims are what entries say, and numbers what claims come to.
  private mutating func checkNumbers(_ table: ObjectTable) throws {
    let (name, numbers) = (table.type.schema.name, numbers[table.type.id] ?? Numbers())
    let shown = numbers.shown
    var missing = Set(numbers.claimed)
    var wrong: Set<Birth> = []
    for (claim, number) in try table.claims() where missing.remove(claim) == nil || shown[claim.birth] != number {
      wrong.insert(claim.birth)
    }
    wrong.formUnion(missing.map(\.birth))
    for birth in wrong.sorted() {
      report("\(name) \(ObjectKey.birth(birth).text) has another claim to a number than its journal says")
    }
    try table.forEachRow { key, place in
      guard case .birth(let birth) = key, !wrong.contains(birth), try table.number(at: place.zIndex) != shown[birth] else {
        return
      }
      wrong.insert(birth)
      report("\(name) \(key.text) shows another number than its claim comes to")
    }
    if !wrong.isEmpty { misnumbered.insert(table.type.id) }
    faultyNumbers += wrong.count
  }

  /// Objects of which entries are in no chain: no table knows of them, as after a row was deleted by SQL, or not where their
  /// entries begin, as after one was replaced.
  private mutating func findLost(_ journal: JournalReader, _ db: Connection) throws {
    for (type, objects) in try journal.spoken().sorted(by: { $0.key < $1.key }) {
      let (table, name) = (ObjectTable(journal.schema.types[type], db), journal.schema.types[type].schema.name)
      var known: [ObjectKey: Int] = [:]
      for (index, fault) in found.enumerated() where fault.type == type { known[fault.key] = index }
      for (key, spoken) in objects.sorted(by: { $0.value.place.last.bits < $1.value.place.last.bits }) {
        if let index = known[key], found[index].isAstray { continue }
        let row = try table.place(of: key)
        guard let place = try row ?? table.absentPlace(of: key) else {
          report("\(name) \(key.text) has entries, and no place in the tables")
          found.append(ObjectFault(type: type, key: key, place: spoken.place, isShown: false, kind: .lost))
          continue
        }
        guard try journal.length(from: place.last) != spoken.entries else { continue }
        report("\(name) \(key.text) has entries that its place does not lead to")
        let fault = ObjectFault(
          type: type, key: key, place: place, isShown: row != nil, kind: .astray, home: spoken.place.zIndex)
        if let index = known[key] { found[index] = fault } else { found.append(fault) }
      }
    }
  }

  private mutating func report(_ fault: String) {
    if faults.count < DatabaseCheck.maxFaults { faults.append(fault) }
  }
}

/// What stands in a type's table, or among its objects without a row, and is no object: its name cannot be read, or another
/// place has the object.
struct Stray: Sendable {
  let type: Int
  let zIndex: Int64
  let isShown: Bool
}

/// An object of which tables and journal say different things.
struct ObjectFault: Sendable {
  enum Kind: Sendable {
    /// It has a row and should have none, or the other way round.
    case life
    /// Its row has other values.
    case values
    /// Its place leads to entries that are not its own, or not to all that are.
    case astray
    /// Entries speak of it, and no table has it.
    case lost
  }

  let type: Int
  let key: ObjectKey
  /// Where it is; of a lost one what its entries say, and the last of them.
  let place: ObjectPlace
  let isShown: Bool
  let kind: Kind
  /// The z index that the entries name of one that is not there.
  var home: Int64?

  /// Whether its entries have to be chained anew.
  var isAstray: Bool { kind == .astray || kind == .lost }
}

extension ObjectState {
  /// What a row and its links can say of it: null and an emptied list leave nothing there.
  var tableRow: [FieldValue] { row.filter { $0.value != .null && $0.value != .list([]) } }
}

extension JournalReader {
  /// By type all objects that have entries: where their last one says that they are, and how many there are.
  fileprivate func spoken() throws -> [Int: [ObjectKey: (place: ObjectPlace, entries: Int)]] {
    var spoken: [Int: [ObjectKey: (place: ObjectPlace, entries: Int)]] = [:]
    try forEachStoredEntry { place, stored in
      let before = spoken[stored.entry.type]?[stored.entry.key]?.entries ?? 0
      spoken[stored.entry.type, default: [:]][stored.entry.key] = (ObjectPlace(zIndex: stored.zIndex, last: place), before + 1)
    }
    return spoken
  }

  /// How many entries a chain has.
  fileprivate func length(from last: EntryPlace) throws -> Int {
    var length = 0
    try forEachEntry(from: last) { _, _, _, _ in length += 1 }
    return length
  }
}
