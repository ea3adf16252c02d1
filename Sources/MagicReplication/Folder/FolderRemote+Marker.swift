internal import Foundation
package import MagicData
internal import MagicJournal

/// A magicdata.json that is lost or damaged (F-8).
extension FolderRemote {
  /// Puts it back, where the files beside it say that they are of the database's own data set, and none that it is of another (H-41). Else nothing is changed,
  /// and the next exchange says what is the matter.
  package func putBackMarker(of magic: MagicData) async throws {
    let state = try await magic.store.readBriefly { db in try DatabaseState(db) }
    guard state.isSettled, isMarkerLost, try isOf(state.dataSet) else { return }
    let content = try FolderRemote.marker(of: state.dataSet)
    // One that has come meanwhile stays.
    if isThere { try DurableFile.write(content, to: marker) } else { _ = try DurableFile.create(content, at: marker) }
  }

  private var isMarkerLost: Bool {
    guard !isMarkerAwaited else { return false }
    do {
      try check()
      return false
    } catch {
      // It is not there, and what a remote holds is.
      let code = (error as? MagicDataError)?.code
      return code == .damaged || code == .busy
    }
  }

  /// Whether headers of segments and checkpoints name a data set, and none another. One that cannot be read says nothing.
  private func isOf(_ dataSet: DataSetID) throws -> Bool {
    let headers = try listing(of: segments).filter { SegmentFileName($0) != nil }.compactMap { name in
      try? SegmentHeader(DurableFile.head(of: segments.appendingPathComponent(name), SegmentHeader.length).bytes).dataSet
    }
    let floors = try isOwnFolder(checkpoints) ? listing(of: checkpoints).filter(CheckpointFile.isName) : []
    let named = headers + floors.compactMap { try? CheckpointFile.header(of: checkpoints.appendingPathComponent($0)).dataSet }
    return !named.isEmpty && named.allSatisfy { $0 == dataSet }
  }
}
