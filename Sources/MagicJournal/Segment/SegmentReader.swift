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

extension EncodedSegment {
  /// All that a reader has not taken yet.
  package init(_ reader: SegmentReader) throws(JournalError) {
    var reader = reader
    var transactions: [EncodedTransaction] = []
    while let transaction = try reader.nextEncoded(atMost: .max) { transactions.append(transaction) }
    self.init(header: reader.header, schema: reader.schema, transactions: transactions)
  }
}

/// Takes the transactions of a segment file one by one, so that memory holds its bytes and one transaction.
///
/// What follows the last one, and that it is the one that the header names, is checked when the end is reached (S-6).
package struct SegmentReader: Sendable {
  package let header: SegmentHeader
  private var body: BodyReader
  /// The sequence of the transaction that comes next, or of which entries are still to come.
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

  /// For those who look into a damaged file: its transactions as far as they go, with no check of what they say beyond their
  /// form.
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
    var transaction: Transaction?
    repeat {
      let taken = transaction?.entries.count ?? 0
      let part = try nextEncoded(atMost: min(most - taken, SegmentReader.atOnce))
      if transaction == nil {
        transaction = part?.head
        transaction?.entries.reserveCapacity(min(most, body.left + (part?.entries.count ?? 0), EncodedEntries.mostReserved))
      }
      if let part { part.entries.forEachEntry { transaction?.entries.append($0.made()) } }
    } while body.isWithinTransaction && (transaction?.entries.count ?? 0) < most
    return transaction
  }

  /// Reads the next transaction as it stands.
  package mutating func nextEncoded(atMost most: Int) throws(JournalError) -> EncodedTransaction? {
    guard sequence <= header.last else { return nil }
    let before = previous?.stamp ?? (header.first > 1 ? header.previous.stamp : nil)
    let transaction = try body.transaction(
      header.replica, sequence, isFirst: sequence == header.first, after: before, atMost: most)
    guard !body.isWithinTransaction else { return transaction }
    previous = transaction.head.name
    sequence += 1
    if sequence > header.last {
      try body.expectEnd()
      guard transaction.head.name == header.lastName else {
        throw JournalError(.damaged, "the last transaction is not the one that the header names", offset: 88)
      }
    }
    return transaction
  }

  /// Reads all that is still to come, and keeps nothing of it: where a body turns out to be damaged, what stands before is not
  /// to be believed either.
  package func checkRest() throws(JournalError) {
    var rest = self
    while try rest.nextEncoded(atMost: SegmentReader.atOnce) != nil {}
  }

  /// Few enough for a cache of the machine.
  private static let atOnce = 1_024

  /// The names of all transactions (S-3), without their entries.
  package func names() throws(JournalError) -> [TransactionName] {
    try body.names(Int(header.last - header.first) + 1)
  }
}

/// Takes transactions from the columns of a body: of a segment, or of a checkpoint's part.
struct BodyReader: Sendable {
  let schema: Schema
  private let bytes: [UInt8]
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
    let count = try reader.count(of: 2)
    guard count <= Limits.entries else { throw reader.damaged("it has more shapes than entries are allowed") }
    var fields = 0
    for _ in 0..<count {
      let shape = try SegmentShape(from: &reader, schema)
      fields += shape.fields.count
      guard fields <= Limits.segmentSize else { throw reader.damaged("its shapes have more fields than values are allowed") }
      shapes.append(shape)
    }
    columns = try SegmentColumns<ByteReader>(from: &reader, schema, isWhole: isWhole)
    columns.isKept = isKept
    if isWhole { try reader.expectEnd("the body") }
    (self.schema, self.bytes, self.roots, self.shapes) = (schema, bytes, roots, shapes)
  }

  /// Whether all transactions were taken.
  var isAtEnd: Bool { columns.stamps.isAtEnd }
  /// Where the stamp of the next one is.
  var offset: Int { columns.stamps.offset }

  var isWithinTransaction: Bool { open != nil }
  /// How many entries are left of the transaction that is not taken as a whole.
  var left: Int { open.map { $0.count - $0.taken } ?? 0 }
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
  ) throws(JournalError) -> EncodedTransaction {
    var open: OpenTransaction
    // Taken, and not copied: it grows.
    if let begun = self.open.take() {
      open = begun
    } else {
      open = try columns.begin(from: isFirst ? 0 : previous?.bits ?? 0, after: previous, roots: roots, atMost: most)
    }
    let before = open.size
    let entries = try columns.entries(of: &open, atMost: most, in: bytes, shapes, schema)
    self.entries += entries.count
    size += open.size - before
    guard self.entries <= Limits.entries, size <= Limits.segmentSize else {
      throw JournalError(.tooLarge, "more entries or values than a segment may have", offset: columns.shapes.offset)
    }
    if open.taken < open.count { self.open = open }
    return EncodedTransaction(
      head: Transaction(replica: replica, sequence: sequence, name: open.name, root: open.root, entries: []), entries: entries)
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
  /// What stands before the first entry of a transaction that comes in parts.
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
    of open: inout OpenTransaction, atMost most: Int, in body: [UInt8], _ shapes: [SegmentShape], _ schema: Schema
  ) throws(JournalError) -> EncodedEntries {
    let (first, count, before) = (open.taken, min(most, open.count - open.taken), open.size)
    var entries = EncodedEntries(of: open.name, in: body, first: first, atMost: count, isKept: isKept)
    for ordinal in first..<first + count {
      let hash = try entry(UInt32(ordinal), of: open.name, shapes, schema, &open.size, to: &entries)
      open.spoken.insert(hash)
      guard open.size <= Limits.transactionBytes else {
        throw JournalError(
          .tooLarge, "a transaction is above the limit of \(Limits.transactionBytes) bytes", offset: open.counted)
      }
    }
    assert(open.size == before + entries.size, "an encoding has the length that it is said to have")
    open.taken += count
    if open.taken == open.count, open.spoken.haveTwins {
      // Mostly there are none, and what looks so is but two objects of one hash.
      let all = first == 0 ? entries : try self.entries(of: open, in: body, shapes, schema)
      guard all.haveObjectsOfTheirOwn else {
        throw counts.damaged("a transaction has two entries of one object", at: open.counted)
      }
    }
    return entries
  }

  /// All entries of one that came in parts.
  private func entries(
    of open: OpenTransaction, in body: [UInt8], _ shapes: [SegmentShape], _ schema: Schema
  ) throws(JournalError) -> EncodedEntries {
    var entries = EncodedEntries(of: open.name, in: body, first: 0, atMost: open.count, isKept: isKept)
    guard var columns = open.start else { return entries }
    var size = 0
    for ordinal in 0..<UInt32(open.count) {
      _ = try columns.entry(ordinal, of: open.name, shapes, schema, &size, to: &entries)
    }
    return entries
  }

  /// Passes over an entry.
  ///
  /// - Parameter size: grows by the entry's (`Entry.size`), of which the bytes that are read tell.
  /// - Returns: a hash of its object.
  private mutating func entry(
    _ ordinal: UInt32, of name: TransactionName, _ shapes: [SegmentShape], _ schema: Schema, _ size: inout Int,
    to entries: inout EncodedEntries
  ) throws(JournalError) -> UInt64 {
    let index = try self.shapes.index(below: shapes.count, "shape")
    let (type, code) = (shapes[index].type, shapes[index].operation)
    let base = bases.offset
    if code.hasBase { _ = try bases.earlier(than: name.stamp) }
    let hash: UInt64
    let start = types[type].objects.offset
    if code.isFirst {
      let own = Birth(transaction: name, ordinal: isKept ? try types[type].objects.ordinal() : ordinal)
      if code.isClaim { try types[type].objects.passClaim() }
      entries.begin(shapes[index], nameAt: start, isBirth: true, base: base)
      (hash, size) = (own.hash(seed: UInt64(type)), size + 32)
    } else {
      let own = Birth(transaction: name, ordinal: ordinal)
      let key = try types[type].objects.passKey(code, own, types[type].primary, isKept: isKept)
      entries.begin(shapes[index], nameAt: key.offset, isBirth: key.birth != nil, base: base)
      if let birth = key.birth {
        (hash, size) = (birth.hash(seed: UInt64(type)), size + 32)
      } else {
        let bytes = start..<types[type].objects.offset
        hash = types[type].objects.withBytes { UnsafeRawBufferPointer(rebasing: $0[bytes]).hash(seed: UInt64(type)) }
        size += 16 + bytes.count
      }
    }
    for place in 0..<shapes[index].fields.count {
      let field = shapes[index].fields[place]
      let start = types[type].fields[field].offset
      let value = try Value.pass(&types[type].fields[field])
      // Of the field alone what is needed: it holds texts, which would be counted.
      let kind = schema.types[type].fields[field].kind
      let fits =
        value.relation?.fits(schema.types[type].fields[field]) ?? (value.kind == kind || value.kind == nil && !kind.hasElements)
      guard fits else {
        throw types[type].fields[field].damaged("a value does not fit its field", at: start)
      }
      size += 4 + types[type].fields[field].offset - start
      if let relation = value.relation {
        size += 16 * relation.elementCount
        entries.add(field, relation, at: start)
      } else {
        entries.add(field, at: start)
      }
    }
    return hash
  }
}

extension ByteReader {
  /// A stamp that is written as its distance below another.
  fileprivate mutating func earlier(than stamp: Stamp, byAtLeast least: UInt64 = 1) throws(JournalError) -> Stamp {
    let start = offset
    let distance = try varint()
    guard distance >= least, distance <= stamp.bits else { throw damaged("a stamp that is not earlier", at: start) }
    return Stamp(stamp.bits - distance)
  }

  fileprivate mutating func passClaim() throws(JournalError) {
    let start = offset
    let number = try varint()
    guard let number = Int64(exactly: number), Numbers.claimable ~= number else {
      throw damaged("a number that cannot be claimed", at: start)
    }
  }

  fileprivate mutating func ordinal() throws(JournalError) -> UInt32 {
    let start = offset
    let ordinal = try varint()
    guard ordinal < Limits.entries else { throw damaged("an ordinal that no transaction has", at: start) }
    return UInt32(ordinal)
  }

  /// - Returns: where what names an object begins, and the birth if it is one.
  fileprivate mutating func passKey(
    _ operation: Entry.Operation.Code, _ own: Birth, _ primary: Value.Kind?, isKept: Bool
  ) throws(JournalError) -> (offset: Int, birth: Birth?) {  // S-5
    var start = offset
    if primary == .integer, next == ObjectKey.birthForm {  // S-10
      _ = try byte()
      start = offset
    } else if let primary {
      guard try Value.pass(&self).kind == primary else {
        throw damaged("a primary value is not of its type's kind", at: start)
      }
      return (start, nil)
    }
    // Only a remove may speak of an object that its own transaction has made.
    let stamp = try earlier(than: own.transaction.stamp, byAtLeast: operation == .remove && primary == nil ? 0 : 1)
    guard stamp > .earliest else { throw damaged("an object born at stamp 0", at: start) }
    let tag = try fixed(UInt32.self)
    let birth = Birth(transaction: TransactionName(stamp: stamp, tag: tag), ordinal: try ordinal())
    guard stamp < own.transaction.stamp || birth == own || isKept && birth.transaction == own.transaction else {
      throw damaged("a birth at another place of its transaction", at: start)
    }
    return (start, birth)
  }
}
