internal import Foundation
package import MagicData
internal import MagicJournal

/// How far a database and a remote are apart, without changing either.
package struct ReplicationStatus: Sendable {
  /// A replica whose transactions are here or there.
  package struct Peer: Sendable, Encodable {
    package let replica: String
    /// What people call it (K-25).
    package let name: String?
    package let isOwn: Bool
    /// Its last sequence that is held here, and without a gap in the remote.
    package let here: UInt64
    package let there: UInt64
    /// The last one that some file in the remote is named for. More than `there` if files are missing or cannot be read.
    package let reach: UInt64
    /// The last one that a member has acknowledged, and so holds or held.
    package let known: UInt64
    /// When its last transaction that is known was written, by its own clock.
    package let lastSeen: String?
    /// How far its clock is ahead, in milliseconds, if what it wrote has to wait for that.
    package let parkedMilliseconds: Int64?
    /// When it said last what it has (K-6).
    package let acknowledged: String?
    /// How many of the transactions that are held here it has not acknowledged.
    package let unacknowledged: UInt64
    /// Whether it is not waited for any more, until it says again what it has (K-9).
    package let isExpired: Bool
    /// Whether what it may have acknowledged finds no room to be remembered (K-8).
    package let isBeyondMemory: Bool

    /// Transactions that are here and not there, and the other way round.
    package var out: UInt64 { here - min(here, there) }
    package var `in`: UInt64 { there - min(here, there) }
    package var hasGap: Bool { max(reach, known) > max(here, there) }
  }

  package let peers: [Peer]
  package let segments: Int
  package let segmentBytes: Int
  package let checkpoints: Int
  package let checkpointBytes: Int
  /// What is named as a segment and does not count.
  package let unusable: [String]
  /// How far the latest stamp in the remote is ahead of this machine's clock; negative if it lies back.
  package let skewMilliseconds: Int64?
  /// Contents of assets that are here and not there, and those that objects name and that are not here.
  package fileprivate(set) var outAssets = 0
  package fileprivate(set) var inAssets = 0
  /// Files that end with what was written under an id that is closed, and that a pull takes under another (J-33). Of a server
  /// that is not known.
  package private(set) var inBranches = 0

  package var out: UInt64 { peers.map { $0.out }.clampedSum }
  package var `in`: UInt64 { peers.map { $0.in }.clampedSum }
  package var isInStep: Bool {
    out == 0 && `in` == 0 && outAssets == 0 && inAssets == 0 && inBranches == 0 && !peers.contains { $0.hasGap }
  }
}

extension MagicReplicator {
  /// - Throws: `MagicDataError` as ``pull(accepting:isDryRun:)`` does.
  package func status() async throws -> ReplicationStatus {
    try await remote.opened(for: magic) { remote in
      var status = try await remote.status(of: magic, found(remote))
      (status.outAssets, status.inAssets) = try await waitingAssets(remote)
      return status
    }
  }
}

extension MagicData {
  /// What is known of each replica without a remote.
  package func replicas() async throws -> [ReplicationStatus.Peer] {
    try await store.read { db in
      let (journal, members) = (try JournalReader(db), try Members(db))
      let held = try journal.frontier()
      let ends = HeldEnds(held)
      return try Set(held.replicas + members.all.keys + [members.own]).sorted().map { replica in
        let name = try journal.name(at: held[replica], of: replica)
        return .init(
          replica: replica, members, held: ends, there: 0, reach: 0, known: 0, lastSeen: name.map { $0.stamp.inLog },
          parkedMilliseconds: nil)
      }
    }
  }
}

/// What is held, to compare what each peer has acknowledged with.
private struct HeldEnds {
  let frontier: Frontier
  private let total: UInt64

  init(_ frontier: Frontier) {
    self.frontier = frontier
    total = frontier.replicas.map { frontier[$0] }.clampedSum
  }

  /// How many of the transactions somebody lacks. The time grows with what he says, and not with what is held.
  func lacking(in said: Frontier) -> UInt64 {
    guard total < .max else { return frontier.replicas.map { frontier[$0] - min(frontier[$0], said[$0]) }.clampedSum }
    return said.replicas.reduce(total) { $0 - min(frontier[$1], said[$1]) }
  }
}

extension ReplicationStatus.Peer {
  fileprivate init(
    replica: ReplicaID, _ members: Members, held: HeldEnds, there: UInt64, reach: UInt64, known: UInt64,
    lastSeen: String?, parkedMilliseconds: Int64?
  ) {
    let member = members.all[replica]
    let said = member?.acknowledged?.frontier.frontier ?? Frontier()
    self.init(
      replica: replica.description, name: members.names.all[replica]?.text, isOwn: replica == members.own,
      here: held.frontier[replica], there: there, reach: reach, known: known, lastSeen: lastSeen,
      parkedMilliseconds: parkedMilliseconds,
      acknowledged: (member?.acknowledged?.time).map { Date(timeIntervalSince1970: TimeInterval($0) / 1_000).inLog },
      unacknowledged: replica == members.own ? 0 : held.lacking(in: said),
      isExpired: member?.isExpired ?? false,
      isBeyondMemory: replica != members.own && member?.isExpired != true && members.isBeyondMemory(replica, held.frontier))
  }
}

extension ReplicationStatus {
  /// The status of a remote that tells what it holds.
  package init(_ db: Connection, _ there: Standing, _ now: Int64) throws {
    let (journal, state, members) = (try JournalReader(db), try DatabaseState(db), try Members(db))
    let held = try journal.frontier()
    let limits = try Branches(db).closings.reduce(into: [:]) { $0[$1.key] = max($1.value, held[$1.key]) }
    let parts = Dictionary(there.heldParts.map { ($0.held.replica, $0) }) { first, _ in first }
    let latest = try Merger.latest(at: now, state.lastStamp, db)
    segments = there.segments
    segmentBytes = there.bytes
    (checkpoints, checkpointBytes) = (0, 0)
    unusable = []
    skewMilliseconds = there.parts.filter { $0.held.last > 0 }.map { $0.held.name.stamp.milliseconds - now }.max()
    let (known, ends) = (members.known, HeldEnds(held))
    peers = try Set(held.replicas + parts.keys + members.all.keys + [state.replica]).sorted().map { replica in
      let part = parts[replica]
      let (last, own) = (part?.held.name.stamp, try journal.name(at: held[replica], of: replica)?.stamp)
      // What a remote has beyond a closing is no part of the id (J-33).
      let limit = limits[replica] ?? .max
      let beyond = min(part?.held.last ?? 0, limit)
      let isParked = held[replica] < beyond && (last?.milliseconds ?? 0) > latest
      return Peer(
        replica: replica, members, held: ends, there: beyond,
        // How far what cannot be read there goes is not told.
        reach: min(max(part?.beyond.last?.upperBound ?? beyond, part?.hasUnread == true ? beyond + 1 : 0), limit),
        known: known[replica],
        lastSeen: [last, own].compactMap { $0 }.max()?.inLog,
        parkedMilliseconds: isParked ? last.map { $0.milliseconds - now } : nil)
    }
  }

  /// - Parameter unusable: what cannot be used beside segments and checkpoints.
  init(_ snapshot: Snapshot, _ members: Members, _ now: Int64, unusable: [String]) throws {
    let (listing, held) = (snapshot.listing, snapshot.held)
    let there = listing.frontier
    let latest = try Merger.latest(at: now, snapshot.state.lastStamp, snapshot.journal.db)
    segments = listing.files.count
    segmentBytes = listing.files.reduce(0) { $0 + SegmentHeader.length + $1.header.storedLength }
    checkpoints = listing.checkpoints.count
    checkpointBytes = listing.checkpoints.reduce(0) { $0 + $1.bytes }
    self.unusable = listing.rejected.map(\.error.message) + listing.rejectedCheckpoints.map(\.error.message) + unusable
    inBranches = try listing.foreign(snapshot.journal, snapshot.branches).count
    skewMilliseconds = listing.files.map { $0.header.lastName.stamp.milliseconds - now }.max()
    let unread = listing.rejected.map(\.name.replica)
    let (known, ends) = (members.known, HeldEnds(held))
    peers = try Set(held.replicas + listing.allReplicas + unread + members.all.keys + [members.own]).sorted().map { replica in
      let files = listing.runs[replica]?.files ?? []
      let last = files.map(\.header.lastName.stamp).max()
      let own = try snapshot.journal.name(at: held[replica], of: replica)?.stamp
      let isParked = held[replica] < there[replica] && (last?.milliseconds ?? 0) > latest
      return Peer(
        replica: replica, members, held: ends, there: there[replica],
        reach: min(max(there[replica], listing.reach(of: replica)), max(listing.limits[replica] ?? .max, held[replica])),
        known: known[replica],
        lastSeen: [last, own].compactMap { $0 }.max()?.inLog,
        parkedMilliseconds: isParked ? last.map { $0.milliseconds - now } : nil)
    }
  }
}
