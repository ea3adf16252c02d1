internal import MagicJournal

/// A type's layout and where its properties are in a database.
final class MappedType: Sendable {
  let layout: Layout
  let stored: StoredType
  /// For each property its field; `nil` for the primary value, which is in the key's column.
  let fields: [Int?]
  /// The properties that are fields, rising by field: in the order of an entry.
  let inOrder: [(index: Int, field: Int)]
  /// What a fetch reads: the fields, and for each property the column of the row and its kind.
  let columns: [Int]
  let reads: [ColumnRead]
  let columnNames: String
  /// The statements by which objects are read.
  let (selectAll, selectByKey, selectByZIndex): (String, String, String)
  let (selectByZIndexes, selectByZIndexRange): (String, String)
  /// Statements for `RowFunction`, of all objects and of some; `nil` if there are too many columns.
  let (takeAll, takeByZIndexes, takeByZIndexRange): (String?, String?, String?)
  /// How many ranges of numbers are not worth a try to read them so, since the last one had gaps.
  let gaps = Locked(0)
  /// Statements for `RowFunction` of which rows came in another order than they were asked for.
  let disordered = Locked<Set<String>>([])
  /// Where the birth is in their rows, of a type that has such.
  let birth: Int32?
  /// Where the last entry is in the row that is found by its key. The rows of other fetches are without: who saves an object
  /// looks it up then, which takes less than to read it of all.
  let last: Int32
  let hasNumbers: Bool
  /// By property that was stored in other kinds before: where those are in the row.
  let former: [Int: [(column: Int32, kind: FormerKind)]]
  /// The fields of those kinds.
  let formerFields: [Int: [Int]]
  /// The properties that hold objects, with where they are.
  let relations: [(index: Int, codec: any RelationCodec, stored: StoredRelation)]
  /// The fields that an object has to have to be shown (M-6): of each group one, the property's own kind or a former one.
  let required: [[Int]]
  /// By property.
  let quotedColumns: [String]
  /// What a query asks first under the table's own name (`StoredType.shownFirst`), put together once.
  let shown: String
  /// What is true of rows that cannot be shown, if there is an index of these.
  let hidden: String?
  /// What `shown` asks, where rows are not read: mostly all objects can be shown, which that index tells, and then none is
  /// looked at for it.
  let shownUnlessAll: String
  /// How many fields all types of the database had when this one was looked up.
  let fieldCount: Int
  /// By property how far the journal was when the database had no values of its former kinds.
  let withoutFormer = Locked<[Int: JournalPosition]>([:])
  /// Whether reading all objects has taken long.
  let pace = SlowReadFlag()
  /// Whether all indexes are there; where nothing can be written, those that are missing are done without.
  let hasIndexes: Bool

  init(_ layout: Layout, _ schema: StoredSchema, _ stored: StoredType, _ learnt: [Int], hasIndexes: Bool = true) {
    self.layout = layout
    self.hasIndexes = hasIndexes
    self.stored = stored
    fieldCount = schema.fieldCount
    var rest = learnt[...]
    let fields = layout.properties.map { $0.role == .primary ? nil : rest.popFirst() }
    self.fields = fields
    inOrder = fields.enumerated().compactMap { index, field in field.map { (index, $0) } }.sorted { $0.field < $1.field }
    columns = zip(layout.properties, fields).compactMap { $0.kind.isLinked ? nil : $1 } + rest
    // Before the fields stand the z index and the key.
    var column: Int32 = 1
    let reads = zip(layout.properties, fields).map { property, field -> ColumnRead in
      if property.kind.isLinked { return ColumnRead(column: -1, kind: property.kind, property, isRequired: false) }
      // An object whose claim has not arrived has no number (M-19).
      guard field != nil else {
        return ColumnRead(column: 1, kind: stored.keyKind, property, isRequired: stored.schema.hasNumbers)
      }
      column += 1
      return ColumnRead(column: column, kind: property.kind, property, isRequired: !property.canBeAbsent)
    }
    columnNames = stored.columns(columns)
    quotedColumns = fields.map { $0.map { stored.quotedColumns[$0] } ?? stored.quotedKey }
    selectAll = stored.select(columns)
    selectByKey = stored.select(columns, by: .key)
    selectByZIndex = stored.select(columns, by: .zIndex)
    selectByZIndexes = stored.select(columns, by: .zIndexes(asRange: false))
    selectByZIndexRange = stored.select(columns, by: .zIndexes(asRange: true))
    takeAll = stored.take(columns)
    takeByZIndexes = stored.take(columns, by: .zIndexes(asRange: false))
    takeByZIndexRange = stored.take(columns, by: .zIndexes(asRange: true))
    hasNumbers = stored.schema.hasNumbers
    birth = stored.schema.hasBirths ? hasNumbers ? Int32(2 + columns.count) : 1 : nil
    last = Int32(2 + columns.count + (stored.schema.hasNumbers ? 1 : 0))
    relations = layout.properties.enumerated().compactMap { index, property in
      guard let codec = property.relation, let relation = fields[index].flatMap({ stored.relations[$0] }) else { return nil }
      return (index, codec, relation)
    }
    var (former, groups): ([Int: [(column: Int32, kind: FormerKind)]], [[Int]]) = ([:], [])
    var formerFields: [Int: [Int]] = [:]
    for (index, property) in layout.properties.enumerated() {
      guard let field = fields[index] else { continue }
      let own = property.formerKinds.compactMap { kind in rest.popFirst().map { (field: $0, kind: kind) } }
      for (_, kind) in own {
        column += 1
        former[index, default: []].append((column, kind))
      }
      if !own.isEmpty { formerFields[index] = own.map(\.field) }
      if !property.canBeAbsent { groups.append([field] + own.map(\.field)) }
    }
    (self.reads, self.former, self.formerFields, required) = (reads, former, formerFields, groups)
    hidden = hasIndexes ? stored.hidden(groups) : nil
    let shown = stored.shownFirst(groups, as: stored.quotedTable)
    self.shown = shown
    shownUnlessAll = hidden.map { "(NOT \(stored.anyHidden($0)) OR \(shown)1) AND " } ?? shown
  }

  /// The fields of some properties, rising, as an entry has them.
  func fields(of properties: PropertySet, _ object: ObjectSave) -> [FieldValue] {
    inOrder.compactMap { properties.contains($0.index) ? FieldValue(field: $0.field, value: object.values[$0.index]) : nil }
  }

  /// What relations hold, by field in place of property.
  func byField(_ links: [Int: [Link]]) -> [Int: [Link]] {
    var known: [Int: [Link]] = [:]
    for (index, links) in links { if let field = fields[index] { known[field] = links } }
    return known
  }

  /// Whether what kept somebody from making a type's indexes keeps nobody from reading it without.
  static func canDoWithoutIndexes(_ error: MagicDataError) -> Bool { [.notAllowed, .busy, .transaction].contains(error.code) }

  /// The type as the database knows it; `nil` if something of it is new.
  ///
  /// - Parameter hasIndexes: `false` if it does without those that are missing, for who cannot make them.
  static func find(_ layout: Layout, _ db: Connection, hasIndexes: Bool = true) throws -> MappedType? {
    let schema = try StoredSchema(db)
    try schema.checkPrimary(layout, db)
    let found = schema.find(layout.schema).map { MappedType(layout, schema, $0, $1, hasIndexes: hasIndexes) }
    guard hasIndexes, let found else { return found }
    return try found.missingIndexes(db).isEmpty ? found : nil
  }

  /// What is known of a type. Its table is made if need be, and so are columns and indexes that are new.
  static func make(_ layout: Layout, _ db: Connection) throws -> MappedType {
    var schema = try StoredSchema(db)
    try schema.checkPrimary(layout, db)
    try schema.checkTakenOver(layout, db)
    let learnt = try schema.learn(Schema(types: [layout.schema] + layout.targets), db)[0]
    let mapped = MappedType(layout, schema, schema.types[learnt.id], learnt.fields)
    try mapped.makeIndexes(db)
    return mapped
  }
}
