extension MagicQuery {
  /// What the query asks for, and again after each change of what it is made of.
  ///
  /// ```swift
  /// for try await best in magic.query(of: Note.self).where({ $0.stars > 3 }).sorted(by: \.title).limit(10).observe() {
  ///   show(best)
  /// }
  /// ```
  ///
  /// The first element is what ``all()`` gives now. Each later one comes after a commit that has an entry of an object of this
  /// type, or of a type that it reaches through relations, as those are that conditions go over: it may be equal to the one
  /// before. Whose commits count, when they are noticed and when the sequence ends is as for ``MagicData/observe(of:)``.
  /// - Throws: from `next()`, as ``all()`` does, and `transaction` for a query of a ``MagicTransaction``: what that changes is
  ///   nobody's yet. The sequence is over then.
  public func observe() -> MagicObservation<[Object]> {
    let (store, isOfDatabase, plan) = (store, isOfDatabase, plan)
    return MagicObservation(
      store, of: { try store.layout(Object.self).reached() },
      fetch: { scope in
        guard isOfDatabase else {
          throw MagicDataError(.transaction, "a transaction's query cannot be observed; observe one of the database")
        }
        var query = MagicQuery(.database(store))
        query.plan = plan
        return try await query.all(in: scope)
      })
  }
}
