internal import Foundation
internal import GRDB
public import MagicData
internal import MagicJournal

/// Exchanges the journal of a database with a remote.
///
/// ```swift
/// let replicator = MagicReplicator(magic, remote: FolderRemote(folder))
/// try await replicator.sync()
/// ```
public struct MagicReplicator: Sendable {
  let magic: MagicData
  let remote: FolderRemote

  public init(_ magic: MagicData, remote: FolderRemote) {
    self.magic = magic
    self.remote = remote
  }

  /// Pulls, then pushes. Two replicas that sync in turn until nothing moves are equal.
  @discardableResult
  public func sync() async throws -> (pull: PullReport, push: PushReport) {
    _ = try await agree(remote.dataSet(orMake: try await state().dataSet))
    let pulled = try await pull()
    return (pulled, try await push())
  }

  func state() async throws -> DatabaseState {
    try await magic.store.read { db in try DatabaseState(db) }
  }

  /// Both sides stand for one data set before anything flows (F-11).
  func agree(_ dataSet: DataSetID) async throws -> DatabaseState {
    let state = try await state()
    if state.isSettled || state.dataSet == dataSet {
      guard state.dataSet == dataSet else {
        throw MagicDataError(
          .incompatible,
          """
          the remote \(remote.folder.path) holds another data set (\(dataSet)) than the database (\(state.dataSet)). Nothing was \
          exchanged. Name another remote, or clone this one into a new database
          """)
      }
      if state.isSettled { return state }
    }
    return try await magic.store.write { db in
      // Another process may have settled it since.
      if try !DatabaseState(db).isSettled { try DatabaseState.settle(dataSet, db) }
      return try DatabaseState(db)
    }
  }
}
