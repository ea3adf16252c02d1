/// A frontier with the name of the transaction at each of its ends (K-1, K-6).
package struct NamedFrontier: Sendable, Equatable {
  package struct End: Sendable, Equatable {
    package let sequence: UInt64
    package let name: TransactionName

    package init(sequence: UInt64, name: TransactionName) {
      self.sequence = sequence
      self.name = name
    }

    fileprivate static func isLower(_ end: End, _ other: End) -> Bool {
      (end.sequence, end.name.stamp, end.name.tag) < (other.sequence, other.name.stamp, other.name.tag)
    }
  }

  private var ends: [ReplicaID: End] = [:]

  package init() {}

  package subscript(replica: ReplicaID) -> End? {
    get { ends[replica] }
    set { ends[replica] = newValue }
  }

  /// In the order of their bytes.
  package var replicas: [ReplicaID] { ends.keys.sorted() }

  package var isEmpty: Bool { ends.isEmpty }
  package var count: Int { ends.count }

  package var frontier: Frontier {
    var frontier = Frontier()
    for (replica, end) in ends { frontier[replica] = end.sequence }
    return frontier
  }

  /// The highest stamp at its ends: stamps of a replica rise.
  package var highest: Stamp? { ends.values.map(\.name.stamp).max() }

  /// Takes the end of each replica that lies higher in another. Of two at one sequence, which is a fork, that of the higher
  /// name stays (K-20).
  package mutating func raise(to other: NamedFrontier) {
    ends.merge(other.ends) { End.isLower($0, $1) ? $1 : $0 }
  }

  /// Where both have an end at one sequence, of two transactions: the lower end, under a branch id of its own (K-20).
  package func beside(_ other: NamedFrontier) -> NamedFrontier {
    beside(other) { own, others in
      guard own.sequence == others.sequence, own != others else { return nil }
      return End.isLower(own, others) ? own : others
    }
  }

  /// Where the other's end is higher, and so may be on another branch: the own end, under a branch id of its own.
  package func below(_ other: NamedFrontier) -> NamedFrontier {
    beside(other) { own, others in own.sequence < others.sequence ? own : nil }
  }

  private func beside(_ other: NamedFrontier, _ lower: (End, End) -> End?) -> NamedFrontier {
    var beside = NamedFrontier()
    for (replica, end) in ends {
      guard let others = other.ends[replica], let lower = lower(end, others) else { continue }
      beside[replica.branch(at: lower.name)] = End(sequence: 1, name: lower.name)
    }
    return beside
  }

  /// The encoded length of one end (K-10).
  package static let endLength = 36

  package func encode(to writer: inout ByteWriter) {
    for replica in replicas {
      guard let end = ends[replica] else { continue }
      replica.encode(to: &writer)
      writer.fixed(end.sequence)
      end.name.encode(to: &writer)
    }
  }

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    encode(to: &writer)
    return writer.bytes
  }

  /// Decodes `count` ends.
  package init(from reader: inout ByteReader, count: Int) throws(JournalError) {
    var last: ReplicaID?
    for _ in 0..<count {
      let start = reader
      let replica = try Identifier(from: &reader)
      let end = End(sequence: try reader.fixed(UInt64.self), name: try TransactionName(from: &reader))
      guard last.map({ $0 < replica }) ?? true else { throw start.damaged("a frontier's replicas do not rise") }
      guard 1..<Limits.sequence ~= end.sequence, end.name.stamp > .earliest else {
        throw start.damaged("a frontier ends where nothing can end")
      }
      ends[replica] = end
      last = replica
    }
  }
}
