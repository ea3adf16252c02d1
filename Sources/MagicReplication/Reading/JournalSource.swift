package import Foundation
package import MagicData
package import MagicJournal

/// Anything that a journal can be read from.
package enum JournalSource: Sendable {
  case database(MagicData)
  case segment(URL)
  case folder(FolderRemote)
  case bundle(URL)
  /// Lines of JSON (Protocol/export.md).
  case export(URL)
  /// What a server has.
  case fetched(FetchedJournal)

  /// Tells what is at a path by looking at it.
  package init(at path: String) throws {
    let url = URL(fileURLWithPath: path)
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      throw MagicDataError(
        .notFound, "there is nothing at \(path); name a database, a segment file, a bundle, an export or a folder remote")
    }
    guard !isFolder.boolValue else {
      let isRemote = FileManager.default.fileExists(atPath: url.appendingPathComponent("magicdata.json").path)
      self = isRemote ? .folder(FolderRemote(url)) : try .database(at: url)
      return
    }
    guard let head = try Store.ifNotOpen(url, { try DurableFile.head(of: url, ExportFormat.mark.count).bytes }) else {
      self = try .database(at: url)
      return
    }
    if BundleFile.isBundle(head) {
      self = .bundle(url)
    } else if head.starts(with: "MAGICSEG".utf8) {
      self = .segment(url)
    } else if head.starts(with: ExportFormat.mark) {
      self = .export(url)
    } else if head.starts(with: [0x1f, 0x8b]) {
      throw MagicDataError(
        .notADatabase,
        """
        \(url.path) is compressed with gzip; unpack it first. What is no database may come through a pipe, \
        as in gunzip -c FILE | magic-replay COMMAND -
        """)
    } else {
      // What is asked for is a journal, so it is not told how a database's file is called alone.
      guard DatabaseLocation(url).folder == nil else {
        throw MagicDataError(
          .notADatabase,
          """
          \(url.path) is no segment, bundle or export\(head.isEmpty ? " (it is empty)" : ""), and no database either, \
          whose file's name ends in .sqlite, .sqlite3 or .db
          """)
      }
      self = try .database(at: url)
    }
  }

  private static func database(at url: URL) throws -> JournalSource {
    let location = DatabaseLocation(url)
    try location.checkIsNoRest()
    // Who only reads a copy gives it no id of its own: that is said by who exchanges.
    return .database(MagicData(store: try Store(.file(location, mustExist: true), isForReading: true)))
  }

  /// As messages name it.
  package var path: String {
    switch self {
    case .database(let magic): magic.store.location?.file.path ?? "the database in memory"
    case .segment(let file), .bundle(let file), .export(let file): file.path
    case .folder(let remote): remote.folder.path
    case .fetched(let journal): journal.path
    }
  }

  /// Where all of it can be asked for by SQL.
  package var database: MagicData? {
    switch self {
    case .database(let magic): magic
    case .fetched(let journal): journal.magic
    case .segment, .folder, .bundle, .export: nil
    }
  }

  /// What a server could not send.
  var fetchReport: MagicReadReport { if case .fetched(let journal) = self { journal.report } else { MagicReadReport() } }

  /// What it takes where it is kept.
  package func storedBytes() throws -> Int {
    switch self {
    case .database(let magic): try magic.storedBytes()
    case .fetched(let journal): try journal.magic.storedBytes()
    case .segment(let file), .bundle(let file), .export(let file): try DurableFile.head(of: file, 0).length
    case .folder(let remote):
      try FolderListing(remote, dataSet: remote.dataSet()).bytes
    }
  }
}

extension JournalSource {
  /// All transactions, the oldest first, with the schema that their entries speak of.
  ///
  /// - Returns: what could not be read.
  @discardableResult
  package func forEachTransaction(
    _ body: @Sendable @escaping (Transaction, Schema) throws -> Void
  ) async throws -> MagicReadReport {
    try await OpenJournal.read([self]) { journal, checkCancelled in
      try journal.forEachTransaction(JournalWindow()) { transaction, schema in
        try checkCancelled()
        try body(transaction, schema.schema)
      }
    }.1
  }
}

extension DatabaseLocation {
  /// Throws if there is no database, and the folder where it would be holds what a remote holds, without the marker that would
  /// say so.
  ///
  /// - Throws: `MagicDataError` with `busy`.
  package func checkIsNoRest() throws {
    guard let folder, !exists else { return }
    let remote = FolderRemote(folder)
    guard !remote.isThere else { return }
    do {
      try remote.checkIsNoRest(of: nil)
    } catch let error as MagicDataError where error.code != .busy {
      // Anybody's folder may hold a file that is called as a remote's folder, or what may not be listed.
    }
  }
}

extension MagicData {
  fileprivate func storedBytes() throws -> Int { try store.readBlocking { try MagicStatistics.fileBytes($0) } }
}
