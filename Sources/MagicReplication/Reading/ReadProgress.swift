internal import Foundation
internal import MagicJournal

/// How far a journal has been shown, and which transactions below that were missing: to go on from it shows each
/// transaction once, however late it comes.
package struct ReadProgress: Sendable {
  /// Transactions that are still to be told, below others that were.
  struct Hole: Sendable {
    let sequences: ClosedRange<UInt64>
    /// The name of the one before them, as far as it is known: what fills the hole is compared with it (J-33).
    let before: TransactionName?
  }

  /// The last transaction of each replica that was told. What is left out on purpose is not wanted later either, and counts as
  /// told.
  private(set) var last: Frontier
  /// Its name, as far as it is known.
  private(set) var names: [ReplicaID: TransactionName] = [:]
  /// What was not told of each replica up to there, rising.
  private(set) var holes: [ReplicaID: [Hole]] = [:]
  /// Files that could not be read and may have something to tell: they may come whole under the names that they have.
  private(set) var awaited: Set<URL> = []
  /// Checkpoints of which nothing could be told, for the same reason.
  private(set) var awaitedCheckpoints: Set<URL> = []

  /// The names that floors of databases have ended with.
  private var ends: Set<TransactionName> = []

  /// The moments that are asked for, as they were found first: a compaction may give up what they are named by.
  private(set) var since: Stamp?
  private(set) var until: Stamp?

  init(_ last: Frontier = Frontier()) {
    self.last = last
  }

  /// Before the first reading, of a window.
  ///
  /// - Parameters:
  ///   - end: of the journal. What is left out is not wanted later either.
  ///   - floor: what lies at and below it comes as it is kept, without a sequence.
  init(before window: JournalWindow, _ end: Frontier, floor: NamedFrontier) {
    self.init(window.isAll ? Frontier() : end)
    (since, until) = (window.since, window.until)
    for replica in floor.replicas {
      guard let end = floor[replica], end.sequence > last[replica] else { continue }
      (last[replica], names[replica]) = (end.sequence, end.name)
    }
  }

  /// A transaction was told.
  mutating func add(_ sequence: UInt64, _ name: TransactionName, of replica: ReplicaID) {
    // What compaction has kept has no sequence.
    guard sequence > 0, sequence >= last[replica] else { return }
    last[replica] = sequence
    names[replica] = name
  }

  /// What a database holds was told, or left out on purpose, and does not come later.
  mutating func pass(_ end: Frontier) {
    for replica in end.replicas where end[replica] > last[replica] { (last[replica], names[replica]) = (end[replica], nil) }
  }

  /// After a reading of databases with such a floor.
  mutating func note(_ floor: NamedFrontier) {
    for replica in floor.replicas { if let end = floor[replica] { ends.insert(end.name) } }
  }

  /// Whether a floor has ended with that transaction, or it was told last: then what led to it is not lacking, whatever id it
  /// is under by now (K-20).
  func knows(_ name: TransactionName) -> Bool { ends.contains(name) || names.values.contains(name) }

  /// What a checkpoint has kept was told; if that is all of it, it stands for what lies at and below the floor.
  private mutating func add(_ checkpoint: CheckpointFile, isWhole: Bool) {
    awaitedCheckpoints.remove(checkpoint.url)
    guard isWhole else { return }
    for replica in checkpoint.floor.replicas {
      guard let end = checkpoint.floor[replica] else { continue }
      if end.sequence > last[replica] { (last[replica], names[replica]) = (end.sequence, end.name) }
      let left = (holes[replica] ?? []).filter { $0.sequences.upperBound > end.sequence }.map { hole -> Hole in
        guard hole.sequences.lowerBound <= end.sequence else { return hole }
        return Hole(sequences: end.sequence + 1...hole.sequences.upperBound, before: end.name)
      }
      holes[replica] = left.isEmpty ? nil : left
    }
  }

  /// Whether what a checkpoint has kept is to be told, though others' was told before.
  func awaits(_ checkpoint: CheckpointFile) -> Bool {
    awaitedCheckpoints.contains(checkpoint.url) && lacks(below: checkpoint)
  }

  /// Whether something at or below a checkpoint's floor was not told, nor what is kept of it.
  func lacks(below checkpoint: CheckpointFile) -> Bool {
    let floor = checkpoint.floor.frontier
    return floor.replicas.contains { lacks(1...floor[$0], of: $0) }
  }

  /// Whether some of the transactions are still to be told.
  func lacks(_ sequences: ClosedRange<UInt64>, of replica: ReplicaID) -> Bool {
    !untold(Hole(sequences: sequences, before: nil), of: replica).isEmpty
  }

  /// Whether a transaction is still to be told, though later ones were.
  func lacks(_ sequence: UInt64, of replica: ReplicaID) -> Bool { !holes(of: replica, within: sequence...sequence).isEmpty }

  private func holes(of replica: ReplicaID, within sequences: ClosedRange<UInt64>) -> ArraySlice<Hole> {
    guard let holes = holes[replica] else { return [] }
    let first = holes.boundary { $0.sequences.upperBound >= sequences.lowerBound }
    return holes[first..<max(first, holes.boundary { $0.sequences.lowerBound > sequences.upperBound })]
  }

  /// After a reading.
  ///
  /// - Parameters:
  ///   - troubles: what it met no transactions of, of each replica that it looked for, and what it could not read.
  ///   - kept: the checkpoints of which it told what they have kept.
  ///   - before: what was told when it began: of that nothing is lacking, wherever it is by now. `nil` for the first reading.
  mutating func lack(_ troubles: ReadProblems, _ kept: [CheckpointFile], after before: ReadProgress?) {
    var before = before ?? ReadProgress()
    for checkpoint in kept {
      let isWhole = troubles.isWhole(checkpoint)
      add(checkpoint, isWhole: isWhole)
      before.add(checkpoint, isWhole: isWhole)
    }
    awaited = troubles.awaited
    awaitedCheckpoints.formUnion(troubles.awaitedCheckpoints)
    for (replica, holes) in troubles.holes {
      let last = last[replica]
      let untold = holes.flatMap { before.untold($0, of: replica) }
      // Beyond the last one nothing has to be remembered.
      let left = untold.filter { $0.sequences.lowerBound <= last }.map { hole in
        Hole(sequences: hole.sequences.lowerBound...min(hole.sequences.upperBound, last), before: hole.before)
      }
      self.holes[replica] = left.isEmpty ? nil : left
    }
  }

  /// The parts of a hole that were not told, rising.
  private func untold(_ hole: Hole, of replica: ReplicaID) -> [Hole] {
    let (first, end) = (hole.sequences.lowerBound, hole.sequences.upperBound)
    var known = Array(holes(of: replica, within: hole.sequences))
    let next = last[replica] + 1
    if end >= next { known.append(Hole(sequences: next...end, before: names[replica])) }
    return known.map { known in
      let sequences = max(first, known.sequences.lowerBound)...min(end, known.sequences.upperBound)
      let before = sequences.lowerBound == known.sequences.lowerBound ? known.before : nil
      return Hole(sequences: sequences, before: sequences.lowerBound == first ? hole.before ?? before : before)
    }
  }
}
