internal import Foundation
internal import MagicData
package import MagicJournal

/// Sources that are open for a reading, each at one moment.
package final class OpenJournal {
  enum Part {
    case database(Snapshot)
    case segment([UInt8], SegmentHeader?, path: String)
    case folder(FolderListing, DataSetID, [CheckpointFile])
    /// The clock as in `ExportReader`.
    case export(URL, DataSetID, clock: Int64)
  }

  /// A database at one moment.
  struct Snapshot {
    let reader: JournalReader
    let schema: SourceSchema
    let state: DatabaseState
    let frontier: Frontier
    let floor: NamedFrontier
    let path: String
    let isFetched: Bool
  }

  let parts: [Part]
  let troubles = ReadProblems()
  /// Whether a checkpoint has come of which nothing is told.
  var isKeptUntold = false

  init(_ parts: [Part]) {
    self.parts = parts
  }

  /// The data set of all sources; `nil` if no one says.
  package func dataSet() throws -> DataSetID? {
    let sets = Set(
      parts.compactMap { part -> DataSetID? in
        switch part {
        // One that never met another may join any.
        case .database(let database): parts.count > 1 && !database.state.isSettled ? nil : database.state.dataSet
        case .segment(_, let header, _): header?.dataSet
        case .folder(_, let dataSet, _), .export(_, let dataSet, _): dataSet
        }
      })
    guard sets.count <= 1 else {
      throw MagicDataError(.incompatible, "the sources are of several data sets, of which nothing can be said together")
    }
    return sets.first
  }

  /// Above it no stamp of a database among them is, nor of an export of one: what was folded stays folded (L-22). A
  /// server's was folded for a look alone.
  var clock: Int64 {
    let clocks = parts.map { part -> Int64 in
      switch part {
      case .database(let database): database.isFetched ? 0 : database.state.lastStamp.milliseconds
      case .export(_, _, let clock): clock
      case .segment, .folder: 0
      }
    }
    return clocks.max() ?? 0
  }

  /// The last transaction of each replica.
  var end: Frontier {
    var end = Frontier()
    for part in parts {
      switch part {
      case .database(let database):
        end.raise(to: database.frontier)
      case .folder(let listing, _, _):
        for replica in listing.replicas {
          end[replica] = max(end[replica], listing.last(of: replica) ?? 0)
        }
      case .segment, .export: break
      }
    }
    return end
  }

  /// - Throws: `MagicDataError` with `fork` if what was read is of two branches under one id, one of which was left out:
  ///   nothing is to be made of that.
  func checkIsOne(_ window: JournalWindow) throws {
    let fork = troubles.forks.first { ($0.cause as? Fork).map { window.has($0.replica) } ?? true }
    if let fork { throw fork }
  }

  /// Folders of which nobody can say what branches they hold.
  var unheard: [(listing: FolderListing, error: MagicDataError)] {
    parts.compactMap { part in
      if case .folder(let listing, _, _) = part { listing.unheard.map { (listing, $0) } } else { nil }
    }
  }

  var hasUnheardClosings: Bool { !unheard.isEmpty }

  // MARK: What was given up

  /// Those of folders that are needed.
  var checkpoints: [CheckpointFile] {
    parts.flatMap { part -> [CheckpointFile] in
      if case .folder(_, _, let checkpoints) = part { checkpoints } else { [] }
    }
  }

  /// Those of folders that count.
  var countedCheckpoints: [CheckpointFile] {
    parts.flatMap { part -> [CheckpointFile] in
      if case .folder(let listing, _, _) = part { listing.checkpoints } else { [] }
    }
  }

  /// The floor of all sources together: what lies at and below it is no history any more, but for what is kept (K-1).
  var floor: NamedFrontier {
    var floor = NamedFrontier()
    for part in parts {
      switch part {
      case .database(let database): floor.raise(to: database.floor)
      case .folder(_, _, let checkpoints): for checkpoint in checkpoints { floor.raise(to: checkpoint.floor) }
      case .segment, .export: break
      }
    }
    return floor
  }

  /// The floor of databases alone.
  var heldFloor: NamedFrontier {
    var floor = NamedFrontier()
    for part in parts { if case .database(let database) = part { floor.raise(to: database.floor) } }
    return floor
  }

  /// The last transactions of databases alone.
  var heldEnd: Frontier {
    var end = Frontier()
    for part in parts { if case .database(let database) = part { end.raise(to: database.frontier) } }
    return end
  }

  /// Whether each reading says anew all that is still the matter. A database's damaged rows that were passed over are not read
  /// again.
  var saysAllAgain: Bool {
    parts.allSatisfy { part in
      switch part {
      case .folder: true
      case .database(let database): database.isFetched
      case .segment, .export: false
      }
    }
  }

  /// Up to when history was given up: of that time only what was still in force later is known. `nil` if none was.
  var givenUp: Stamp? { floor.highest }

  var report: MagicReadReport {
    var report = troubles.report
    // Where what is kept was not told, what was given up is missing.
    if !isKeptUntold { report.historyBegins = givenUp?.date }
    return report
  }

  /// What was at a moment is asked for.
  func checkIsKnown(_ moment: Stamp) throws {
    guard let givenUp, moment < givenUp else { return }
    throw MagicDataError(
      .notFound,
      "history up to \(givenUp.inLog) was given up by compact, and what was before is not known any more; name a later moment")
  }
}
