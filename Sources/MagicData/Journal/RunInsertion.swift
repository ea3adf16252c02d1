internal import MagicJournal

/// Inserts new objects of a run, many with one statement: to run one for each takes nearly twice as long.
struct RunInsertion: ~Copyable {
  struct Object {
    let zIndex: Int64
    /// The birth of an object without a primary value.
    let birth: Birth?
    /// Its entry, among `entries`.
    let entry: Range<Int>
    /// What the entry counts towards a transaction's limit (J-20).
    let size: Int
  }

  /// How many it inserts at once.
  static let count = 16

  private(set) var objects: [Object] = []
  private(set) var entries = ByteWriter()
  private let table: ObjectTable
  private let type: MappedType
  private let bytes: UnsafeRawBufferPointer
  private var key = ByteWriter()
  private var statement: SQL?
  /// The properties that the statement is for.
  private var present: UInt64 = 0
  /// The number of their values, without the primary one.
  private var columns = 0
  /// Whether one was held already, or removed, as then others mostly are.
  var hasMet = false

  init(_ table: ObjectTable, _ type: MappedType, _ bytes: UnsafeRawBufferPointer) {
    (self.table, self.type, self.bytes) = (table, type, bytes)
  }

  /// Whether they are new, and one like the other.
  func takes(_ numbers: Range<Int>, of run: ObjectRun) -> Bool {
    guard !hasMet, !type.hasNumbers, numbers.upperBound <= run.objects.count else { return false }
    let present = run.objects[numbers.lowerBound].present
    return numbers.allSatisfy { run.objects[$0].place == nil && run.objects[$0].present == present }
  }

  /// Encodes the entries of objects that it takes.
  ///
  /// - Parameters:
  ///   - zIndex: of the first one. The others have those that follow.
  ///   - birth: of the first one, if births name them.
  mutating func encode(_ run: ObjectRun, _ numbers: Range<Int>, from zIndex: Int64, _ birth: Birth?) {
    objects.removeAll(keepingCapacity: true)
    entries.removeAll()
    let present = run.objects[numbers.lowerBound].present
    // A value counts with 4 bytes in place of its field's number.
    let numbering = type.inOrder.reduce(0) { sum, property in
      sum + (present & 1 << UInt64(property.index) == 0 ? 0 : 4 - ByteWriter.length(ofVarint: UInt64(property.field)))
    }
    for (offset, number) in numbers.enumerated() {
      let (object, start) = (run.objects[number], entries.count)
      let fields = UnsafeRawBufferPointer(rebasing: bytes[object.fields..<run.end(number)])
      let zIndex = zIndex + Int64(offset)
      let birth = birth.map { Birth(transaction: $0.transaction, ordinal: $0.ordinal + UInt32(offset)) }
      if let birth {
        key.removeAll()
        ObjectKey.birth(birth).encode(to: &key)
        key.bytes.withUnsafeBytes {
          StoredEntry.encode(.birth, of: type.stored.id, $0, fields, zIndex: zIndex, previous: .none, to: &entries)
        }
      } else {
        let key = UnsafeRawBufferPointer(rebasing: bytes[object.key..<object.fields])
        StoredEntry.encode(.update, of: type.stored.id, key, fields, zIndex: zIndex, previous: .none, to: &entries)
      }
      let size = 16 + (birth == nil ? object.fields - object.key : 16) + fields.count + numbering
      objects.append(Object(zIndex: zIndex, birth: birth, entry: start..<entries.count, size: size))
    }
  }

  /// - Parameter places: of their entries.
  /// - Returns: `false`, and nothing was written, if one of them is held already, or SQLite does not take it for another
  ///   reason, which it says of one alone.
  mutating func insert(_ run: ObjectRun, _ numbers: Range<Int>, _ places: [EntryPlace]) throws -> Bool {
    try prepare(run.objects[numbers.lowerBound].present)
    for (index, number) in numbers.enumerated() {
      let (object, source) = (objects[index], run.objects[number])
      try statement!.bind(object.zIndex)
      var position = source.key
      if let birth = object.birth {
        try statement!.bind(birth)
      } else {
        try statement!.bind(Value.Encoded(bytes, &position))
      }
      try statement!.bind(places[index])
      position = source.fields
      for _ in 0..<columns {
        _ = bytes.varint(&position)
        try statement!.bind(Value.Encoded(bytes, &position))
      }
    }
    guard try statement!.runOnce() < RunInsertion.count else { return true }
    hasMet = true
    for object in objects { try table.drop(object.zIndex, isShown: true) }
    return false
  }

  private mutating func prepare(_ present: UInt64) throws {
    guard statement == nil || self.present != present else { return }
    let fields = type.inOrder.filter { present & 1 << UInt64($0.index) != 0 }.map(\.field)
    // The one before may be of the same text.
    statement = nil
    statement = try SQL(table.db, type.stored.insert(fields, rows: RunInsertion.count))
    (self.present, columns) = (present, fields.count)
  }
}
