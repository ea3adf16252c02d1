package import MagicJournal

/// An entry as a row of `magic_journal` has it (J-18): with what only this database knows of its object.
package struct StoredEntry {
  package var entry: Entry
  package let zIndex: Int64
  /// The same object's entry before it.
  package let previous: EntryPlace

  package func encode(to writer: inout ByteWriter) {
    StoredEntry.encodeHead(entry.type, entry.operation, zIndex, previous, to: &writer)
    entry.key.encode(to: &writer)
    for field in entry.fields {
      writer.varint(field.field)
      field.value.encode(to: &writer)
    }
  }

  private static func encodeHead(
    _ type: Int, _ operation: Entry.Operation, _ zIndex: Int64, _ previous: EntryPlace, to writer: inout ByteWriter
  ) {
    writer.varint(type)
    writer.byte(operation.code.rawValue)
    writer.varint(UInt64(bitPattern: zIndex))
    writer.varint(UInt64(bitPattern: previous.bits))
    if let base = operation.base { writer.fixed(base.bits) }
    if let number = operation.number { writer.varint(UInt64(number)) }
  }

  /// One of which key and fields are encoded already.
  static func encode(
    _ operation: Entry.Operation, of type: Int, _ key: UnsafeRawBufferPointer, _ fields: UnsafeRawBufferPointer, zIndex: Int64,
    previous: EntryPlace, to writer: inout ByteWriter
  ) {
    encodeHead(type, operation, zIndex, previous, to: &writer)
    writer.append(key)
    writer.append(fields)
  }

  init(entry: Entry, zIndex: Int64, previous: EntryPlace) {
    self.entry = entry
    self.zIndex = zIndex
    self.previous = previous
  }

  package init(from reader: inout ByteReader, _ types: [StoredType]) throws(JournalError) {
    let start = reader.offset
    guard let head = reader.withBytes({ StoredHead($0, start..<start + reader.left, types: types.count) }) else {
      throw reader.damaged("what stands before an entry's name cannot be read")
    }
    try reader.pass(head.length)
    (zIndex, previous) = (head.zIndex, head.previous)
    let (type, key) = (types[head.type], try ObjectKey(from: &reader))
    guard type.schema.names(key), head.operation.fits(type.schema) else {
      throw reader.damaged("an entry that its type's objects cannot have", at: start)
    }
    var fields: [FieldValue] = []
    while !reader.isAtEnd {
      let start = reader.offset
      let field = FieldValue(
        field: try reader.index(below: type.schema.fields.count, "field"), value: try Value(from: &reader))
      guard type.schema.holds(field) else { throw reader.damaged("a value that its field cannot hold", at: start) }
      fields.append(field)
    }
    entry = Entry(type: type.id, key: key, operation: head.operation, fields: fields)
  }
}

/// What stands before the name in an entry of `magic_journal`.
package struct StoredHead: Sendable {
  package let type: Int
  package let operation: Entry.Operation
  package let zIndex: Int64
  package let previous: EntryPlace
  /// In bytes.
  let length: Int
  /// Where `previous` stands, from where this begins.
  let previousRange: Range<Int>

  /// - Parameters:
  ///   - range: of the entry.
  ///   - count: of the types that there are.
  /// - Returns: `nil` if there is none.
  init?(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, types count: Int) {
    var position = range.lowerBound
    let end = range.upperBound
    guard let type = bytes.varint(&position, before: end), type < UInt64(count), position < end,
      let code = Entry.Operation.Code(rawValue: bytes[position])
    else { return nil }
    position += 1
    guard let zIndex = bytes.varint(&position, before: end) else { return nil }
    let start = position
    guard let place = bytes.varint(&position, before: end) else { return nil }
    previousRange = start - range.lowerBound..<position - range.lowerBound
    (self.type, self.zIndex) = (Int(type), Int64(bitPattern: zIndex))
    previous = EntryPlace(bits: Int64(bitPattern: place))
    switch code {
    case .remove: operation = .remove
    case .update: operation = .update
    case .birth: operation = .birth
    case .revival, .purge:
      guard position + 8 <= end else { return nil }
      let base = Stamp(UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)))
      operation = code == .revival ? .revival(base: base) : .purge(base: base)
      position += 8
    case .claim, .withdrawal:
      guard let bits = bytes.varint(&position, before: end) else { return nil }
      let number = Int64(clamping: bits)
      operation = code == .claim ? .claim(number: number) : .withdrawal(number: number)
    }
    length = position - range.lowerBound
  }
}

/// The entries of one row of `magic_journal`, each with its length before it.
package struct EntryRow: Sendable {
  private(set) var bytes = ByteWriter()
  private(set) var count = 0

  /// So many bytes that three rows fit a page of SQLite's.
  private static let cut = 1_300

  var isEmpty: Bool { count == 0 }
  var isFull: Bool { EntryRow.isFull(count, bytes.count) }

  static func isFull(_ count: Int, _ bytes: Int) -> Bool { count == EntryPlace.perRow || bytes >= cut }

  /// Begins anew, with the memory that it has, unless that is much.
  mutating func removeAll() {
    if bytes.count > 4 * EntryRow.cut { bytes = ByteWriter() }
    bytes.removeAll()
    count = 0
  }

  mutating func append(_ entry: borrowing StoredEntry, _ scratch: inout ByteWriter) {
    scratch.removeAll()
    entry.encode(to: &scratch)
    append(encoded: scratch.bytes)
  }

  mutating func append(encoded entry: [UInt8]) {
    bytes.block(entry)
    count += 1
  }

  mutating func append(encoded entry: ArraySlice<UInt8>) {
    bytes.block(entry)
    count += 1
  }

  init() {}

  /// A row of kept entries: each is where it was, and what went leaves a place without bytes (J-32).
  init(kept: [(index: Int, bytes: [UInt8])]) {
    for (index, entry) in kept {
      while count < index { append(encoded: [UInt8]()) }
      append(encoded: entry)
    }
  }

  /// The bytes of each entry; none where one was that is not kept.
  package static func parts(of data: [UInt8]) throws(JournalError) -> [ByteReader] {
    try ranges(of: data).map { ByteReader(data, $0) }
  }

  /// Where these are.
  static func ranges(of data: [UInt8]) throws(JournalError) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    // Most are small.
    ranges.reserveCapacity(min(EntryPlace.perRow, data.count / 20 + 1))
    let end = data.withUnsafeBytes { bytes in
      var position = 0
      while position < bytes.count {
        let start = position
        guard let count = bytes.varint(&position, before: bytes.count), count <= UInt64(bytes.count - position) else {
          return start
        }
        ranges.append(position..<position + Int(count))
        position += Int(count)
      }
      return position
    }
    guard end == data.count else { throw JournalError(.damaged, "an entry ends too early", offset: end) }
    return ranges
  }

  /// The row with another entry in one's place.
  static func replacing(_ index: Int, in data: [UInt8], by entry: StoredEntry) throws(JournalError) -> EntryRow {
    var row = EntryRow()
    for (number, part) in try parts(of: data).enumerated() {
      if number == index {
        var scratch = ByteWriter()
        row.append(entry, &scratch)
      } else {
        row.append(encoded: part.rest)
      }
    }
    return row
  }

  /// An update as it stands in a segment, with the types and fields of the schema that is stored.
  mutating func append(_ update: EncodedEntry, as type: LearntType, zIndex: Int64, previous: EntryPlace) {
    let (id, zIndex) = (UInt64(type.id), UInt64(bitPattern: zIndex))
    let previous = UInt64(bitPattern: previous.bits)
    let head = 1 + ByteWriter.length(ofVarint: id) + ByteWriter.length(ofVarint: zIndex) + ByteWriter.length(ofVarint: previous)
    let length = head + update.length(as: type)
    withUnsafeTemporaryAllocation(byteCount: length + EntryRow.mostOfLength, alignment: 1) { buffer in
      var position = 0
      buffer.put(UInt64(length), &position)
      buffer.put(id, &position)
      buffer[position] = Entry.Operation.Code.update.rawValue
      position += 1
      buffer.put(zIndex, &position)
      buffer.put(previous, &position)
      update.put(as: type, to: buffer, &position)
      bytes.append(UnsafeRawBufferPointer(rebasing: buffer[..<position]))
    }
    count += 1
  }

  /// What a varint takes at most.
  private static let mostOfLength = 10

  /// Hands out the same row with other entries before some of its own, if it is a row that has them.
  static func linking(
    _ links: RowLinks, in row: [UInt8], types: Int, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let ranges = try ranges(of: row)
    guard ranges.count >= links.count else { throw JournalError(.damaged, "an entry is not where it was put") }
    try row.withUnsafeBytes { bytes in
      let most = bytes.count + 2 * EntryRow.mostOfLength * links.count
      try withUnsafeTemporaryAllocation(byteCount: most, alignment: 1) { buffer in
        var (position, written) = (0, 0)
        for (index, range) in ranges.enumerated() {
          defer { written = range.upperBound }
          guard let link = links[index] else {
            buffer.put(UnsafeRawBufferPointer(rebasing: bytes[written..<range.upperBound]), &position)
            continue
          }
          guard let head = StoredHead(bytes, range, types: types) else {
            throw JournalError(.damaged, "what stands before an entry's name cannot be read", offset: range.lowerBound)
          }
          let (before, bits) = (head.previousRange, UInt64(bitPattern: link.bits))
          buffer.put(UInt64(range.count - before.count + ByteWriter.length(ofVarint: bits)), &position)
          let (start, rest) = (range.lowerBound + before.lowerBound, range.lowerBound + before.upperBound)
          buffer.put(UnsafeRawBufferPointer(rebasing: bytes[range.lowerBound..<start]), &position)
          buffer.put(bits, &position)
          buffer.put(UnsafeRawBufferPointer(rebasing: bytes[rest..<range.upperBound]), &position)
        }
        try body(UnsafeRawBufferPointer(rebasing: buffer[..<position]))
      }
    }
  }
}

/// Which entries are to stand before some entries of one row, by the indexes of these.
struct RowLinks {
  private var places: [EntryPlace?] = []

  init() {}

  /// The link of one entry.
  init(of index: Int, _ previous: EntryPlace) {
    self[index] = previous
  }

  /// One above the highest index.
  var count: Int { places.count }

  subscript(index: Int) -> EntryPlace? {
    get { index < places.count ? places[index] : nil }
    set {
      while places.count <= index { places.append(nil) }
      places[index] = newValue
    }
  }

  mutating func removeAll() {
    places.removeAll(keepingCapacity: true)
  }
}
