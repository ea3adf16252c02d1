package import MagicData
package import MagicJournal

/// What somebody says to hold of a replica: all up to a sequence, and that transaction's name (L-11).
package struct HeldRun: Sendable, Equatable {
  package let replica: ReplicaID
  package let last: UInt64
  package let name: TransactionName

  package init(replica: ReplicaID, last: UInt64, name: TransactionName) {
    self.replica = replica
    self.last = last
    self.name = name
  }
}

extension JournalAddresses {
  /// The frontier with its names.
  package func heldRuns() throws -> [HeldRun] {
    let frontier = try frontier()
    return try frontier.replicas.compactMap { replica in
      try name(at: frontier[replica], of: replica).map { HeldRun(replica: replica, last: frontier[replica], name: $0) }
    }
  }
}

/// What a remote holds, as far as it takes to know what it lacks and what it has more.
package struct Standing: Sendable, Equatable {
  package struct Part: Sendable, Equatable {
    package let held: HeldRun
    /// What it holds beyond a hole, rising and apart.
    package var beyond: [ClosedRange<UInt64>]
    /// Whether who asks may not write under this replica's id.
    package var isClosed = false
    /// Whether it has files of more that cannot be read; what they are it says to who pulls.
    package var hasUnread = false
    /// Whether it has not taken something of it that who asks has sent, as a file of another format or data set stands in its
    /// place (S-2).
    package var isDisplaced = false

    package init(
      _ held: HeldRun, beyond: [ClosedRange<UInt64>] = [], isClosed: Bool = false, hasUnread: Bool = false,
      isDisplaced: Bool = false
    ) {
      self.held = held
      self.beyond = beyond
      self.isClosed = isClosed
      self.hasUnread = hasUnread
      self.isDisplaced = isDisplaced
    }
  }

  /// How many replicas a server takes something of: all of them stand in one answer (W-6), with room for those that several
  /// clients bring at once.
  package static let mostReplicas = 10_000

  /// Rising by replica. One of which nothing is held up from 1 has 0.
  package private(set) var parts: [Part]
  /// Segments that are kept as files, and their bytes.
  package let segments: Int
  package let bytes: Int
  /// Up to which time stamps are accepted there (C-5), in milliseconds since 1970; 0 if nobody has said so, or it was not told.
  package var acceptedTime: Int64 = 0

  /// Those of which it holds something.
  var heldParts: [Part] { parts.filter { $0.held.last > 0 || !$0.beyond.isEmpty || $0.hasUnread } }

  package init(_ parts: [Part], segments: Int = 0, bytes: Int = 0) {
    self.parts = Standing.inOrder(parts)
    self.segments = segments
    self.bytes = bytes
  }

  /// Says of replicas that who asks may not write under them, also of those of which nothing is held: who asks may hold
  /// something of them by other ways.
  ///
  /// - Parameter first: those that matter most.
  package mutating func close(_ replicas: Set<ReplicaID>, first: Set<ReplicaID>) {
    for index in parts.indices { parts[index].isClosed = replicas.contains(parts[index].held.replica) }
    // So many that the answer stays one, whatever ids somebody has taken.
    let others = replicas.subtracting(parts.map(\.held.replica))
    let unheld = (first.intersection(others).sorted() + others.subtracting(first).sorted()).prefix(4_096).map {
      Part(HeldRun(replica: $0, last: 0, name: .none), isClosed: true)
    }
    parts = Standing.inOrder(parts + unheld)
  }

  /// Marks replicas of which something was not taken, since a file of another format or data set has its name (S-2).
  package mutating func displace(_ replicas: Set<ReplicaID>) {
    for index in parts.indices { parts[index].isDisplaced = replicas.contains(parts[index].held.replica) }
    let others = replicas.subtracting(parts.map(\.held.replica)).map {
      Part(HeldRun(replica: $0, last: 0, name: .none), isDisplaced: true)
    }
    parts = Standing.inOrder(parts + others)
  }

  private static func inOrder(_ parts: [Part]) -> [Part] { parts.sorted { $0.held.replica < $1.held.replica } }

  package var frontier: Frontier {
    var frontier = Frontier()
    for part in parts { frontier[part.held.replica] = part.held.last }
    return frontier
  }

  /// The holes before what it has beyond them (F-10).
  var gaps: [PullReport.Gap] {
    parts.compactMap { part in
      part.beyond.first.map { run in
        PullReport.Gap(replica: part.held.replica.description, sequences: part.held.last + 1...run.lowerBound - 1)
      }
    }
  }

  /// The runs that it lacks of a replica up to a sequence, and that it takes.
  ///
  /// - Complexity: O(log *replicas*), and as much as there are runs.
  package func holes(of replica: ReplicaID, through last: UInt64) -> [ClosedRange<UInt64>] {
    let place = parts.boundary { $0.held.replica >= replica }
    let part = place < parts.count && parts[place].held.replica == replica ? parts[place] : nil
    if part?.isClosed == true { return [] }
    var next = (part?.held.last ?? 0) + 1
    var holes: [ClosedRange<UInt64>] = []
    for run in part?.beyond ?? [] where next <= last {
      if run.lowerBound > next { holes.append(next...min(run.lowerBound - 1, last)) }
      next = max(next, run.upperBound + 1)
    }
    if next <= last { holes.append(next...last) }
    return holes
  }

  /// Where what somebody else holds is another's than what is held here.
  package struct Difference: Sendable, Equatable {
    /// Whether others have written under the own id, so that it has to be left (F-17).
    package var isBranch = false
    /// Under which ids of others two databases have written (J-33).
    package var forked: [ReplicaID] = []

    package init() {}
  }

  /// Compares the names at the lower of both frontiers of each replica.
  ///
  /// - Parameters:
  ///   - own: the replica of who asks.
  ///   - held: the frontier of who asks.
  ///   - name: a name by its address as it is held here; `nil` for one that is not known.
  package func difference(
    own: ReplicaID, _ held: Frontier, _ name: (UInt64, ReplicaID) throws -> TransactionName?
  ) throws -> Difference {
    var found = Difference()
    for run in parts.map(\.held) where run.last > 0 {
      if run.replica == own {
        found.isBranch = try run.last > held[own] || name(run.last, own) != run.name
        continue
      }
      guard run.last <= held[run.replica], let known = try name(run.last, run.replica) else { continue }
      if known != run.name { found.forked.append(run.replica) }
    }
    return found
  }
}
