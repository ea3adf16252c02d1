internal import MagicJournal

/// Instances cut into runs in which each comes once. One that comes twice is saved twice: its second save is told apart from
/// what the first has stored, so it waits until that is done.
struct SaveRuns {
  private var rest: ArraySlice<Instance>
  /// The number of the run that was given last; 0 for none.
  private(set) var last: UInt32

  private static let numbers = Locked<UInt32>(0)

  /// - Parameter last: the run before, of which nothing is to be in the first one.
  init(_ instances: [Instance], after last: UInt32 = 0) {
    rest = instances[...]
    self.last = last
  }

  /// Empty if the next instance is in the run before.
  mutating func next() -> ArraySlice<Instance>? {
    guard !rest.isEmpty else { return nil }
    let number = SaveRuns.numbers.withLock { number in
      number = number == .max ? 1 : number + 1
      return number
    }
    let before = last
    let run = rest.prefix { instance in
      let part = instance.first
      let run = part.run
      guard run != number, before == 0 || run != before else { return false }
      part.run = number
      return true
    }
    rest.removeFirst(run.count)
    last = run.isEmpty ? 0 : number
    return run
  }
}

/// Saves of many objects, one part after the other: while the database writes a part, the next one is made from its instances.
struct SavePipeline {
  private let place: TransactionPlace
  private let scope: Scope
  private var last: UInt32 = 0
  private var started: Started?

  private struct Started {
    let change: Task<(SavedRun, LocalTransaction.Progress), any Error>
    let finish: (SavedRun, StagedAssets) throws -> Void
  }

  /// A pipeline for whoever undoes all if any of it fails.
  init(_ place: TransactionPlace) {
    self.place = place
    scope = .transaction(place, isPart: true)
  }

  /// Whether the last part may not be written yet.
  var isOnItsWay: Bool { started != nil }

  /// How many objects to begin with; `nil` for as many as go at once. The database waits for the first part, and nobody works
  /// beside it while it writes the last. Numbers that are set among objects without are looked for in one part.
  static func first<Object: MagicObject>(of type: Object.Type) throws -> Int? {
    let layout = try Layout.of(type)
    return layout.isPlain && !layout.schema.hasNumbers ? 250 : nil
  }

  /// Saves a part. One of objects that hold neither others nor assets is on its way afterwards, another is done.
  nonisolated(nonsending) mutating func save<Object: MagicObject>(_ objects: [Object]) async throws {
    let type = try await scope.mapped(Object.self)
    guard type.layout.isPlain else { return try await scope.update(part: objects) }
    var runs = SaveRuns(try objects.map { try Instance($0, type.layout) }, after: last)
    while let run = runs.next() {
      if run.isEmpty {
        try await settle()
        continue
      }
      let write = try scope.saving(run, as: type)
      let work = write.work
      let written = try await take()
      started = Started(change: try place.checked.start { try work(&$0, StagedAssets()) }, finish: write.finish)
      // The database has something to do meanwhile.
      try written?()
    }
    last = runs.last
  }

  /// All is written, and the instances know.
  nonisolated(nonsending) mutating func settle() async throws {
    try await take()?()
  }

  /// Waits until what is on its way is written; returns what the instances have to learn.
  private nonisolated(nonsending) mutating func take() async throws -> (() throws -> Void)? {
    guard let started else { return nil }
    self.started = nil
    let saved = try await place.open.take(started.change)
    return { try started.finish(saved, StagedAssets()) }
  }

  /// After an error: nothing is on its way any more.
  nonisolated(nonsending) mutating func stop() async {
    guard let started else { return }
    self.started = nil
    _ = try? await place.open.take(started.change)
  }
}
