package import Foundation
package import GRDB
internal import MagicJournal

extension StoredSchema {
  /// Whether there can be assets at all.
  package var hasAssets: Bool { types.contains { !$0.assets.isEmpty } }

  /// The assets that rows name.
  ///
  /// - Complexity: O(rows with assets), along the index of their names.
  package func assetNames(_ db: Database) throws -> Set<String> {
    try assetNames { try SQL(db, $0.selectAssets($1)) }
  }

  /// The assets that rows name and that begin with some digits: look-ups.
  package func assetNames(of digits: String, _ db: Database) throws -> Set<String> {
    try assetNames { type, field in
      var select = try SQL(db, type.selectAssetsOfDigits(field))
      try select.bind(digits)
      // Behind all digits.
      try select.bind(digits + "g")
      return select
    }
  }

  private func assetNames(_ select: (StoredType, Int) throws -> SQL) throws -> Set<String> {
    var names: Set<String> = []
    for type in types {
      for field in type.assets {
        var select = try select(type, field)
        while try select.step() {
          let name = select.text(0)
          if AssetName.isValid(name) { names.insert(name) }
        }
      }
    }
    return names
  }
}

extension AssetFolder {
  /// Runs what takes long where no thread waits for it that others need; `body` asks now and then whether it is still wanted.
  @inline(never) package func travelling<Result: Sendable>(
    _ body: @Sendable @escaping (_ checkCancelled: () throws -> Void) throws -> Result
  ) async throws -> Result {
    let isCancelled = Locked(false)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        travels.async {
          continuation.resume(
            with: Swift.Result { try body { if isCancelled.withLock({ $0 }) { throw CancellationError() } } })
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }

  /// Where contents are until they are whole; its name is none of an asset.
  package var coming: URL { url.appendingPathComponent(".incoming", isDirectory: true) }

  /// The file of an asset that is here, or would be.
  package func place(of name: String) -> URL { file(name) }

  /// Those of some assets whose files are not here, in a fixed order.
  package func lacking(_ names: Set<String>) -> [String] { names.filter { !has($0) }.sorted() }

  /// Brings a content here from a file elsewhere, under a temporary name.
  package func receive(
    _ name: String, from file: URL, _ checkCancelled: () throws -> Void
  ) throws -> AssetContent.Copied<(asset: StagedAsset, bytes: Int)> {
    try make()
    switch try AssetContent.copyAside(file, AssetContent.digits(of: name), beside: self.file(name), checkCancelled) {
    case .faulty(let fault): return .faulty(fault)
    case .whole(let copy):
      return .whole((StagedAsset(name, copy.temporary, AssetPlace(name: name), self), copy.bytes))
    }
  }
}

extension Store {
  /// Gives contents that came from elsewhere their names, if rows still name them; or whether they do or not.
  package func keep(_ received: [StagedAsset], areUnsent: Bool = false) async throws {
    let assets = assets
    try await write { db in
      guard !areUnsent else {
        try UnsentAssets.keep(Set(received.map(\.name)), db)
        return try assets.place(received)
      }
      let schema = try StoredSchema(db)
      let named = try received.filter { try schema.names($0.name, db) }
      if !named.isEmpty { try assets.place(named) }
    }
  }
}
