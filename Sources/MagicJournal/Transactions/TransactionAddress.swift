/// Where a transaction is found (J-2). It may change, and is no name.
package struct TransactionAddress: Hashable, Sendable {
  package let replica: ReplicaID
  package let sequence: UInt64

  package init(replica: ReplicaID, sequence: UInt64) {
    (self.replica, self.sequence) = (replica, sequence)
  }
}
