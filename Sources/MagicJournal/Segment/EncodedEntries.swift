/// A checked transaction of a segment, or a part of one, whose entries are not decoded yet.
package struct EncodedTransaction: Sendable {
  /// Without entries.
  package let head: Transaction
  package let entries: EncodedEntries

  package func made() -> Transaction {
    var transaction = head
    transaction.entries.reserveCapacity(entries.count)
    entries.forEachEntry { transaction.entries.append($0.made()) }
    return transaction
  }
}

/// Entries as they are encoded in a body. To inspect one takes a few numbers, which cost less than to decode it.
package struct EncodedEntries: Sendable {
  private let body: [UInt8]
  private let transaction: TransactionName
  /// Whether they are a checkpoint's (K-11).
  private let isKept: Bool
  /// The ordinal of the first one.
  private let first: Int
  package private(set) var count = 0
  /// The length of the values that are decoded already (`relations`), as encoded.
  package private(set) var madeBytes = 0
  /// For each entry in turn: its type and operation, how many values it has, where its object's name begins, where its base
  /// does if it has one, and each value's field and where that begins. (Shapes say some of this, but each is an array, which is
  /// counted when it is looked at.)
  private var places: [UInt32] = []
  /// Values that do not stand by themselves: a place has their index.
  private var relations: [Relation] = []

  fileprivate struct Relation {
    let value: Value
    /// Where it begins.
    let offset: Int
  }

  /// A flag in a place, whose offset never needs this bit: the name is a birth, or the value is in `relations`.
  fileprivate static let mark: UInt32 = 1 << 31

  init(of transaction: TransactionName, in body: [UInt8], first: Int, atMost count: Int, isKept: Bool) {
    (self.body, self.transaction, self.first, self.isKept) = (body, transaction, first, isKept)
    places.reserveCapacity(10 * min(count, EncodedEntries.mostReserved))
  }

  /// The most entries that memory is reserved for: a small body may claim any number.
  static let mostReserved = 1 << 17

  /// - Parameter base: where it begins, of an entry that has one.
  mutating func begin(_ shape: SegmentShape, nameAt offset: Int, isBirth: Bool, base: Int) {
    count += 1
    places.append(UInt32(shape.type) << 8 | UInt32(shape.operation.rawValue))
    places.append(UInt32(shape.fields.count))
    places.append(isBirth ? UInt32(offset) | EncodedEntries.mark : UInt32(offset))
    if shape.operation.hasBase { places.append(UInt32(base)) }
  }

  mutating func add(_ field: Int, at offset: Int) {
    places.append(UInt32(field))
    places.append(UInt32(offset))
  }

  mutating func add(_ field: Int, _ relation: Value, at offset: Int) {
    places.append(UInt32(field))
    places.append(UInt32(relations.count) | EncodedEntries.mark)
    relations.append(Relation(value: relation, offset: offset))
    madeBytes += relation.length
  }

  /// Whether no two are of one object.
  var haveObjectsOfTheirOwn: Bool {
    struct Object: Hashable {
      let type: Int
      let key: ObjectKey
    }
    var objects: Set<Object> = []
    forEachEntry { objects.insert(Object(type: $0.type, key: $0.objectKey)) }
    return objects.count == count
  }

  /// What they count towards a transaction's limit (J-20).
  var size: Int {
    var size = 0
    forEachEntry { size += $0.made().size }
    return size
  }

  /// Hands out one after the other, each for as long as `look` runs.
  package func forEachEntry(_ look: (EncodedEntry) throws -> Void) rethrows {
    try body.withUnsafeBytes { body in
      try places.withUnsafeBufferPointer { places in
        try relations.withUnsafeBufferPointer { relations in
          var place = 0
          for index in 0..<count {
            let code = Entry.Operation.Code(rawValue: UInt8(truncatingIfNeeded: places[place])).unsafelyUnwrapped
            let values = place + (code.hasBase ? 4 : 3)
            let end = values + 2 * Int(places[place + 1])
            try look(
              EncodedEntry(
                type: Int(places[place] >> 8), code: code, ordinal: UInt32(first + index), transaction: transaction,
                isKept: isKept, body: body, name: places[place + 2], base: places[values - 1],
                values: UnsafeBufferPointer(rebasing: places[values..<end]), relations: relations))
            place = end
          }
        }
      }
    }
  }
}

/// An entry where it stands in a body that was checked.
package struct EncodedEntry {
  package enum Name {
    case primary(Value.Encoded)
    case birth(Birth)
  }

  package enum Content {
    case encoded(Value.Encoded)
    case relation(Value)
  }

  package let type: Int
  package let code: Entry.Operation.Code
  fileprivate let ordinal: UInt32
  fileprivate let transaction: TransactionName
  fileprivate let isKept: Bool
  fileprivate let body: UnsafeRawBufferPointer
  fileprivate let name: UInt32
  fileprivate let base: UInt32
  fileprivate let values: UnsafeBufferPointer<UInt32>
  fileprivate let relations: UnsafeBufferPointer<EncodedEntries.Relation>

  package var isLife: Bool { code.isLife }
  package var isUpdate: Bool { code == .update }
  package var fieldCount: Int { values.count / 2 }
  /// Whether it sets elements of a set or dictionary.
  package var hasElements: Bool {
    (0..<fieldCount).contains {
      let place = values[2 * $0 + 1]
      return place & EncodedEntries.mark != 0 && relation(place).value.kind?.hasElements ?? false
    }
  }
  /// They rise.
  package func field(at index: Int) -> Int { Int(values[2 * index]) }

  private var nameOffset: Int { Int(name & ~EncodedEntries.mark) }

  package var key: Name {
    var position = nameOffset
    if code.isFirst {
      return .birth(Birth(transaction: transaction, ordinal: isKept ? UInt32(body.varint(&position)) : ordinal))
    }
    guard name & EncodedEntries.mark != 0 else { return .primary(Value.Encoded(body, &position)) }
    let stamp = Stamp(transaction.stamp.bits - body.varint(&position))
    let tag = body.fixed(UInt32.self, &position)
    return .birth(Birth(transaction: TransactionName(stamp: stamp, tag: tag), ordinal: UInt32(body.varint(&position))))
  }

  /// The number that is claimed.
  package var number: Int64? { code.isClaim ? claimed : nil }

  private var claimed: Int64 {
    var position = nameOffset
    if isKept { _ = body.varint(&position) }
    return Int64(body.varint(&position))
  }

  /// What its object's key takes (`ObjectKey.encodedLength`).
  package var keyLength: Int {
    if code.isFirst || name & EncodedEntries.mark != 0 { return ObjectKey.birthLength }
    return length(at: name)
  }

  /// Writes that.
  func putKey(to buffer: UnsafeMutableRawBufferPointer, _ position: inout Int) {
    guard code.isFirst || name & EncodedEntries.mark != 0 else {
      return buffer.put(UnsafeRawBufferPointer(rebasing: body[nameOffset..<nameOffset + length(at: name)]), &position)
    }
    objectKey.encoded.withUnsafeBytes { buffer.put($0, &position) }
  }

  /// What a value takes (`Value.encodedLength`).
  package func length(ofValueAt index: Int) -> Int {
    let place = values[2 * index + 1]
    guard place & EncodedEntries.mark == 0 else { return relation(place).value.encodedLength }
    return length(at: place)
  }

  /// A value as `Value.encode` writes it.
  package func bytes(ofValueAt index: Int) -> UnsafeRawBufferPointer {
    let place = values[2 * index + 1]
    let start = place & EncodedEntries.mark == 0 ? Int(place) : relation(place).offset
    return UnsafeRawBufferPointer(rebasing: body[start..<start + length(ofValueAt: index)])
  }

  private func relation(_ place: UInt32) -> EncodedEntries.Relation { relations[Int(place & ~EncodedEntries.mark)] }

  private func length(at place: UInt32) -> Int {
    guard let length = Value.Encoded.length(body, at: Int(place), before: body.count) else {
      preconditionFailure("a body was checked before its entries are handed out")
    }
    return length
  }

  package func value(at index: Int) -> Content {
    let place = values[2 * index + 1]
    guard place & EncodedEntries.mark == 0 else { return .relation(relation(place).value) }
    var position = Int(place)
    return .encoded(Value.Encoded(body, &position))
  }

  package func made() -> Entry {
    var fields: [FieldValue] = []
    fields.reserveCapacity(fieldCount)
    for index in 0..<fieldCount { fields.append(FieldValue(field: field(at: index), value: madeValue(at: index))) }
    return Entry(type: type, key: objectKey, operation: operation, fields: fields)
  }

  package func madeValue(at index: Int) -> Value {
    switch value(at: index) {
    case .encoded(let value): Value(value)
    case .relation(let value): value
    }
  }

  package var objectKey: ObjectKey {
    switch key {
    case .primary(let value): .primary(Value(value))
    case .birth(let birth): .birth(birth)
    }
  }

  package var operation: Entry.Operation {
    switch code {
    case .remove: return .remove
    case .update: return .update
    case .revival: return .revival(base: earlier)
    case .birth: return .birth
    case .claim: return .claim(number: claimed)
    case .withdrawal: return .withdrawal(number: claimed)
    case .purge: return .purge(base: earlier)
    }
  }

  /// The base, of an entry that has one.
  private var earlier: Stamp {
    var position = Int(base)
    return Stamp(transaction.stamp.bits - body.varint(&position))
  }
}
