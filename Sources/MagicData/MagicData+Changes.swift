extension MagicData {
  /// All transactions that are committed from this call on, each once, in the order in which they arrive in this database file.
  ///
  /// ```swift
  /// for try await changes in try await magic.changes() {
  ///   print(changes.time, changes.objects.map(\.type))
  /// }
  /// ```
  ///
  /// Among them are those of this `MagicData`, those of other processes on the same file, and those that a merge brings: these
  /// have the time at which they were written, and may have lost to what was written since. However long an element is used,
  /// none is missed and none comes twice: they are read from the journal, some at a time, when they are asked for. A
  /// transaction that was committed through this `MagicData` comes at once, one of another opening or process within about 100
  /// milliseconds. What a compaction takes out of the journal before it is asked for does not come: it was overwritten since,
  /// and that comes. What a pull takes over from a remote's checkpoint, in place of segments that are gone, comes as that
  /// pull's, with what was known of it before.
  ///
  /// The sequence ends when the database is closed or the consuming task is cancelled. It keeps the database open.
  /// - Throws: ``MagicDataError`` if the database cannot be read; `next()` as well.
  /// - Complexity: of an element, O(its objects); memory holds some hundreds of objects, or one transaction if that has more.
  public func changes() async throws -> MagicChangeSequence {
    MagicChangeSequence(store, after: try await store.readBriefly { db in try JournalPosition(db) })
  }
}
