internal import Foundation
internal import MagicData
internal import MagicJournal

/// Whether a journal that is in no database here can be read to its end, folds, and comes with the contents of assets that its
/// objects name.
package struct SourceCheck: Sendable {
  package let statistics: MagicJournalStatistics
  /// The check of what is made of it.
  package let database: DatabaseCheck
  /// Contents that were looked at; `nil` for a source that has none: a segment, an export, a server.
  package private(set) var contents: Int?
  package private(set) var missingContents: [String] = []
  package private(set) var damagedContents: [String] = []
  /// What could not be read.
  package private(set) var report: MagicReadReport

  package var isComplete: Bool { report.isComplete && missingContents.isEmpty && damagedContents.isEmpty }

  package init(_ source: JournalSource) async throws {
    // Of a bundle the files, in a folder for the time.
    let bundle: ScratchFolder? = if case .bundle = source { try ScratchFolder("bundle") } else { nil }
    var (folder, unread): (FolderRemote?, [UnreadFile]) = (nil, [])
    if case .folder(let remote) = source { folder = remote }
    if case .bundle(let file) = source, let bundle {
      (folder, unread) = try await Store.atLength { checkCancelled in
        var unread: [UnreadFile] = []
        let place = bundle.url.appendingPathComponent("remote", isDirectory: true)
        let remote = try BundleFile.folder(of: file, at: place, hasContents: true, checkCancelled) {
          unread.append(UnreadFile(path: file.path, code: $0.code, message: $0.message))
        }
        return (remote, unread)
      }
    }
    statistics = try await source.statistics(LogSelection())
    let ((check, names), read) = try await source.withDatabase { magic in
      (try await DatabaseCheck(magic), try await magic.store.read { db in try StoredSchema(db).assetNames(db) })
    }
    (database, report) = (check, read.joined(toFirst: statistics.report))
    if let folder {
      let digits = Set(names.map(AssetContent.digits))
      let found = try await Store.atLength { checkCancelled in
        var (missing, damaged, unread): ([String], [String], [UnreadFile]) = ([], [], [])
        for digits in digits.sorted() {
          try checkCancelled()
          let file = folder.content(digits)
          var fault = ChunkReader.hindrance(to: file) ?? folder.checkWay(to: digits)
          if fault == nil {
            guard ChunkReader.length(of: file) != nil else {
              missing.append(digits)
              continue
            }
            fault = try AssetContent.check(file, digits, checkCancelled)
          }
          guard let fault else { continue }
          switch fault.code {
          case .damaged: damaged.append(digits)
          case .notFound: missing.append(digits)
          // It may be whole.
          default: unread.append(UnreadFile(path: file.path, code: fault.code, message: fault.message))
          }
        }
        return (missing, damaged, unread)
      }
      (contents, missingContents, damagedContents) = (digits.count, found.0, found.1)
      unread += found.2
    }
    var said = Set(report.unread.map(\.message))
    for file in unread where said.insert(file.message).inserted { report.unread.append(file) }
    withExtendedLifetime(bundle) {}
  }
}
