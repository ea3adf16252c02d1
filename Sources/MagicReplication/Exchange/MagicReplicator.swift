internal import Foundation
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
    _ = try await agreed(try await remote.dataSet(orMake: state().dataSet))
    let pulled = try await pull()
    return (pulled, try await push())
  }

  func state() async throws -> DatabaseState {
    try await magic.store.read { db in try DatabaseState(db) }
  }

  /// The remote's data set, if the database has it or may take it (F-11). What takes it is the transaction that moves something.
  func agreed(_ dataSet: DataSetID) async throws -> DataSetID {
    let state = try await state()
    guard !state.isSettled || state.dataSet == dataSet else {
      throw MagicDataError(
        .incompatible,
        """
        the remote \(remote.folder.path) holds another data set (\(dataSet)) than the database (\(state.dataSet)). Nothing was \
        exchanged. Name another remote, or clone this one into a new database
        """)
    }
    return dataSet
  }
}
