internal import Foundation
internal import MagicData
internal import MagicJournal

/// What tidying a folder did, or would do.
public struct FolderCompactionReport: Sendable, Equatable {
  /// Segments before and after, and their bytes.
  public internal(set) var segments = 0
  public internal(set) var newSegments = 0
  public internal(set) var bytes = 0
  public internal(set) var newBytes = 0
  /// Temporary files that writers left which were killed, and their bytes.
  public internal(set) var leftovers = 0
  public internal(set) var leftoverBytes = 0

  package init() {}
}

extension FolderRemote {
  /// Makes few segments of many small ones that follow each other, and deletes what killed writers left (Protocol/folder.md, F-17, F-20). All that the folder held it holds afterwards, and at each moment in between.
  ///
  /// - Parameter isDryRun: counts, and changes nothing.
  /// - Throws: `MagicDataError` with `notFound` (no remote), `fork`, `notAllowed`, `full`; `CancellationError`. What was done before stays.
  @discardableResult
  public func compact(isDryRun: Bool = false) async throws -> FolderCompactionReport {
    let dataSet = try dataSet()
    var report = FolderCompactionReport()
    var listing = try FolderListing(self, dataSet: dataSet)
    try listing.checkForks()
    let files = listing.files
    report.segments = files.count
    report.bytes = files.reduce(0) { $0 + SegmentHeader.length + $1.header.storedLength }
    var consolidation = Consolidation(dataSet: dataSet, writer: nil, extent: .all, isDryRun: isDryRun)
    try consolidation.run(on: &listing)
    report.newSegments = report.segments + consolidation.written - consolidation.deleted
    report.newBytes = report.bytes + consolidation.writtenBytes - consolidation.deletedBytes
    for leftover in try leftovers() {
      if !isDryRun, unlink(leftover.url.path) != 0, errno != ENOENT {
        throw DurableFile.failure("could not be deleted", leftover.url)
      }
      report.leftovers += 1
      report.leftoverBytes += leftover.bytes
    }
    return report
  }
}
