/// For each replica the last sequence that is held without a gap.
package struct Frontier: Sendable, Equatable {
  private var last: [ReplicaID: UInt64] = [:]

  package init() {}

  /// Takes over what another one has more of.
  package mutating func raise(to other: Frontier) {
    last.merge(other.last, uniquingKeysWith: max)
  }

  package subscript(replica: ReplicaID) -> UInt64 {
    get { last[replica] ?? 0 }
    set { last[replica] = newValue == 0 ? nil : newValue }
  }

  /// In the order of their bytes.
  package var replicas: [ReplicaID] { last.keys.sorted() }
  package var count: Int { last.count }
}
