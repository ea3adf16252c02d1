internal import GRDB
internal import MagicJournal

/// An index on one or several properties of a model, in the order in which they are looked up.
///
/// ```swift
/// static var magicIndexes: [MagicIndex] { [MagicIndex(\Book.title), MagicIndex(\Book.author, \Book.year)] }
/// ```
///
/// The second one serves queries for an author, for an author and a year, and for an author's books sorted by year. It is made
/// when the type is first used in a database, which takes a moment where there are many objects already, and each write takes a
/// little longer for it. Where a number or a property with a default stands behind another one, a further index finds the few
/// rows (NaN, or an object that is older than the property) that the order would not have at their place; as long as there are
/// none, nothing is sorted. An index belongs to the database file: it is in no journal, and other replicas have their own. One
/// that is no longer declared stays, since another version of the app may use the same file and want it; `DROP INDEX` takes it
/// away. The primary value and the z index need none, nor do relations; one that leads with a reference to one object, such as
/// `MagicIndex(\Page.book, \Page.number)`, serves its owners in an order.
///
/// (The type is named with each property, since a `MagicIndex<Self>` in the protocol would shut out classes that are not
/// final.)
public struct MagicIndex {
  private let paths: [AnyKeyPath]

  /// - Parameter properties: stored ones of the model that declares it, each once, as `\Book.title` or `\Book.$title`. One that
  ///   holds one object may be among them, and none that holds several. With anything else the type's first use throws
  ///   ``MagicDataError`` with `model`.
  public init(_ properties: AnyKeyPath...) {
    paths = properties
  }

  /// The indexes that a type declares, by the indexes of their properties.
  static func properties<Object: MagicObject>(of type: Object.Type) throws -> [[Int]] {
    do {
      return try type.magicIndexes.map { try $0.properties(of: type) }
    } catch {
      throw MagicDataError(
        .model, "\(type) cannot be stored, for one of its magicIndexes: \(MagicDataError(error, "it is unknown").message)",
        cause: error)
    }
  }

  private func properties<Object: MagicObject>(of type: Object.Type) throws -> [Int] {
    let properties = try paths.map { path in
      guard let path = path as? PartialKeyPath<Object> else {
        throw MagicDataError(.model, "\(path) is no property of \(type)")
      }
      return try PropertyPath.index(of: path)
    }
    guard !properties.isEmpty, Set(properties).count == properties.count else {
      throw MagicDataError(.model, "an index has one property or more, and each of them once")
    }
    return properties
  }
}

extension MappedType {
  /// What follows `CREATE INDEX` and a name, for each index that the model has and the table has not.
  func missingIndexes(_ db: Connection) throws -> [String] {
    let declared = declaredIndexes.map(\.definition)
    guard !declared.isEmpty else { return [] }
    var select = try SQL(db, "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ?")
    try select.bind(stored.table)
    var known: [String] = []
    while try select.step() { known.append(select.text(0)) }
    return declared.filter { definition in !known.contains { $0.hasSuffix(definition) } }
  }

  func makeIndexes(_ db: Connection) throws {
    let missing = try missingIndexes(db)
    for index in declaredIndexes where missing.contains(index.definition) {
      let name = try TakenNames.free(index.name) { name in try OptionalTable.isNamed(name) || db.has(name) }
      try db.execute(sql: "CREATE INDEX \(Statements.quoted(name))\(index.definition)")
    }
  }

  /// Those of the model, and what its queries need to use them: where a column stands behind another one, an index of its
  /// exceptions, in which there is hardly anything. And one of the rows that cannot be shown, of which there are as few.
  private var declaredIndexes: [(name: String, definition: String)] {
    let exceptions = Set(layout.indexes.flatMap { $0.dropFirst() }).sorted().compactMap { property in
      ColumnExceptions.Column(type: self, property: property).exceptionIndex.map { index([property], "exceptions", where: $0) }
    }
    let rare = hidden.map { [index(of: ["z_index"], named: ["hidden"], where: $0)] } ?? []
    return layout.indexes.filter { $0 != layout.primary.map { [$0] } }.map { index($0) } + exceptions + rare
  }

  private func index(
    _ properties: [Int], _ what: String? = nil, where condition: String? = nil
  ) -> (name: String, definition: String) {
    let columns = properties.map { property in fields[property].map { stored.columns[$0] } ?? stored.keyColumn }
    return index(of: columns, named: columns + (what.map { [$0] } ?? []), where: condition)
  }

  /// No type's table begins with `magic_`, so that the names are recognised; our own tables' do, and are not taken
  /// (`OptionalTable`).
  private func index(
    of columns: [String], named words: [String], where condition: String?
  ) -> (name: String, definition: String) {
    (
      "magic_" + ([stored.table] + words).joined(separator: "_"),
      " ON \(Statements.quoted(stored.table)) (\(columns.map(Statements.quoted).joined(separator: ", ")))"
        + (condition.map { " WHERE \($0)" } ?? "")
    )
  }
}
