public import MagicData
package import MagicJournal

extension MagicData {
  /// A sum over all objects and their values. Two databases with equal digests hold the same data (Protocol/merge.md, M-11).
  ///
  /// It reads the whole journal.
  /// - Returns: 32 hexadecimal digits.
  public func digest() async throws -> String {
    try await store.read { db in try JournalReader(db).digest().description }
  }

  /// The digest if the database holds what a frontier says, no less and no more; else `nil`.
  package func digest(at frontier: Frontier) async throws -> String? {
    try await store.read { db in try JournalReader(db).digest(at: frontier)?.description }
  }
}

extension JournalReader {
  /// The digest if the database holds what a frontier says, no less and no more; else `nil`.
  func digest(at frontier: Frontier) throws -> Identifier? {
    try self.frontier() == frontier ? digest().identifier : nil
  }

  func digest() throws -> Digest {
    var digest = Digest()
    for type in schema.types {
      var ofType = TypeDigest(type.schema)
      try forEachObject(of: type) { key, state in ofType.add(state, key, to: &digest) }
      ofType.finish(&digest)
    }
    return digest
  }
}
