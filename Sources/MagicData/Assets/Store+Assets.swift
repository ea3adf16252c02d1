internal import GRDB

extension Store {
  /// How long a file may be there without a row naming it before a sweep takes it away: whoever puts it there by other means than
  /// this library's writes, as a copy that is being restored, has that long.
  static let assetGrace: Int64 = 86_400_000

  /// Takes away the files that no row names any more. The caller is past the gate, with no transaction open.
  ///
  /// It is for later if it fails: what rows have let go of stands in the database, what a rollback has left is remembered, and what a crash
  /// has left is found by the sweep, which the first write of an asset after the opening brings.
  nonisolated(nonsending) func settleAssets() async {
    guard assets.hasUnsettled else { return }
    let names = assets.takeUnsettled()
    do {
      let left = assets.beginSweep() ? try await sweptAssets() : []
      try await begin()
      try await accessNow("files of assets could not be cleared up") { db in
        try self.settle(names.union(left), db)
        try db.commit()
      }
    } catch {
      assets.putBack(names)
      _ = try? await accessNow("a transaction could not be rolled back") { db in
        if db.isInsideTransaction { try db.rollback() }
      }
    }
  }

  /// Within a transaction: nobody can name a file between the look and the deed.
  private func settle(_ names: Set<String>, _ db: Database) throws {
    var dropped: Set<String> = []
    var select = try SQL(db, Statements.selectDroppedAssets)
    while try select.step() { dropped.insert(select.text(0)) }
    let schema = try StoredSchema(db)
    let unnamed = try names.union(dropped).filter { try !schema.names($0, db) }
    // A power failure must not bring a row back of which the file is gone.
    if !unnamed.isEmpty { try syncToDisk(db) }
    for name in names.union(dropped).sorted() {
      guard !unnamed.contains(name) || assets.delete(name), dropped.contains(name) else { continue }
      var delete = try SQL(db, Statements.deleteDroppedAsset)
      try delete.bind(name)
      try delete.run()
    }
  }

  /// Old files that no row names.
  private nonisolated(nonsending) func sweptAssets() async throws -> Set<String> {
    let time = surroundings.milliseconds() - Store.assetGrace
    return try await accessNow("files of assets could not be looked through") { db in
      let old = try self.assets.old(before: time)
      guard !old.isEmpty else { return [] }
      let schema = try StoredSchema(db)
      return Set(try old.filter { try !schema.names($0, db) })
    }
  }
}

extension StoredSchema {
  /// Whether a row names an asset.
  fileprivate func names(_ asset: String, _ db: Database) throws -> Bool {
    for type in types {
      for field in type.assets {
        var select = try SQL(db, type.selectAsset(field))
        try select.bind(asset)
        if try select.step() { return true }
      }
    }
    return false
  }
}
