extension MagicData {
  /// All objects of a type, and again after each change that touches one of them, or of the types that they reach through
  /// relations.
  ///
  /// ```swift
  /// for try await notes in magic.observe(of: Note.self) {
  ///   show(notes)
  /// }
  /// ```
  ///
  /// The first element is what is there. Each later one comes after a commit that has an entry of such an object, be it of this
  /// `MagicData`, of another one or another process on the same file, or of a merge: at once if it was committed through this
  /// `MagicData`, else within about 100 milliseconds. Commits that come while an element is fetched or used give one element
  /// together; after the last commit there always comes one that includes it. Changes of other types give none, and what was
  /// rolled back gives none.
  ///
  /// The sequence ends when the database is closed or the consuming task is cancelled. It keeps the database open. Nothing runs
  /// for it but the call of `next()`; there can be as many as you like. Elements are fetched on the consumer's side, as
  /// ``object(of:)`` does, and cost what that costs.
  /// - Throws: from `next()`, as ``object(of:)`` does; the sequence is over then.
  public func observe<Object: MagicObject>(of: Object.Type) -> MagicObservation<[Object]> {
    MagicObservation(
      store, of: { [store] in try store.layout(Object.self).reached() },
      fetch: { scope in try await scope.objects(of: Object.self) })
  }
}
