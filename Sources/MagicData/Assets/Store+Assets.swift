internal import GRDB

extension Store {
  /// How long a file may be there without a row naming it before a sweep takes it away: whoever puts it there by other means
  /// than this library's writes, as a copy that is being restored, has that long.
  static let assetGrace: Int64 = 86_400_000

  /// How many files are looked at in one transaction: other processes wait for no more.
  static let assetsAtOnce = 500

  /// Takes away the files that no row names any more. The caller is past the gate, with no transaction open.
  ///
  /// It is for later if it fails, as while the assets are copied: what rows have let go of stands in the database, what a
  /// rollback has left is remembered, and what a crash has left is found by the sweep, which the first write of an asset after
  /// the opening brings.
  nonisolated(nonsending) func settleAssets() async {
    guard assets.hasUnsettled else { return }
    var names = assets.takeUnsettled()
    let doing = "files of assets could not be cleared up"
    do {
      let parts = try await accessing({ [names] in
        try await accessNow(doing, { db in try self.unsettledAssets(names, db) })
      })
      names.formUnion(parts.joined())
      for part in parts { try await begin(doing) { db in try db.committed { db in try self.settle(part, db) } } }
    } catch {
      assets.putBack(names)
    }
  }

  func settleAssetsBlocking() {
    guard assets.hasUnsettled else { return }
    var names = assets.takeUnsettled()
    do {
      let parts = try accessing {
        try database.writeWithoutTransaction { [names] db in try unsettledAssets(names, db) }
      }
      names.formUnion(parts.joined())
      for part in parts { try writeBlocking { db in try settle(part, db) } }
    } catch {
      assets.putBack(names)
    }
  }

  /// What is to be looked at, part by part, so that other processes wait for no more than one.
  private func unsettledAssets(_ known: Set<String>, _ db: Database) throws -> [[String]] {
    var names = try known.union(UnsentAssets.allDropped(db))
    if !assets.isSwept {
      let schema = try StoredSchema(db)
      try checkIsInPlace()
      let old = try assets.old(before: surroundings.milliseconds() - Store.assetGrace)
      names.formUnion(try old.filter { try !schema.names($0, db) })
      assets.noteSweep()
    }
    let sorted = names.sorted()
    return stride(from: 0, to: sorted.count, by: Store.assetsAtOnce).map { start in
      Array(sorted[start..<min(start + Store.assetsAtOnce, sorted.count)])
    }
  }

  /// Within a transaction: nobody can name a file between the look and the deed.
  private func settle(_ names: [String], _ db: Database) throws {
    // Where a file system ignores case, names that differ in that are of one file.
    let (schema, unsent) = (try StoredSchema(db), Set(try UnsentAssets(db).names.map { $0.lowercased() }))
    let kept = unsent.union(try assets.others().map { $0.lowercased() })
    let unnamed = Set(try names.filter { try !kept.contains($0.lowercased()) && !schema.names($0, db) })
    func forget(_ name: String) throws {
      var delete = try SQL(db, Statements.deleteDroppedAsset)
      try delete.bind(name)
      try delete.run()
    }
    for name in names where !unnamed.contains(name) { try forget(name) }
    guard !unnamed.isEmpty else { return }
    try assets.ifUnpinned {
      // What lies beside another database that has come to this path is that one's.
      try checkIsInPlace()
      // A power failure must not bring a row back of which the file is gone.
      try syncToDisk(db)
      for name in unnamed.sorted() where assets.delete(name) { try forget(name) }
    }
  }
}

extension StoredSchema {
  /// Whether a row names an asset.
  func names(_ asset: String, _ db: Database) throws -> Bool {
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
