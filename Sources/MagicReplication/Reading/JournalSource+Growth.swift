internal import Foundation
package import MagicData
internal import MagicJournal

package enum JournalGrowth: Sendable {
  case grown
  /// A server could not be asked, and is asked again after a pause.
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
  package func growth() -> AsyncThrowingStream<JournalGrowth, any Error> {
    if case .fetched(let journal) = self { return journal.growth() }
    // Who comes back late has missed nothing: what is there is compared with what was.
    let known = Locked<Mark?>(nil)
    return AsyncThrowingStream {
      while !Task.isCancelled {
        let mark = try await mark()
        let isNew = known.withLock { known in
          defer { known = mark }
          return known != mark
        }
        if isNew { return .grown }
        try await Task.sleep(for: JournalSource.pause)
      }
      return nil
    }
  }

  /// Between two looks: short for people, long for a disk.
  private static let pause = Duration.milliseconds(200)

  private enum Mark: Equatable {
    case row(Int64)
    case names(Set<String>)
  }

  private func mark() async throws -> Mark {
    switch self {
    case .database(let magic): .row(try await magic.store.readBriefly { try DatabaseState($0).lastRow })
    case .folder(let remote): .names(try remote.fileNames())
    case .segment, .bundle, .export, .fetched: .row(0)
    }
  }
}
