internal import GRDBSQLite
internal import MagicJournal

/// The order in which rows are asked for.
enum RowOrder {
  /// Rising z indexes.
  case zIndex
  /// Rising integers of a property, or rising reals, and among equals rising z indexes.
  case property(Int)
  /// Rising z indexes without a gap, and beside them the numbers of a property.
  case parallel(ParallelRange)
}

/// The rows of `StoredType.takeRange`, whose z indexes are counted. They are the right ones if there are as many rows as z
/// indexes between the first and the last: then each of these has its row.
struct ParallelRange {
  let property: Int
  let firstNumber: Int64
  let firstZIndex: Int64
  /// Whether births are read.
  let hasBirths: Bool
}

/// Rows come in another order than they are asked for.
struct RowsOutOfOrder: Error {}

/// Makes storages of a statement's rows, one after the other.
struct RowReading: ~Copyable {
  /// To which they are added; `nil` for one row alone.
  private let rows: FetchedRows?
  private let type: MappedType
  private let reads: UnsafeBufferPointer<ColumnRead>
  private let fetches: UnsafeBufferPointer<Layout.Fetch>
  private let first: Place
  /// Whether objects of the type may be named by their births.
  private let hasBirths: Bool
  /// Where the birth is, and the last entry; negative if they are nowhere.
  private let birth: Int32
  private let last: Int32
  private let hasNumbers: Bool
  private let hasFormer: Bool
  private let mayBeIncomplete: Bool
  /// Whose rows come by rising z indexes, and others among them.
  private var batch: ZIndexBatch?
  /// What the rows become, if all of them can, and where they are then.
  private(set) var instances: InstanceBuffer?
  /// The row that was read last, if there are no rows to which it could be added.
  private(set) var row: FetchedRow?
  private let database: Identifier?
  /// Known once: to make it of its parts takes a call for each.
  private let unnamed = Record.unnamed
  private var open: Storage?
  private var room: Storage.Room?
  /// In which each row has to come after the one before it.
  private let order: RowOrder?
  private var before: (mark: Mark, zIndex: Int64) = (.none, .min)
  /// How many of a type's columns the rows lack before the others: that of the z index, or none.
  private let lacking: Int
  /// By how much numbers are ahead of the z indexes beside which they run.
  private let ahead: Int64

  /// What the row before has where rows are to rise.
  private enum Mark {
    case none, other
    case integer(Int64)
    case real(Double)
  }

  /// - Parameters:
  ///   - reads: those of the type; they have to stay for as long as there is something to read.
  ///   - last: where the last entry is, if it is there.
  ///   - order: to be looked after; `nil` if the statement does.
  init(
    _ rows: FetchedRows?, _ type: MappedType, _ reads: UnsafeBufferPointer<ColumnRead>, _ instances: InstanceBuffer?,
    in order: RowOrder? = nil, last: Int32? = nil, mayBeIncomplete: Bool = false, of batch: ZIndexBatch? = nil
  ) {
    (self.rows, self.type, self.reads, self.instances, self.batch) = (rows, type, reads, instances, batch)
    fetches = type.layout.fetches
    first = type.layout.firstPlace ?? .unknown
    self.last = last ?? -1
    hasNumbers = type.hasNumbers
    hasFormer = !type.former.isEmpty
    self.mayBeIncomplete = mayBeIncomplete
    self.order = order
    database = instances?.database
    hasBirths = type.birth != nil
    if case .parallel(let range) = order {
      before.zIndex = range.firstZIndex &- 1
      (lacking, ahead) = (1, range.firstNumber &- range.firstZIndex)
      birth = range.hasBirths ? type.birth ?? -1 : -1
    } else {
      (lacking, ahead, birth) = (0, 0, type.birth ?? -1)
    }
  }

  /// - Parameter values: of the columns, as SQLite has them for as long as this runs.
  mutating func read(_ values: UnsafePointer<OpaquePointer?>) throws {
    let zIndex = lacking == 0 ? sqlite3_value_int64(values[0]) : before.zIndex &+ 1
    if case .zIndex = order { guard isNext(zIndex) else { throw RowsOutOfOrder() } }
    if batch?.takes(zIndex) == false { return }
    let birthValue = birth < 0 ? nil : values[Int(birth) &- lacking]
    let born = try birth < 0 || hasNumbers && birthValue.isNull ? nil : Birth(stored: birthValue)
    let place = ObjectPlace(
      zIndex: zIndex, last: last < 0 ? .none : EntryPlace(bits: sqlite3_value_int64(values[Int(last)])))
    if room?.isFull != false {
      open = instances?.next() ?? Storage.make(room: 1, of: reads.count, first)
      room = open?.room
    }
    guard let vacancy = room else { preconditionFailure("rows have a storage") }
    let properties = vacancy.vacant
    // What is lacking, and what is no slot's as it is, is asked here, while the value is at hand: SQLite would read each column
    // twice to tell that one is lacking.
    var state = RowState()
    var property = properties
    for index in 0..<reads.count {
      let edits = reads[index].initialEdits
      let value = reads[index].column < 0 ? nil : values[Int(reads[index].column) &- lacking]
      let type = value == nil ? SQLITE_NULL : sqlite3_value_type(value)
      // Each where it is known what it is: a slot that may be any is put together first and taken apart again.
      switch type == reads[index].plain ? type : SQLITE_NULL {
      case SQLITE_INTEGER:
        property.initialize(to: Storage.Property(stored: .integer(sqlite3_value_int64(value)), edits: edits))
      case SQLITE_FLOAT:
        property.initialize(to: Storage.Property(stored: .real(sqlite3_value_double(value)), edits: edits))
      case SQLITE_TEXT:
        let utf8 = Value.utf8(value)
        if !utf8.isSmallText { state.isTrivial = false }
        let string = String(row: utf8)
        state.text &+= string.utf8.count
        property.initialize(to: Storage.Property(stored: .text(string), edits: edits))
      default: readApart(property, index, value, type, &state)
      }
      property += 1
    }
    if hasFormer { readFormer(properties, values, &state) }
    vacancy.take(database.map { Record(row: place, in: $0, birth: born ?? unnamed) }, isTrivial: state.isTrivial)
    if !isNext(properties, zIndex) {
      vacancy.dropLast()
      throw RowsOutOfOrder()
    }
    if state.isIncomplete, !mayBeIncomplete {
      // One that has not all it needs is not shown (M-6).
      vacancy.dropLast()
    } else if instances == nil, let storage = open {
      add(FetchedRow(storage: storage, place: place, birth: born))
    } else if !state.isHeld {
      takeApart()
    } else if instances != nil, state.text > InstanceBuffer.mostText {
      instances?.isolateLast()
      room = nil
    }
  }

  private mutating func isNext(_ zIndex: Int64) -> Bool {
    defer { before.zIndex = zIndex }
    return zIndex > before.zIndex
  }

  /// By the row's values.
  @inline(__always)
  private mutating func isNext(_ properties: UnsafeMutablePointer<Storage.Property>, _ zIndex: Int64) -> Bool {
    switch order {
    case nil, .zIndex: return true
    case .property(let index): return isNext(properties[index].slot, zIndex)
    case .parallel(let range):
      before.zIndex = zIndex
      guard case .integer(let number) = properties[range.property].slot else { return false }
      return number &- zIndex == ahead
    }
  }

  @inline(never) private mutating func isNext(_ slot: Slot, _ zIndex: Int64) -> Bool {
    let mark: Mark =
      switch slot {
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      default: .other
      }
    defer { before = (mark, zIndex) }
    return switch (before.mark, mark) {
    case (.integer(let before), .integer(let now)): now > before || now == before && zIndex > self.before.zIndex
    case (.real(let before), .real(let now)): now > before || now == before && zIndex > self.before.zIndex
    case (.none, .integer), (.none, .real): true
    default: false
    }
  }

  /// What a row turns out to be.
  private struct RowState {
    var isIncomplete = false
    var isHeld = true
    /// Whether no slot holds anything that has to be let go of.
    var isTrivial = true
    /// In bytes.
    var text = 0

    mutating func add(_ slot: Slot, isRequired: Bool, isHeld: Bool) {
      switch slot {
      case .null: if isRequired { isIncomplete = true }
      case .unset, .integer, .real, .uuid: break
      case .text(let string):
        text += string.utf8.count
        isTrivial = false
      case .held: isTrivial = false
      }
      if !isHeld { self.isHeld = false }
    }
  }

  // What is apart from here on would take registers from the columns that need nothing of it.

  // These two are mutating, though they change nothing: for a borrowing call the compiler copies the whole reading first, for
  // each row.

  @inline(never) private mutating func readApart(
    _ property: UnsafeMutablePointer<Storage.Property>, _ index: Int, _ value: OpaquePointer?, _ type: Int32,
    _ state: inout RowState
  ) {
    let slot = reads[index].slot(value, type)
    state.add(slot, isRequired: reads[index].isRequired, isHeld: fetches[index].holds(slot))
    property.initialize(to: Storage.Property(stored: slot, edits: reads[index].initialEdits))
  }

  /// One row cannot be an instance as it is: then all of them become instances later.
  @inline(never) private mutating func takeApart() {
    let storages = instances?.takeStorages() ?? []
    (instances, room) = (nil, nil)
    for storage in storages {
      guard let record = storage.part(of: 0).record else { preconditionFailure("an instance of a row has a record") }
      add(FetchedRow(storage: storage, place: record.place, birth: record.birth))
    }
  }

  private mutating func add(_ row: FetchedRow) {
    if let rows { rows.add(row, isNamed: hasBirths) } else { self.row = row }
  }

  @inline(never) private mutating func readFormer(
    _ properties: UnsafeMutablePointer<Storage.Property>, _ values: UnsafePointer<OpaquePointer?>, _ state: inout RowState
  ) {
    for (index, kinds) in type.former {
      for (column, kind) in kinds {
        guard case .null = properties[index].slot else { break }
        let slot = Slot(stored: kind.readable(Value(stored: values[Int(column) &- lacking], kind.kind)))
        properties[index] = Storage.Property(stored: slot, edits: reads[index].initialEdits)
      }
    }
    state = RowState()
    for index in 0..<reads.count {
      let slot = properties[index].slot
      state.add(slot, isRequired: reads[index].isRequired, isHeld: fetches[index].holds(slot))
    }
  }
}

/// Where in a row a property's value stands, and what it is read as.
struct ColumnRead: Sendable {
  /// Negative for what stands in no column.
  let column: Int32
  let kind: Value.Kind
  let isUUID: Bool
  /// Whether an object without it is not shown.
  let isRequired: Bool
  /// SQLite's type of values that the property's slot holds whatever they are; 0, which is none, if it has to be looked at
  /// them.
  let plain: Int32
  /// The edits that the property counts in an instance that was read.
  let initialEdits: UInt32

  init(column: Int32, kind: Value.Kind, _ property: Layout.Property, isRequired: Bool) {
    (self.column, self.kind, self.isRequired, initialEdits) = (column, kind, isRequired, property.initialEdits)
    let codec = property.codec
    isUUID = if case .uuid = codec { true } else { false }
    plain =
      switch codec {
      case .integer where Int.bitWidth == 64: SQLITE_INTEGER
      case .real, .date: SQLITE_FLOAT
      case .text: SQLITE_TEXT
      case .integer, .bool, .uuid, .held: 0
      }
  }

  /// A value in the form in which an instance holds it.
  fileprivate func slot(_ value: OpaquePointer?, _ type: Int32) -> Slot {
    switch type {
    case SQLITE_INTEGER: .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: .real(sqlite3_value_double(value))
    case SQLITE_NULL: .null
    case SQLITE_TEXT where isUUID: Slot(uuidText: Value.text(value))
    case SQLITE_TEXT where kind != .asset: .text(Value.text(value))
    default: Slot(stored: Value(stored: value, kind))
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether a text of it needs no memory beside its own, on any platform. To repair one that is no UTF-8 takes some, however
  /// short it is.
  fileprivate var isSmallText: Bool {
    guard count <= MemoryLayout<String>.size - 2 else { return false }
    guard count >= 8 else { return allSatisfy { $0 < 0x80 } }
    // At once: one by one they take a thirtieth of a short row's time. The two halves overlap.
    let bytes = UnsafeRawBufferPointer(self)
    let both = bytes.loadUnaligned(as: UInt64.self) | bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
    return both & 0x8080_8080_8080_8080 == 0
  }
}

extension OpaquePointer? {
  fileprivate var isNull: Bool { sqlite3_value_type(self) == SQLITE_NULL }
}
