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
      try JournalReader(db).forEachObject { type, key, state in digest.add(state, key, of: type.schema) }
      return digest.description
    }
  }
}
