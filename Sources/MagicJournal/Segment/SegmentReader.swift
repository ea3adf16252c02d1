extension Segment {
  /// Reads a segment file. Nothing in it is believed before its check (S-1).
  package init(_ bytes: [UInt8]) throws(JournalError) {
    try self.init(SegmentReader(bytes))
  }

  /// All that a reader has not taken yet.
  package init(_ reader: SegmentReader) throws(JournalError) {
    var reader = reader
    var transactions: [Transaction] = []
    while let transaction = try reader.next() { transactions.append(transaction) }
    self.init(header: reader.header, schema: reader.schema, transactions: transactions)
  }
}

/// Takes the transactions of a segment file one by one, so that memory holds its bytes and one transaction.
///
/// What follows the last one, and that it is the one that the header names, is checked when the end is reached (S-6).
package struct SegmentReader: Sendable {
  package let header: SegmentHeader
  private var body: BodyReader
  /// Of the transaction that comes next, or of which entries are still to come.
  package private(set) var sequence: UInt64
  private var previous: TransactionName?

  package var schema: Schema { body.schema }
  /// How many entries are still to come, at most.
  package var mostEntries: Int { body.mostEntries }

  /// Checks all that can be checked without reading transactions (S-1).
  package init(_ bytes: [UInt8]) throws(JournalError) {
    let header = try SegmentHeader(bytes)
    guard bytes.count == SegmentHeader.length + header.storedLength else {
      throw JournalError(
        .damaged, "the file has \(bytes.count) bytes where \(SegmentHeader.length + header.storedLength) are expected",
        offset: min(bytes.count, SegmentHeader.length + header.storedLength))
    }
    let stored = bytes[SegmentHeader.length...]
    guard Zlib.checksum(stored) == header.storedChecksum else {
      throw JournalError(.damaged, "the body's checksum does not match", offset: SegmentHeader.length)
    }
    try self.init(header, BodyReader(try Zlib.inflate(stored, to: header.bodyLength)))
  }

  /// For those who look into a damaged file: its transactions as far as they go, with no check of what they say beyond their form.
  package init(salvaging bytes: [UInt8]) throws(JournalError) {
    let header = try SegmentHeader(bytes)
    let stored = bytes[SegmentHeader.length...].prefix(header.storedLength)
    try self.init(header, BodyReader(Zlib.inflatePrefix(stored, atMost: header.bodyLength), isWhole: false))
  }

  private init(_ header: SegmentHeader, _ body: BodyReader) throws(JournalError) {
    (self.header, self.body) = (header, body)
    sequence = header.first
  }

  /// `nil` after the last one.
  ///
  /// - Parameter most: hands out a transaction of more entries in parts: each is as a transaction that has so many of them.
  package mutating func next(atMost most: Int = .max) throws(JournalError) -> Transaction? {
    guard sequence <= header.last else { return nil }
    let before = previous?.stamp ?? (header.first > 1 ? header.previous.stamp : nil)
    let transaction = try body.transaction(
      header.replica, sequence, isFirst: sequence == header.first, after: before, atMost: most)
    guard !body.isWithinTransaction else { return transaction }
    previous = transaction.name
    sequence += 1
    if sequence > header.last {
      try body.expectEnd()
      guard transaction.name == header.lastName else {
        throw JournalError(.damaged, "the last transaction is not the one that the header names", offset: 88)
      }
    }
    return transaction
  }

  /// The names of all transactions (S-3), without their entries.
  package func names() throws(JournalError) -> [TransactionName] {
    try body.names(Int(header.last - header.first) + 1)
  }
}

/// Takes transactions from the columns of a body: of a segment, or of a checkpoint's part.
struct BodyReader: Sendable {
  let schema: Schema
  private let roots: [ReplicaID]
  private let shapes: [SegmentShape]
  private var columns: SegmentColumns<ByteReader>
  /// The transaction of which entries are still to be taken.
  private var open: OpenTransaction?
  private(set) var entries = 0
  private var size = 0

  /// - Parameters:
  ///   - isKept: of a checkpoint (K-11).
  ///   - isWhole: whether bytes that are missing are an error; else streams end where the bytes do.
  init(_ bytes: [UInt8], isKept: Bool = false, isWhole: Bool = true) throws(JournalError) {
    var reader = ByteReader(bytes)
    let schema = try Schema(from: &reader)
    var roots: [ReplicaID] = []
    for _ in 0..<(try reader.count(of: 16)) { roots.append(try Identifier(from: &reader)) }
    var shapes: [SegmentShape] = []
    for _ in 0..<(try reader.count(of: 2)) { shapes.append(try SegmentShape(from: &reader, schema)) }
    columns = try SegmentColumns<ByteReader>(from: &reader, schema, isWhole: isWhole)
    columns.isKept = isKept
    if isWhole { try reader.expectEnd("the body") }
    (self.schema, self.roots, self.shapes) = (schema, roots, shapes)
  }

  /// Whether all transactions were taken.
  var isAtEnd: Bool { columns.stamps.isAtEnd }
  /// Where the stamp of the next one is.
  var offset: Int { columns.stamps.offset }

  var isWithinTransaction: Bool { open != nil }
  /// Each entry takes a byte of this stream at least.
  var mostEntries: Int { columns.shapes.left }

  /// The next one.
  ///
  /// - Parameters:
  ///   - isFirst: of the body.
  ///   - previous: the stamp that it has to be above, or, of a checkpoint, not below.
  ///   - most: how many of its entries; the others come with the next calls.
  mutating func transaction(
    _ replica: ReplicaID, _ sequence: UInt64, isFirst: Bool, after previous: Stamp?, atMost most: Int = .max
  ) throws(JournalError) -> Transaction {
    var open: OpenTransaction
    if let begun = self.open {
      open = begun
      self.open = nil
    } else {
      open = try columns.begin(from: isFirst ? 0 : previous?.bits ?? 0, after: previous, roots: roots, atMost: most)
    }
    let before = open.size
    let entries = try columns.entries(of: &open, atMost: most, shapes, schema)
    self.entries += entries.count
    size += open.size - before
    guard self.entries <= Limits.entries, size <= Limits.segmentSize else {
      throw JournalError(.tooLarge, "more entries or values than a segment may have", offset: columns.shapes.offset)
    }
    let transaction = Transaction(replica: replica, sequence: sequence, name: open.name, root: open.root, entries: entries)
    if open.taken < open.count { self.open = open }
    return transaction
  }

  /// The names of so many transactions, without their entries.
  func names(_ count: Int) throws(JournalError) -> [TransactionName] {
    var (stamps, tags) = (columns.stamps, columns.tags)
    var (names, bits): ([TransactionName], UInt64) = ([], 0)
    for _ in 0..<count {
      let start = stamps.offset
      let (sum, overflow) = bits.addingReportingOverflow(try stamps.varint())
      guard !overflow else { throw stamps.damaged("a replica's stamps do not rise", at: start) }
      bits = sum
      names.append(TransactionName(stamp: try Stamp(checking: bits, stamps, at: start), tag: try tags.fixed(UInt32.self)))
    }
    return names
  }

  func expectEnd() throws(JournalError) { try columns.expectEnd() }
}

/// A transaction of which entries are still to be taken.
private struct OpenTransaction: Sendable {
  let name: TransactionName
  let root: ReplicaID
  let count: Int
  /// Where its count is.
  let counted: Int
  var taken = 0
  var size = 0  // J-20
  var spoken: SpokenObjects
  /// Of one that comes in parts: what stands before its first entry.
  let start: SegmentColumns<ByteReader>?
}

extension SegmentColumns<ByteReader> {
  fileprivate mutating func begin(
    from before: UInt64, after previous: Stamp?, roots known: [ReplicaID], atMost most: Int
  ) throws(JournalError) -> OpenTransaction {
    let start = stamps.offset
    let (bits, overflow) = before.addingReportingOverflow(try stamps.varint())
    let rises = previous.map { isKept ? $0.bits <= bits : $0.bits < bits } ?? true
    guard !overflow, rises else { throw stamps.damaged("a replica's stamps do not rise", at: start) }
    guard bits > 0 else { throw stamps.damaged("a stamp of 0", at: start) }
    let name = TransactionName(stamp: try Stamp(checking: bits, stamps, at: start), tag: try tags.fixed(UInt32.self))
    let root = known[try roots.index(below: known.count, "root")]
    let counted = counts.offset
    let count = try counts.varint()
    guard count >= 1 else { throw counts.damaged("a transaction without entries", at: counted) }
    // Each entry takes a byte of this stream at least.
    guard count <= UInt64(min(self.shapes.left, Limits.entries)) else {
      throw counts.damaged("more entries than there are shapes, or than a transaction may have", at: counted)
    }
    return OpenTransaction(
      name: name, root: root, count: Int(count), counted: counted, spoken: SpokenObjects(Int(count)),
      start: count > most ? self : nil)
  }

  fileprivate mutating func entries(
    of open: inout OpenTransaction, atMost most: Int, _ shapes: [SegmentShape], _ schema: Schema
  ) throws(JournalError) -> [Entry] {
    let (first, count) = (open.taken, min(most, open.count - open.taken))
    var entries: [Entry] = []
    entries.reserveCapacity(count)
    for ordinal in first..<first + count {
      let entry = try entry(UInt32(ordinal), of: open.name, shapes, schema, &open.size)
      if open.count > 1, !open.spoken.insert(entry) {
        // Mostly there is but a hash that another object has too. The parts before are read again to know.
        if !open.spoken.isExact { open.spoken.know(try before(open, first, shapes, schema) + entries) }
        guard open.spoken.insert(entry) else {
          throw counts.damaged("a transaction has two entries of one object", at: open.counted)
        }
      }
      entries.append(entry)
      guard open.size <= Limits.transactionBytes else {
        throw JournalError(
          .tooLarge, "a transaction is above the limit of \(Limits.transactionBytes) bytes", offset: open.counted)
      }
    }
    open.taken += count
    return entries
  }

  /// The first entries of one that comes in parts.
  private func before(
    _ open: OpenTransaction, _ count: Int, _ shapes: [SegmentShape], _ schema: Schema
  ) throws(JournalError) -> [Entry] {
    guard count > 0, var columns = open.start else { return [] }
    var (entries, size): ([Entry], Int) = ([], 0)
    for ordinal in 0..<UInt32(count) { entries.append(try columns.entry(ordinal, of: open.name, shapes, schema, &size)) }
    return entries
  }

  /// - Parameter size: grows by the entry's (`Entry.size`), of which the bytes that are read tell.
  private mutating func entry(
    _ ordinal: UInt32, of name: TransactionName, _ shapes: [SegmentShape], _ schema: Schema, _ size: inout Int
  ) throws(JournalError) -> Entry {
    let index = try self.shapes.index(below: shapes.count, "shape")
    let (type, code) = (shapes[index].type, shapes[index].operation)
    let place = isKept && SegmentShape.isFirst(code) ? try types[type].objects.ordinal() : ordinal
    let own = Birth(transaction: name, ordinal: place)
    let operation: Entry.Operation
    let key: ObjectKey
    let start = types[type].objects.offset
    switch code {
    case 3: (operation, key) = (.birth, .birth(own))
    case 4: (operation, key) = (.claim(number: try types[type].objects.claimed()), .birth(own))
    case 5: (operation, key) = (.withdrawal(number: try types[type].objects.claimed()), .birth(own))
    default:
      operation =
        switch code {
        case 0: .remove
        case 1: .update
        default: .revival(base: try bases.earlier(than: name.stamp))
        }
      key = try types[type].objects.key(operation, own, types[type].primary, isKept: isKept)
    }
    let before = size
    size += 16 + (key.isPrimary ? types[type].objects.offset - start : 16)
    var fields: [FieldValue] = []
    fields.reserveCapacity(shapes[index].fields.count)
    for field in shapes[index].fields {
      let start = types[type].fields[field].offset
      let value = try Value(from: &types[type].fields[field])
      guard value.fits(schema.types[type].fields[field]) else {
        throw types[type].fields[field].damaged("a value does not fit its field", at: start)
      }
      size += 4 + types[type].fields[field].offset - start + 16 * value.elementCount
      fields.append(FieldValue(field: field, value: value))
    }
    let entry = Entry(type: type, key: key, operation: operation, fields: fields)
    assert(size == before + entry.size, "an encoding has the length that it is said to have")
    return entry
  }
}

/// The objects that a transaction has entries of: a table of hashes, which is quick, until two of them are the same or too close; then a set.
private struct SpokenObjects {
  private struct Object: Hashable {
    let type: Int
    let key: ObjectKey

    init(_ entry: Entry) { (type, key) = (entry.type, entry.key) }
  }

  /// Of each hash the lower half, which does not choose its place; 0 for none.
  private var hashes: [UInt32] = []
  private var objects: Set<Object>?
  /// From a hash to its place.
  private let shift: Int

  /// Hashes that others have chosen may be close.
  private static let maxSteps = 32

  init(_ count: Int) {
    let bits = Int.bitWidth - (2 * count - 1).leadingZeroBitCount
    shift = UInt64.bitWidth - bits
    if count > 1 { hashes = Array(repeating: 0, count: 1 << bits) }
  }

  /// Whether objects themselves are compared.
  var isExact: Bool { objects != nil }

  /// `false` for an object that is known, or, until objects are compared, that may be.
  mutating func insert(_ entry: Entry) -> Bool {
    guard objects == nil else { return objects?.insert(Object(entry)).inserted ?? false }
    let hash = entry.key.hash(seed: UInt64(entry.type))
    let low = max(UInt32(truncatingIfNeeded: hash), 1)
    var place = Int(hash >> UInt64(shift))
    for _ in 0..<SpokenObjects.maxSteps {
      if hashes[place] == 0 {
        hashes[place] = low
        return true
      }
      if hashes[place] == low { return false }
      place = (place + 1) & (hashes.count - 1)
    }
    return false
  }

  /// Compares objects from here on.
  ///
  /// - Parameter entries: all those before.
  mutating func know(_ entries: [Entry]) {
    (objects, hashes) = (Set(entries.lazy.map(Object.init)), [])
  }
}

extension ObjectKey {
  fileprivate var isPrimary: Bool { if case .primary = self { true } else { false } }
}

extension ByteReader {
  /// A stamp that is written as its distance below another.
  fileprivate mutating func earlier(than stamp: Stamp, byAtLeast least: UInt64 = 1) throws(JournalError) -> Stamp {
    let start = offset
    let distance = try varint()
    guard distance >= least, distance <= stamp.bits else { throw damaged("a stamp that is not earlier", at: start) }
    return Stamp(stamp.bits - distance)
  }

  fileprivate mutating func claimed() throws(JournalError) -> Int64 {
    let start = offset
    let number = try varint()
    guard let number = Int64(exactly: number), Numbers.claimable ~= number else {
      throw damaged("a number that cannot be claimed", at: start)
    }
    return number
  }

  fileprivate mutating func ordinal() throws(JournalError) -> UInt32 {
    let start = offset
    let ordinal = try varint()
    guard ordinal < Limits.entries else { throw damaged("an ordinal that no transaction has", at: start) }
    return UInt32(ordinal)
  }

  fileprivate mutating func key(
    _ operation: Entry.Operation, _ own: Birth, _ primary: Value.Kind?, isKept: Bool
  ) throws(JournalError) -> ObjectKey {  // S-5
    let start = offset
    if primary == .integer, next == ObjectKey.birthForm {  // S-10
      _ = try byte()
    } else if let primary {
      let value = try Value(from: &self)
      guard value.kind == primary else { throw damaged("a primary value is not of its type's kind", at: start) }
      return .primary(value)
    }
    // Only a remove may speak of an object that its own transaction has made.
    let stamp = try earlier(than: own.transaction.stamp, byAtLeast: operation == .remove && primary == nil ? 0 : 1)
    guard stamp > .earliest else { throw damaged("an object born at stamp 0", at: start) }
    let tag = try fixed(UInt32.self)
    let birth = Birth(transaction: TransactionName(stamp: stamp, tag: tag), ordinal: try ordinal())
    guard stamp < own.transaction.stamp || birth == own || isKept && birth.transaction == own.transaction else {
      throw damaged("a birth at another place of its transaction", at: start)
    }
    return .birth(birth)
  }
}
