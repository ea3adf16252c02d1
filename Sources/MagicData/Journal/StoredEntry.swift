package import MagicJournal

/// An entry as a row of `magic_journal` has it (J-18): with what only this database knows of its object.
package struct StoredEntry {
  package var entry: Entry
  package let zIndex: Int64
  /// Of the same object.
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

  /// One as it stands in a segment, with the types and fields of the schema that is stored.
  static func encode(
    _ entry: EncodedEntry, as type: LearntType, zIndex: Int64, previous: EntryPlace, to writer: inout ByteWriter
  ) {
    encodeHead(type.id, entry.operation, zIndex, previous, to: &writer)
    entry.encodeKey(to: &writer)
    let order = entry.order(as: type)
    for number in 0..<entry.fieldCount {
      let index = order?[number] ?? number
      writer.varint(type.fields[entry.field(at: index)])
      writer.append(entry.bytes(ofValueAt: index))
    }
  }

  /// Passes over the next entry, and its length before it.
  ///
  /// - Returns: where it is, and where the place of the one before it stands in it.
  fileprivate static func pass(_ reader: inout ByteReader) throws(JournalError) -> (entry: Range<Int>, previous: Range<Int>) {
    let count = try reader.count()
    let start = reader.offset
    _ = try reader.varint()
    _ = try reader.byte()
    _ = try reader.varint()
    let place = reader.offset
    _ = try reader.varint()
    let previous = place..<reader.offset
    guard previous.upperBound <= start + count else { throw reader.damaged("an entry ends too early", at: start) }
    try reader.pass(start + count - previous.upperBound)
    return (start..<start + count, previous)
  }

  init(entry: Entry, zIndex: Int64, previous: EntryPlace) {
    self.entry = entry
    self.zIndex = zIndex
    self.previous = previous
  }

  package init(from reader: inout ByteReader, _ types: [StoredType]) throws(JournalError) {
    let start = reader.offset
    let head = try StoredHead(from: &reader, types.count)
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

  /// - Parameter count: of the types that there are.
  init(from reader: inout ByteReader, _ count: Int) throws(JournalError) {
    type = try reader.index(below: count, "type")
    let start = reader.offset
    guard let code = Entry.Operation.Code(rawValue: try reader.byte()) else {
      throw reader.damaged("an unknown operation", at: start)
    }
    zIndex = Int64(bitPattern: try reader.varint())
    previous = EntryPlace(bits: Int64(bitPattern: try reader.varint()))
    operation =
      switch code {
      case .remove: .remove
      case .update: .update
      case .revival: .revival(base: Stamp(try reader.fixed(UInt64.self)))
      case .birth: .birth
      case .claim: .claim(number: Int64(clamping: try reader.varint()))
      case .withdrawal: .withdrawal(number: Int64(clamping: try reader.varint()))
      }
  }
}

/// The entries of one row of `magic_journal`, each with its length before it.
package struct EntryRow: Sendable {
  private(set) var bytes = ByteWriter()
  private(set) var count = 0

  /// So many bytes that three rows fit a page of SQLite's.
  private static let cut = 1_300

  var isEmpty: Bool { count == 0 }
  var isFull: Bool { count == EntryPlace.perRow || bytes.count >= EntryRow.cut }

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
    var reader = ByteReader(data)
    var ranges: [Range<Int>] = []
    while !reader.isAtEnd { ranges.append(try reader.passBlock()) }
    return ranges
  }

  /// The same row with another entry in one's place.
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

  /// The same row with other entries before some of its own.
  static func linking(_ links: RowLinks, in data: [UInt8]) throws(JournalError) -> EntryRow {
    var (row, reader) = (EntryRow(), ByteReader(data))
    row.bytes.reserve(data.count + links.count * MemoryLayout<EntryPlace>.size)
    while !reader.isAtEnd {
      if let place = links[row.count] {
        let (entry, previous) = try StoredEntry.pass(&reader)
        let bits = UInt64(bitPattern: place.bits)
        row.bytes.varint(entry.count - previous.count + ByteWriter.length(ofVarint: bits))
        data.withUnsafeBytes { row.bytes.append(UnsafeRawBufferPointer(rebasing: $0[entry.lowerBound..<previous.lowerBound])) }
        row.bytes.varint(bits)
        data.withUnsafeBytes { row.bytes.append(UnsafeRawBufferPointer(rebasing: $0[previous.upperBound..<entry.upperBound])) }
      } else {
        let range = try reader.passBlock()
        data.withUnsafeBytes { row.bytes.block(UnsafeRawBufferPointer(rebasing: $0[range])) }
      }
      row.count += 1
    }
    guard row.count >= links.count else { throw reader.damaged("an entry is not where it was put") }
    return row
  }
}

/// Of some entries of one row, by their indexes, which ones are to stand before them.
struct RowLinks {
  private var places: [EntryPlace?] = []

  init() {}

  /// Of one entry.
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
