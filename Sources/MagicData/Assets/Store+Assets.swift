internal import GRDB

extension Store {
  /// How long a file may be there without a row naming it before a sweep takes it away: whoever puts it there by other means than
  /// this library's writes, as a copy that is being restored, has that long.
  static let assetGrace: Int64 = 86_400_000

  /// How many files are looked at in one transaction: other processes wait for no more.
  static let assetsAtOnce = 500

  /// Takes away the files that no row names any more. The caller is past the gate, with no transaction open.
  ///
  /// It is for later if it fails: what rows have let go of stands in the database, what a rollback has left is remembered, and what a crash
  /// has left is found by the sweep, which the first write of an asset after the opening brings.
  nonisolated(nonsending) func settleAssets() async {
    guard assets.hasUnsettled else { return }
    let known = assets.takeUnsettled()
    do {
      let names = try await known.union(assets.beginSweep() ? sweptAssets() : []).union(droppedAssets()).sorted()
      for start in stride(from: 0, to: names.count, by: Store.assetsAtOnce) {
        let part = names[start..<min(start + Store.assetsAtOnce, names.count)]
        try await begin()
        try await accessNow("files of assets could not be cleared up") { db in
          try self.settle(part, db)
          try db.commit()
        }
      }
    } catch {
      assets.putBack(known)
      // If this fails as well, SQLite has rolled back already, or does when the connection closes.
      try? await accessNow("a transaction could not be rolled back") { db in
        if db.isInsideTransaction { try db.rollback() }
      }
    }
  }

  /// Within a transaction: nobody can name a file between the look and the deed.
  private func settle(_ names: ArraySlice<String>, _ db: Database) throws {
    let schema = try StoredSchema(db)
    let unnamed = Set(try names.filter { try !schema.names($0, db) })
    // A power failure must not bring a row back of which the file is gone.
    if !unnamed.isEmpty { try syncToDisk(db) }
    for name in names {
      guard !unnamed.contains(name) || assets.delete(name) else { continue }
      var delete = try SQL(db, Statements.deleteDroppedAsset)
      try delete.bind(name)
      try delete.run()
    }
  }

  /// What rows have let go of.
  private nonisolated(nonsending) func droppedAssets() async throws -> [String] {
    try await accessNow("files of assets could not be looked through") { db in
      var names: [String] = []
      var select = try SQL(db, Statements.selectDroppedAssets)
      while try select.step() { names.append(select.text(0)) }
      return names
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
