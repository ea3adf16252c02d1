internal import Foundation
package import MagicData
package import MagicJournal

/// A folder is always open: it is files that are here.
extension FolderRemote: Remote, OpenRemote {
  package var text: String { folder.path }
  package var isLive: Bool { false }

  package func opened<Result: Sendable>(for magic: MagicData, _ body: (any OpenRemote) async throws -> Result) async throws
    -> Result
  {
    try await body(self)
  }

  package func arrivals(for magic: MagicData, _ dataSet: DataSetID) -> IncomingSegments { IncomingSegments(self) }

  package func contents(_ names: ArraySlice<String>, for magic: MagicData) -> (folder: FolderRemote, asked: Int) {
    (self, names.count)
  }

  package func digest(at frontier: Frontier) -> String? { nil }
  package func holds(_ frontier: Frontier) -> Bool { false }
  package var due: ContinuousClock.Instant? { nil }

  package func forget(contents names: ArraySlice<String>, for magic: MagicData) {}

  package var takesContents: Bool { true }

  // MARK: Changes

  package func position() async -> RemotePosition {
    // Off the threads that tasks share: a share that does not answer would hold one up.
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: .names(try? Set(listing(of: segments)))) }
    }
  }

  package func waitForChange(after position: RemotePosition, every interval: Duration) async throws {
    repeat { try await Task.sleep(for: interval) } while await self.position() == position
  }

  // MARK: Status

  package func status(of magic: MagicData, _ dataSet: DataSetID) async throws -> ReplicationStatus {
    do {
      return try await look(magic, dataSet)
    } catch let error as MagicDataError where error.code == .fork {
      // Another process may have written and sent more between the look at the database and that at the folder.
      return try await look(magic, dataSet)
    }
  }

  private func look(_ magic: MagicData, _ dataSet: DataSetID) async throws -> ReplicationStatus {
    let now = magic.store.surroundings.milliseconds()
    return try await magic.store.read { db in
      var members = try Members(db)
      let obstacle = obstacle(acks)
      if obstacle == nil { for file in try acknowledged(dataSet).inOrder { members.learn(file) } }
      let snapshot = try Snapshot(looking: db, self, dataSet)
      return try ReplicationStatus(snapshot, members, now, unusable: obstacle.map { [$0.message] } ?? [])
    }
  }
}
