internal import Foundation
internal import MagicData
internal import MagicJournal

/// Finds the first transaction after which something is no longer as it should be, by halving: it builds databases up to a
/// transaction, and asks.
package struct Bisection: Sendable {
  /// A transaction that was found.
  package struct Found: Sendable {
    package let author: MagicObjectHistory.Author
    /// How many databases were built and asked.
    package let tries: Int
    package let entries: [(type: String, object: String, operation: MagicHistory.Operation)]
  }

  package enum Result: Sendable {
    case found(Found)
    /// The whole journal passes.
    case passes
    /// An empty database already fails.
    case failsWithoutAny
  }

  private let source: JournalSource

  package init(_ source: JournalSource) {
    self.source = source
  }

  /// - Parameter test: is given the path of a database that it may do with what it likes; `false` if something is not as it
  ///   should be.
  package func run(_ test: (_ path: String, _ transactions: Int) async throws -> Bool) async throws -> (Result, MagicReadReport)
  {
    let scratch = try ScratchFolder("bisect")
    defer { withExtendedLifetime(scratch) {} }
    let ((versions, givenUp), report) = try await versions()
    var tries = 0
    func passes(_ count: Int) async throws -> Bool {
      try Task.checkCancellation()
      tries += 1
      let place = scratch.url.appendingPathComponent("\(tries)")
      defer { try? FileManager.default.removeItem(at: place) }
      try await MagicData.build(at: DatabaseLocation(place)) { magic in
        var plan = RebuildPlan()
        // What was before the history begins is one state.
        guard let through = count > 0 ? versions[count - 1] : givenUp else { return }
        plan.through = through
        // What is thrown away waits for no clock.
        plan.accepted = Array(Merger.everyone)
        _ = try await magic.rebuild(from: [source], plan)
      }
      return try await test(place.path, count)
    }
    guard try await !passes(versions.count) else { return (.passes, report) }
    guard !versions.isEmpty, try await passes(0) else { return (.failsWithoutAny, report) }
    // It passes after `low` transactions and fails after `high`.
    var (low, high) = (0, versions.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if try await passes(middle) { low = middle } else { high = middle }
    }
    return (.found(try await found(versions[high - 1], tries)), report)
  }

  /// The versions of all transactions, the oldest first. Those of one version, which writers share by chance alone, are a step.
  private func versions() async throws -> (([Version], givenUp: Version?), MagicReadReport) {
    try await OpenJournal.read([source]) { journal, checkCancelled in
      var versions: [Version] = []
      let givenUp = journal.givenUp.map { Version(stamp: $0, root: Identifier(.max, .max)) }
      var window = JournalWindow()
      window.salvages = false
      try journal.forEachTransaction(window) { transaction, _ in
        try checkCancelled()
        if let givenUp, transaction.version <= givenUp { return }
        if versions.last != transaction.version { versions.append(transaction.version) }
      }
      return (versions, givenUp)
    }
  }

  private func found(_ version: Version, _ tries: Int) async throws -> Found {
    let (found, _) = try await OpenJournal.read([source]) { journal, _ in
      var window = JournalWindow()
      (window.since, window.until, window.salvages) = (version.stamp, version.stamp, false)
      var found: Found?
      try journal.forEachTransaction(window) { transaction, schema in
        guard transaction.version == version else { return }
        found = Found(
          author: .init(time: version.stamp.date, replica: transaction.replica.description, sequence: transaction.sequence),
          tries: tries,
          entries: transaction.entries.map { (schema.schema.types[$0.type].name.text, $0.key.text, $0.listed) })
      }
      return found
    }
    guard let found else { throw MagicDataError(.failed, "the source has changed meanwhile; try again") }
    return found
  }
}
