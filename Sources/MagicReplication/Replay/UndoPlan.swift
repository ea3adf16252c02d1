public import MagicData
internal import MagicJournal

/// What is to be undone.
public struct UndoSelection: Sendable, Equatable {
  /// Each is undone, as far as `types` lets it.
  public var transactions: [MagicMoment] = []
  /// All that was written then or later is undone, as far as `types` and `replicas` let it.
  public var since: MagicMoment?
  /// By name; none stands for all.
  public var types: Set<String> = []
  /// How the ids of replicas begin; none stands for all.
  public var replicas: [String] = []

  /// Nothing.
  public init() {}
}

/// What undoing comes to: changes that bring objects to what they would be without some transactions, as far as nobody has gone
/// on from these.
public struct UndoPlan: Sendable, Equatable {
  /// What is written to one object.
  public struct Change: Sendable, Equatable {
    /// Whether its fields are set, it is removed, or it is made again.
    public enum Kind: String, Sendable {
      case change, remove, revive
    }

    /// What is done to it.
    public let kind: Kind
    /// The name of its type.
    public let type: String
    /// As ``MagicHistory/Entry/object`` has it.
    public let object: String
    /// Those that are to show something else.
    public let fields: [Field]
  }

  /// What a field is to show.
  public struct Field: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// What it shows and is to show, as JSON; `nil` for nothing.
    public let before, after: String?
  }

  /// What others have changed since.
  public struct Kept: Sendable, Equatable {
    /// The name of its type.
    public let type: String
    /// As ``MagicHistory/Entry/object`` has it.
    public let object: String
    /// `nil` for the object as a whole.
    public let property: String?
    /// Who changed it.
    public let author: MagicObjectHistory.Author
  }

  /// What is written.
  public internal(set) var changes: [Change] = []
  /// What is left as it is.
  public internal(set) var kept: [Kept] = []
  let selection: UndoSelection
  var objects: [ObjectChange] = []

  init(_ selection: UndoSelection) {
    self.selection = selection
  }
}

extension MagicData {
  /// What undoing would do. Changes nothing.
  ///
  /// - Throws: `MagicDataError` with `notFound` for a transaction that is not there, a time in the place of one, or a `since`
  ///   from before what compaction has given up.
  public func undoing(_ selection: UndoSelection) async throws -> UndoPlan {
    let (transactions, since) = try await resolved(selection)
    return try await store.read { db in try UndoPlanner.plan(db, selection, transactions, since) }
  }

  /// Does what ``undoing(_:)`` came to, as one transaction of this replica, if it still comes to the same.
  ///
  /// An asset comes back by its name. Where nothing named its content meanwhile that was deleted, and the next pull fetches it,
  /// if the remote still has it.
  /// - Throws: `MagicDataError` with `busy` if the plan comes to something else by now; else as ``undoing(_:)``.
  public func undo(_ plan: UndoPlan) async throws {
    let (transactions, since) = try await resolved(plan.selection)
    _ = try await store.change { db in
      guard try UndoPlanner.plan(db, plan.selection, transactions, since) == plan else {
        throw MagicDataError(.busy, "the database was changed since these changes were shown; look at them again")
      }
      return plan.objects
    }
  }

  private func resolved(_ selection: UndoSelection) async throws -> ([TransactionAddress], Stamp?) {
    try await OpenJournal.read([.database(self)]) { journal, _ in
      let transactions = try selection.transactions.map {
        let found = try journal.transaction(at: $0, selection.replicas)
        return TransactionAddress(replica: found.replica, sequence: found.sequence)
      }
      let since = try selection.since.map { try journal.firstStamp(at: $0, selection.replicas) }
      // What was before has to be known: of what compaction kept nobody knows what it took the place of.
      try since.map { try journal.checkIsKnown(Stamp(max($0.bits, 1) - 1)) }
      return (transactions, since)
    }.0
  }
}
