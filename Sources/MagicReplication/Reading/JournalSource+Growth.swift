internal import Foundation
package import MagicData
internal import MagicJournal

package enum JournalGrowth: Sendable {
  case grown
  /// A server could not be asked, or a folder not be looked at, which happens again after a pause.
  case retrying(MagicDataError, after: Duration)
}

extension JournalSource {
  /// Whether more may be written to it: files of segments, bundles and exports stay as they are.
  package var grows: Bool {
    switch self {
    case .database, .folder, .fetched: true
    case .segment, .bundle, .export: false
    }
  }

  /// An element after each change, until the task is cancelled. Several changes may be one.
  ///
  /// - Parameter told: by now; it is asked with each look.
  package func growth(after told: Locked<ReadProgress>) -> AsyncThrowingStream<JournalGrowth, any Error> {
    if case .fetched(let journal) = self { return journal.growth() }
    // Who comes back late has missed nothing: what is there is compared with what was.
    let known = Locked(Known())
    return AsyncThrowingStream {
      while !Task.isCancelled {
        // After what was told of last, or nothing.
        try await Task.sleep(for: known.withLock(\.pause))
        do {
          let mark = try await mark(told, known)
          let isNew = known.withLock { known in
            defer { known.mark = mark }
            known.backOff.reset()
            known.pause = JournalSource.pause
            return known.mark != mark
          }
          if isNew { return .grown }
        } catch let error as MagicDataError where isFolder && error.mayPass {
          // A share that is away comes back.
          let pause = known.withLock { known in
            known.pause = known.backOff.next()
            return known.pause
          }
          return .retrying(error, after: pause)
        }
      }
      return nil
    }
  }

  /// Whether it may be away for a while.
  package var isFolder: Bool { if case .folder = self { true } else { false } }

  /// Between two looks: short for people, long for a disk.
  private static let pause = Duration.milliseconds(200)

  private struct Known {
    var mark: Mark?
    var backOff = BackOff(from: .seconds(1))
    var pause = Duration.zero
    var acknowledgements: Acknowledgements?
  }

  private enum Mark: Equatable {
    case row(Int64)
    /// Files by their names, which never change once they count (F-2), and what those are like that do not yet, and
    /// acknowledgements.
    case files(Set<String>, [URL: OpenFile.State])
  }

  private func mark(_ told: Locked<ReadProgress>, _ known: Locked<Known>) async throws -> Mark {
    switch self {
    case .database(let magic):
      // Nothing comes any more to one that was replaced.
      try magic.store.checkIsInPlace()
      return .row(try await magic.store.readBriefly { try DatabaseState($0).lastRow })
    case .folder(let remote):
      let names = try Set(remote.listing(of: remote.segments) + remote.listing(of: remote.checkpoints))
      let acknowledgements = Acknowledgements(in: remote, after: known.withLock(\.acknowledgements))
      known.withLock { $0.acknowledgements = acknowledgements }
      // One that is away by now was not listed whole.
      try remote.check()
      var rested = acknowledgements.rested
      for file in told.withLock({ $0.awaited.union($0.awaitedCheckpoints) }) { rested[file] = JournalSource.rested(file) }
      return .files(names, rested)
    case .segment, .bundle, .export, .fetched: return .row(0)
    }
  }

  /// What the acknowledgements in a folder are like: they say what else was put there, and what ids are closed. Each is renamed
  /// into its place (F-4), which changes the folder that they are in, so that of many none is looked at until then, or until
  /// they were not for a while.
  private struct Acknowledgements {
    private let folder: OpenFile.State?
    /// Whether what is renamed into the folder later has another time, and nobody is writing a file in its place.
    private let isRested: Bool
    private(set) var rested: [URL: OpenFile.State] = [:]
    private let looked: ContinuousClock.Instant
    /// Not every file system tells of a change within a folder.
    private static let trust = Duration.seconds(10)

    init(in remote: FolderRemote, after last: Acknowledgements?) {
      folder = OpenFile.State(of: remote.acks)
      if let last, last.isRested, last.folder == folder, ContinuousClock.now - last.looked < Acknowledgements.trust {
        (isRested, rested, looked) = (true, last.rested, last.looked)
        return
      }
      looked = ContinuousClock.now
      let now = Date()
      var (files, isListed) = ([URL](), false)
      // If they cannot be listed, that is said by who reads them.
      if remote.isOwnFolder(remote.acks), let names = try? remote.listing(of: remote.acks) {
        isListed = true
        files = names.filter { AckFile.replica(ofName: $0) != nil }.map { remote.acks.appendingPathComponent($0) }
      }
      for file in files { rested[file] = JournalSource.rested(file) }
      isRested = isListed && rested.count == files.count && folder?.isOlder(than: now) == true
    }
  }

  /// A file that nobody is writing: with each look another part of it would be there, and the folder would be read for it.
  /// `nil` if somebody is, or it is gone.
  private static func rested(_ file: URL) -> OpenFile.State? {
    guard let state = OpenFile.State(of: file) else { return nil }
    let now = Date()
    // A share's clock may be far ahead, and its times say nothing then.
    return state.isOlder(than: now) || !state.isOlder(than: now + 10) ? state : nil
  }
}
