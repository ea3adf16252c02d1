internal import Foundation
package import MagicData
internal import MagicJournal

/// A magicdata.json that is lost or damaged (F-8).
extension FolderRemote {
  /// Puts it back, where the files beside it say that they are of the database's own data set, and none that it is of another
  /// (H-41).
  ///
  /// - Returns: whether it was. Where something else is the matter the next exchange says so.
  /// - Throws: `MagicDataError` with `damaged`, or `busy` where it is lost, if this database is not the one to put it back;
  ///   nothing is changed then.
  package func putBackMarker(of magic: MagicData) async throws -> Bool {
    let state = try await magic.store.readBriefly { db in try DatabaseState(db) }
    guard let trouble = markerTrouble(state.dataSet) else { return false }
    if let reason = try reasonToLeaveMarker(state) {
      throw MagicDataError(
        trouble, "\(marker.path) is \(trouble == .damaged ? "damaged" : "not there"), and was not put back: \(reason)")
    }
    let content = try FolderRemote.marker(of: state.dataSet)
    // One that has come meanwhile stays.
    guard isThere else { return try DurableFile.create(content, at: marker) }
    try DurableFile.write(content, to: marker)
    return true
  }

  /// `damaged`, or `busy` where it is not there, and what a remote holds is.
  private func markerTrouble(_ dataSet: DataSetID) -> MagicDataError.Code? {
    do {
      if isThere { try check() } else { try checkIsNoRest(of: dataSet) }
      return nil
    } catch {
      let code = (error as? MagicDataError)?.code
      return code == .damaged || code == .busy ? code : nil
    }
  }

  private func reasonToLeaveMarker(_ state: DatabaseState) throws -> String? {
    if isMarkerAwaited { return "a service is still bringing it; try again when it has come" }
    if try hasPlaceholders { return "a service is still bringing what stands beside it; try again when that has come" }
    guard state.isSettled else {
      return "the database has exchanged with nobody; put it back from a copy, or with a database that has exchanged here"
    }
    let (headers, acknowledgements, hasUnknown) = try namedDataSets()
    let named = headers + acknowledgements
    if let other = named.filter({ $0 != state.dataSet }).min() {
      return """
        the files beside it are of data set \(other), and the database is of another; put it back from a copy, or with a database that has exchanged here
        """
    }
    if named.isEmpty { return "no file there says of which data set it is; put it back from a copy" }
    // One file alone may have come from elsewhere.
    guard !hasUnknown || !acknowledgements.isEmpty else {
      return "a file beside it is of a format that this version does not know; put it back from a copy, or with a newer version"
    }
    return nil
  }

  private var hasPlaceholders: Bool {
    get throws {
      let names = try [segments, checkpoints, acks].filter(isOwnFolder).flatMap { try listing(of: $0) }
      return names.contains { Placeholder.file(of: $0) != nil }
    }
  }

  /// The data sets that headers of segments and checkpoints name, and those that acknowledgements do. What is damaged says
  /// nothing.
  private func namedDataSets() throws -> (headers: [DataSetID], acknowledgements: [DataSetID], hasUnknown: Bool) {
    var headers: [DataSetID] = []
    var hasUnknown = false
    func add(_ header: () throws -> DataSetID) throws {
      do {
        headers.append(try header())
      } catch let error as JournalError {
        if error.code != .damaged { hasUnknown = true }
      } catch let error as MagicDataError where error.code == .damaged {
      } catch let error as MagicDataError where error.code == .incompatible {
        hasUnknown = true
      }
    }
    for name in try listing(of: segments) where SegmentFileName(name) != nil {
      let file = segments.appendingPathComponent(name)
      try add { try SegmentHeader(DurableFile.head(of: file, SegmentHeader.length).bytes).dataSet }
    }
    for name in try isOwnFolder(checkpoints) ? listing(of: checkpoints) : [] where CheckpointFile.isName(name) {
      try add { try CheckpointFile.header(of: checkpoints.appendingPathComponent(name)).dataSet }
    }
    let acknowledgements = try (isOwnFolder(acks) ? listing(of: acks) : []).compactMap { name in
      AckFile.replica(ofName: name).flatMap { AckFile.dataSet(of: acks.appendingPathComponent(name), of: $0) }
    }
    return (headers, acknowledgements, hasUnknown)
  }
}
