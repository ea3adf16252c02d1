internal import MagicData
internal import MagicJournal

/// What replicas are called, whatever somebody says: so many of them (K-25).
struct ReplicaNames: Sendable {
  private(set) var all: [ReplicaID: ReplicaName]

  /// More than anybody reads; of more those count that were heard first.
  static let most = 10_000

  init(_ names: [ReplicaID: ReplicaName] = [:]) {
    all = names
  }

  /// Takes what is later than what is known.
  ///
  /// - Returns: who is called otherwise than before.
  @discardableResult
  mutating func learn(_ said: [ReplicaID: ReplicaName]) -> Set<ReplicaID> {
    var changed: Set<ReplicaID> = []
    // Where there is no room for all, it must not be chance who has it.
    for (replica, name) in said.sorted(by: { $0.key < $1.key }) {
      if let known = all[replica] {
        guard known < name else { continue }
      } else {
        guard all.count < ReplicaNames.most else { continue }
      }
      all[replica] = name
      changed.insert(replica)
    }
    return changed
  }
}
