internal import GRDB

/// How the rows that name assets and the files that hold them fit together.
package struct AssetCheck: Sendable {
  package private(set) var files = 0
  /// Files that no row names, and that do not wait to be sent.
  package private(set) var orphans: [String] = []
  /// Names in rows for which there is no file.
  package private(set) var missing: [String] = []
  /// Files that do not hold what their names say.
  package private(set) var damaged: [String] = []

  package init() {}

  package init(_ store: Store, _ db: Connection) throws {
    var named: Set<String> = []
    for type in try StoredSchema(db).types {
      for field in type.assets {
        var select = try SQL(db, type.selectAssets(field))
        while try select.step() { named.insert(select.text(0)) }
      }
    }
    let found = Set(try store.assets.all())
    files = found.count
    // As `Store.settle` has it.
    let wanted = Set(named.union(try UnsentAssets(db).names).map { $0.lowercased() })
    orphans = found.filter { !wanted.contains($0.lowercased()) }.sorted()
    missing = named.subtracting(found).filter { !store.assets.has($0) }.sorted()
    for name in found.sorted() {
      try Task.checkCancellation()
      do {
        _ = try store.assets.content(of: name)
      } catch let error as MagicDataError where error.code == .damaged {
        damaged.append(name)
      }
    }
  }
}
