public import MagicData
internal import MagicJournal

extension MagicData {
  /// A sum over all objects and their values. Two databases with equal digests hold the same data (Protocol/merge.md, M-11).
  ///
  /// It reads the whole journal.
  /// - Returns: 32 hexadecimal digits.
  public func digest() async throws -> String {
    try await store.read { db in
      var digest = Digest()
      let reader = try JournalReader(db)
      for type in reader.schema.types {
        var ofType = TypeDigest(type.schema)
        try reader.forEachObject(of: type) { key, state in ofType.add(state, key, to: &digest) }
        ofType.finish(&digest)
      }
      return digest.description
    }
  }
}
