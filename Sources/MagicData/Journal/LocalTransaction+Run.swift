internal import GRDB
internal import MagicJournal

extension LocalTransaction {
  /// Adds or updates the objects of a run, one after the other: on a short way those that are new, or that nobody else has
  /// written to since they were fetched, which nearly all are; any other as it would go alone.
  mutating func save(_ run: ObjectRun) throws -> SavedRun {
    var saved = SavedRun()
    saved.places.reserveCapacity(run.objects.count)
    let type = try current(run.type)
    // Columns that were added meanwhile may have to be emptied (J-16).
    let isKnown = type === run.type && !type.stored.schema.hasRivals
    try run.bytes.withUnsafeBytes { bytes in
      var writer = RunWriter(type, bytes, db)
      var insertion = RunInsertion(writer.table, type, bytes)
      var number = 0
      while number < run.objects.count {
        if isKnown, try insert(run, from: number, &insertion, &writer, &saved) {
          number += RunInsertion.count
          continue
        }
        defer { number += 1 }
        var isTaken = false
        let object = run.objects[number]
        var birth: Birth?
        if writer.isBorn {
          birth = Birth(transaction: name, ordinal: ordinal)
          if case .birth(let known)? = run.key(number) { birth = known }
        }
        if isKnown, let place = try save(object, birth, until: run.end(number), &writer, &isTaken) {
          saved.places.append(place)
          if writer.isBorn { saved.births.append(birth) }
          continue
        }
        let alone = run.object(number)
        let other = try save(alone, as: type, isTaken: isTaken)
        // It may have made others.
        writer.nextZIndex = nil
        saved.others[number] = (other, alone)
        saved.places.append(other.place)
        if writer.isBorn { saved.births.append(nil) }
      }
    }
    return saved
  }

  /// Inserts as many new objects as go at once.
  ///
  /// - Returns: `false`, and nothing is done, if what follows is something else, or one of them is held already.
  private mutating func insert(
    _ run: ObjectRun, from number: Int, _ insertion: inout RunInsertion, _ writer: inout RunWriter, _ saved: inout SavedRun
  ) throws -> Bool {
    let numbers = number..<number + RunInsertion.count
    guard insertion.takes(numbers, of: run) else { return false }
    if try !writer.isBorn && hasAbsent(writer.table) && numbers.contains(where: { try writer.mayBeAbsent(run.objects[$0]) }) {
      insertion.hasMet = true
      return false
    }
    let zIndex = try writer.firstZIndex()
    insertion.encode(run, numbers, from: zIndex, writer.isBorn ? Birth(transaction: name, ordinal: ordinal) : nil)
    // As a key path this would be followed at run time, object by object.
    let places = places(of: insertion.objects.map { $0.entry.count })
    guard try insertion.insert(run, numbers, places) else { return false }
    writer.nextZIndex = zIndex + Int64(numbers.count)
    for (object, last) in zip(insertion.objects, places) {
      try append(insertion.entries.bytes[object.entry], size: object.size)
      saved.places.append(ObjectPlace(zIndex: object.zIndex, last: last))
      if writer.isBorn { saved.births.append(object.birth) }
    }
    return true
  }

  /// `nil` if the object has to go its way alone.
  ///
  /// - Parameters:
  ///   - birth: of an object without a primary value.
  ///   - isTaken: set if there is an object of this name.
  private mutating func save(
    _ object: ObjectRun.Object, _ birth: Birth?, until end: Int, _ writer: inout RunWriter, _ isTaken: inout Bool
  ) throws -> ObjectPlace? {
    let next = next
    if let place = object.place {
      // One that this transaction has written to before gets no second entry, and what stands in its row by now is written once
      // more.
      guard object.written != 0,
        let last = try writer.update(object, at: place.zIndex, birth, until: end, next: next, own: firstEntry), !hasEntry(last)
      else { return nil }
      try append(writer, zIndex: place.zIndex, previous: last)
      return ObjectPlace(zIndex: place.zIndex, last: next)
    }
    guard try writer.isBorn || !(hasAbsent(writer.table) && writer.mayBeAbsent(object)) else { return nil }
    guard let zIndex = try writer.insert(object, birth, until: end, last: next) else {
      isTaken = true
      return nil
    }
    if let number = writer.number { didSet(number, writer.table) }
    try append(writer, zIndex: zIndex, previous: .none)
    return ObjectPlace(zIndex: zIndex, last: next)
  }
}

/// Writes the rows of a run's objects, and keeps what an entry needs of the one that it wrote last.
struct RunWriter: ~Copyable {
  let table: ObjectTable
  let bytes: UnsafeRawBufferPointer
  /// Whether a birth names the objects.
  let isBorn: Bool
  /// The number that names the object which was written last, if numbers do.
  private(set) var number: Int64?
  /// What was done to it.
  private(set) var operation = Entry.Operation.update
  /// What names it, encoded, if that is its birth: no run has that of a new object.
  private var birth = ByteWriter()
  private let type: MappedType
  /// The z index of the next new object, while nobody else makes any.
  var nextZIndex: Int64?
  private var statement: SQL?
  /// What the statement is for.
  private var use: (written: UInt64, isNew: Bool) = (0, false)
  /// The fields that an update writes, if these are not all.
  private var changes: [UInt8] = []
  private var object: (key: Range<Int>, fields: Range<Int>) = (0..<0, 0..<0)
  /// What the entry counts towards a transaction's limit (J-20).
  private(set) var size = 0

  init(_ type: MappedType, _ bytes: UnsafeRawBufferPointer, _ db: Database) {
    self.type = type
    self.bytes = bytes
    isBorn = type.layout.primary == nil
    table = ObjectTable(type.stored, db)
  }

  /// Whether an object of this name was removed, or had this number.
  func mayBeAbsent(_ object: ObjectRun.Object) throws -> Bool {
    if type.hasNumbers { return true }
    var reader = ByteReader(Array(bytes[object.key..<object.fields]))
    return try table.absentPlace(of: ObjectKey(from: &reader)) != nil
  }

  /// - Returns: where the new object is; `nil` if there is one of its name, and nothing was written.
  mutating func insert(_ object: ObjectRun.Object, _ birth: Birth?, until end: Int, last: EntryPlace) throws -> Int64? {
    try prepare(object.written, isNew: true, birth)
    let zIndex = try firstZIndex()
    try statement!.bind(zIndex)
    try bindKey(object)
    if type.hasNumbers { try statement!.bindNull() }
    try statement!.bind(last)
    try bindFields(object, until: end)
    guard try statement!.runOnce() > 0 else { return nil }
    nextZIndex = zIndex + 1
    return zIndex
  }

  /// As `ObjectTable.update`.
  mutating func update(
    _ object: ObjectRun.Object, at zIndex: Int64, _ birth: Birth?, until end: Int, next: EntryPlace, own: EntryPlace
  ) throws -> EntryPlace? {
    try prepare(object.written, isNew: false, birth)
    var entry = NextEntry(at: next, own: own)
    try withUnsafeMutablePointer(to: &entry) { entry in
      try statement!.bind(entry)
      try bindFields(object, until: end)
      try statement!.bind(zIndex)
      try bindKey(object)
      _ = try statement!.runOnce()
    }
    return entry.last
  }

  /// The z index of the next new object.
  func firstZIndex() throws -> Int64 { try nextZIndex ?? table.nextZIndex() }

  private mutating func prepare(_ written: UInt64, isNew: Bool, _ birth: Birth?) throws {
    if let birth {
      self.birth.removeAll()
      ObjectKey.birth(birth).encode(to: &self.birth)
    }
    operation = isBorn && isNew ? .birth : .update
    if statement != nil, use.written == written, use.isNew == isNew { return }
    let fields = type.inOrder.filter { written & 1 << UInt64($0.index) != 0 }.map(\.field)
    // The one before may be of the same text.
    statement = nil
    statement = try SQL(
      table.db, isNew ? type.stored.insert(fields) : type.stored.update(fields, among: fields, isBirth: false))
    use = (written, isNew)
  }

  private mutating func bindKey(_ object: ObjectRun.Object) throws {
    if isBorn {
      // Behind the byte that says what it is.
      return try birth.bytes.withUnsafeBytes { try statement!.bind(copied: UnsafeRawBufferPointer(rebasing: $0[1...])) }
    }
    var position = object.key
    let key = Value.Encoded(bytes, &position)
    if type.hasNumbers, case .integer(let number) = key { self.number = number }
    try statement!.bind(key)
  }

  /// Binds what is written of the fields, and notes it for the entry.
  private mutating func bindFields(_ object: ObjectRun.Object, until end: Int) throws {
    let isWhole = object.written == object.present
    changes.removeAll(keepingCapacity: true)
    size = 16 + (isBorn ? 16 : object.fields - object.key)
    var position = object.fields
    for (index, _) in type.inOrder where object.present & 1 << UInt64(index) != 0 {
      let start = position
      _ = bytes.varint(&position)
      let value = position
      let encoded = Value.Encoded(bytes, &position)
      guard object.written & 1 << UInt64(index) != 0 else { continue }
      try statement!.bind(encoded)
      size += 4 + position - value
      if !isWhole { changes.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start..<position])) }
    }
    self.object = (object.key..<object.fields, isWhole ? object.fields..<end : 0..<0)
  }

  /// Key and fields of the entry.
  func withEntry(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void) rethrows {
    if isBorn { return try birth.bytes.withUnsafeBytes { try withEntry(key: $0, body) } }
    try withEntry(key: UnsafeRawBufferPointer(rebasing: bytes[object.key]), body)
  }

  private func withEntry(
    key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    guard object.fields.isEmpty else { return try body(key, UnsafeRawBufferPointer(rebasing: bytes[object.fields])) }
    try changes.withUnsafeBytes { try body(key, $0) }
  }
}
