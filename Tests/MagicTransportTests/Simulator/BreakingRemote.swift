import MagicData
import MagicJournal
import MagicReplication
import TestSupport

/// A remote that is gone in the middle of an exchange: before something is asked of it, or when it has done it and its answer
/// does not come.
struct BreakingRemote: Remote {
  let remote: any Remote
  /// So many halves of calls, a question or an answer, come through.
  private let left: Locked<Int>

  init(_ remote: any Remote, after halves: Int) {
    self.remote = remote
    left = Locked(halves)
  }

  var text: String { remote.text }

  func opened<Result: Sendable>(
    for magic: MagicData, _ body: (any OpenRemote) async throws -> Result
  ) async throws -> Result {
    try await remote.opened(for: magic) { open in try await body(BreakingOpenRemote(remote: open, left: left)) }
  }
}

private struct BreakingOpenRemote: OpenRemote {
  let remote: any OpenRemote
  let left: Locked<Int>

  private func half() throws {
    let isThere = left.withLock { left in
      left -= 1
      return left >= 0
    }
    guard isThere else { throw MagicDataError(.unreachable, "\(remote.text) went away") }
  }

  private func call<Result>(_ body: () async throws -> Result) async throws -> Result {
    try half()
    let result = try await body()
    try half()
    return result
  }

  var text: String { remote.text }
  var isLive: Bool { remote.isLive }
  var takesContents: Bool { remote.takesContents }
  var due: ContinuousClock.Instant? { remote.due }

  func dataSet() async throws -> DataSetID { try await call { try await remote.dataSet() } }

  func dataSet(orMake dataSet: DataSetID) async throws -> DataSetID {
    try await call { try await remote.dataSet(orMake: dataSet) }
  }

  func arrivals(for magic: MagicData, _ dataSet: DataSetID) async throws -> IncomingSegments {
    try await call { try await remote.arrivals(for: magic, dataSet) }
  }

  func deliver(_ magic: MagicData, _ dataSet: DataSetID, _ events: EventSource) async throws -> Delivery {
    try await call { try await remote.deliver(magic, dataSet, events) }
  }

  func contents(_ names: ArraySlice<String>, for magic: MagicData) async throws -> (folder: FolderRemote, asked: Int) {
    try await call { try await remote.contents(names, for: magic) }
  }

  func forget(contents names: ArraySlice<String>, for magic: MagicData) async throws {
    try await call { try await remote.forget(contents: names, for: magic) }
  }

  func acknowledge(_ pushed: NamedFrontier, for magic: MagicData) async throws -> Bool {
    try await call { try await remote.acknowledge(pushed, for: magic) }
  }

  func lacking(contents lengths: [String: Set<Int>]) async throws -> Int {
    try await call { try await remote.lacking(contents: lengths) }
  }

  func deliver(assets names: Set<String>, _ magic: MagicData, _ report: PushReport) async throws -> PushReport {
    try await call { try await remote.deliver(assets: names, magic, report) }
  }

  func digest(at frontier: Frontier) async throws -> String? { try await call { try await remote.digest(at: frontier) } }

  func holds(_ frontier: Frontier) -> Bool { remote.holds(frontier) }
  func position() async -> RemotePosition { await remote.position() }

  func waitForChange(after position: RemotePosition, every interval: Duration) async throws {
    try await remote.waitForChange(after: position, every: interval)
  }

  func status(of magic: MagicData, _ dataSet: DataSetID) async throws -> ReplicationStatus {
    try await call { try await remote.status(of: magic, dataSet) }
  }
}
