internal import MagicData
internal import MagicJournal
internal import MagicReplication

/// What both sides hold, told from each other (W-6).
extension Session {
  /// The database has another id than the one that it came under.
  struct ReplicaChanged: Error {}

  /// The server has another transaction than the database at some address of somebody's (J-33).
  struct Forked: Error {
    let error: MagicDataError
  }

  /// The server does not take what the client may write: what it has told of other tokens' ids may be so no more (W-4).
  struct Refused: Error {
    let error: MagicDataError
    let attempt: Attempt
  }

  /// How often a call has come again, since both sides were last in step, and how it comes next.
  struct Returns {
    /// So often it still comes to terms with branches of somebody's id, its own among them. A session may last for months.
    private var forks = 8
    var tellsNames = true
    var isRefused = false

    mutating func takeFork() -> Bool {
      guard forks > 0 else { return false }
      forks -= 1
      return true
    }
  }

  /// What a push is about to send, and what it has sent.
  struct Attempt: Sendable {
    /// Whose transactions, none of which the server has told to be another token's.
    var replicas: Set<ReplicaID> = []
    var sent: [Sent] = []
  }

  /// A segment that was sent.
  struct Sent: Sendable {
    let replica: ReplicaID
    let run: ClosedRange<UInt64>
    let report: PushReport

    /// Whether a server holds it that stands so.
    func isHeld(_ there: Standing) -> Bool {
      there.parts.contains { $0.held.replica == replica && !$0.isClosed }
        && there.holes(of: replica, through: run.upperBound).allSatisfy { !$0.overlaps(run) }
    }
  }

  /// Both sides, after their names were compared (W-6).
  struct Compared: Sendable {
    let held: Frontier
    let named: NamedFrontier
    let there: Standing
    /// What there is no need to ask for: what is held, and of ids that are closed what is held under others (J-33).
    var known = Frontier()
    /// Others have written under the database's own id (F-17).
    let isBranch: Bool
    /// The ids of others under which two databases have written, or may have.
    var suspects: [ReplicaID] = []
    /// How many changes had been told before.
    let changes: Int
    /// Whether it was found before, and not for this question.
    var isRemembered = false
    /// Until when it may be taken for what is, as long as the server tells of no change: nothing was there that is not held.
    var until: ContinuousClock.Instant?
    /// Whether nobody has written, or may have, under an id of which the other side has something else.
    var isSure: Bool { !isBranch && suspects.isEmpty }
  }

  /// What is said of sides that are not sure of each other, where no pull is on its way.
  var forkError: MagicDataError {
    MagicDataError(.fork, "\(text) has other transactions of a replica than the database; pull first")
  }

  func compare(_ magic: MagicData) async throws -> Compared {
    let changes = changes.count
    compared.withLock { $0 = nil }
    // Of ids that are closed the server may have other transactions.
    let (runs, own, branches) = try await magic.store.readBriefly { db in
      let branches = try Branches(db)
      let closings = branches.closings
      return (try JournalIndex(db).heldRuns().filter { closings[$0.replica] == nil }, try DatabaseState(db).replica, branches)
    }
    guard own == replica else { throw ReplicaChanged() }
    let isTelling = tellsNames.withLock { $0 }
    let answer: Frame
    do {
      answer = try await ask(.held(isTelling ? runs : []), for: .standing)
    } catch let error as MagicDataError where error.code == .fork && isTelling {
      throw Forked(error: error)
    }
    let there = try reading { () throws(WireError) in try answer.standing(accepting: offers("accepted")) }
    acceptedThere.withLock { $0 = there.acceptedTime }
    return try await magic.store.readBriefly { db in
      let journal = JournalIndex(db)
      let held = try journal.frontier()
      let found = try there.difference(own: own, held) { try journal.name(at: $0, of: $1) }
      var known = held
      var forked = found.forked
      for run in there.parts.map(\.held) where run.last > held[run.replica] || forked.contains(run.replica) {
        // Under another id, or as what a floor stands for beside its end (K-20).
        let isHeld = try branches.addresses(of: run.last, of: run.replica).contains {
          try journal.name(at: $0.sequence, of: $0.replica) == run.name
        }
        if isHeld { known[run.replica] = max(run.last, held[run.replica]) }
        let isRival = try journal.name(at: 1, of: run.replica.branch(at: run.name)) == run.name
        if isHeld || isRival { forked.removeAll { $0 == run.replica } }
      }
      // Of what the server has more of, and was not told the names, it is not known whether it goes on from what is held here.
      let suspects =
        isTelling
        ? []
        : there.parts.map(\.held).filter {
          held[$0.replica] > 0 && $0.last > known[$0.replica] && $0.replica != own
        }.map(\.replica)
      return Compared(
        held: held, named: try journal.named(held), there: there, known: known, isBranch: found.isBranch,
        suspects: forked + suspects,
        changes: changes)
    }
  }

  /// Compares for a push. What the pull before it has found is not asked for again, if the server has told of no change since,
  /// and the database holds what it held then, or what the server does. Were it another all the same, the server's answer to
  /// the push says so.
  func compareForPush(_ magic: MagicData) async throws -> Compared {
    let known = compared.withLock { known in
      defer { known = nil }
      return known
    }
    guard let known, known.changes == changes.count else { return try await compare(magic) }
    let (held, named) = try await magic.store.readBriefly { db in
      let journal = JournalIndex(db)
      let held = try journal.frontier()
      return (held, try journal.named(held))
    }
    let hasGrown = known.until != nil && known.held.replicas.allSatisfy { known.held[$0] <= held[$0] }
    guard held == known.held || held == known.there.frontier || hasGrown else { return try await compare(magic) }
    return Compared(
      held: held, named: named, there: known.there, known: held, isBranch: false, changes: known.changes, isRemembered: true,
      until: known.until)
  }

  /// What an exchange has ended with. The server tells of each change from then on (W-11), so there is no need to ask before
  /// the next.
  func remember(_ ended: Compared, there: Standing) {
    guard !ended.isBranch else { return }
    returns.withLock { $0 = Returns() }
    guard isLive,
      there.parts.allSatisfy({ $0.held.last <= ended.held[$0.held.replica] && $0.beyond.isEmpty && !$0.hasUnread })
    else { return }
    var found = Compared(
      held: ended.held, named: ended.named, there: there, known: ended.held, isBranch: false, changes: ended.changes)
    found.until = ended.until ?? .now + Session.trust
    compared.withLock { [found] in $0 = found }
  }

  /// In so long it is asked all the same: what is served may have been changed in ways that its server does not see.
  private static let trust = Duration.seconds(30)

  var inStep: Compared? {
    compared.withLock { known in
      guard let found = known, let until = found.until, until > .now, found.changes == changes.count else { return nil }
      return found
    }
  }
}
