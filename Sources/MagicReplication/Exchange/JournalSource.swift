package import Foundation
package import MagicData
package import MagicJournal

/// Anything that a journal can be read from: a database, a segment file, a folder remote.
package enum JournalSource: Sendable {
  case database(MagicData)
  case segment(URL)
  case folder(FolderRemote)
  case bundle(URL)

  /// Tells what is at a path by looking at it.
  package init(at path: String) throws {
    let url = URL(fileURLWithPath: path)
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      throw MagicDataError(.notFound, "there is nothing at \(path); name a database, a segment file or a folder remote")
    }
    if isFolder.boolValue, FileManager.default.fileExists(atPath: url.appendingPathComponent("magicdata.json").path) {
      self = .folder(FolderRemote(url))
    } else if !isFolder.boolValue, BundleFile.isBundle(try DurableFile.head(of: url, 8).bytes) {
      self = .bundle(url)
    } else if !isFolder.boolValue, try DurableFile.head(of: url, 8).bytes.elementsEqual("MAGICSEG".utf8) {
      self = .segment(url)
    } else {
      self = .database(MagicData(store: try Store(.file(DatabaseLocation(url), mustExist: true))))
    }
  }

  /// All transactions, those of one replica in their order, with the schema that their entries speak of.
  package func forEachTransaction(_ body: @Sendable @escaping (Transaction, Schema) throws -> Void) async throws {
    switch self {
    case .database(let magic):
      try await magic.store.read { db in
        let journal = try JournalReader(db)
        let schema = journal.schema.schema
        try journal.forEachTransaction { try body($0, schema) }
      }
    case .segment(let url):
      let bytes = try DurableFile.read(url, atMost: SegmentHeader.length + Limits.segmentBytes)
      do {
        let segment = try Segment(bytes)
        for transaction in segment.transactions { try body(transaction, segment.schema) }
      } catch let error as JournalError {
        throw MagicDataError(error, url.path)
      }
    case .bundle(let file):
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "magic-bundle-\(UUID().uuidString.lowercased())")
      defer { try? FileManager.default.removeItem(at: folder) }
      let handle = try FileHandle(forReadingFrom: file)
      try BundleFile.unpack(file.path, { try handle.read(upToCount: $0) ?? Data() }, into: FolderRemote(folder))
      try await JournalSource.folder(FolderRemote(folder)).forEachTransaction(body)
    case .folder(let remote):
      var listing = try FolderListing(remote, dataSet: try remote.dataSet())
      var held = Frontier()
      repeat {
        while let checkpoint = listing.needed(by: held) {
          guard try listing.isWhole(checkpoint) else { continue }
          try checkpoint.read { part in for transaction in part.transactions { try body(transaction, part.schema) } }
          let floor = checkpoint.floor.frontier
          for replica in floor.replicas { held[replica] = max(held[replica], floor[replica]) }
        }
        for replica in listing.replicas {
          while let file = listing.next(after: held[replica], of: replica) {
            guard let segment = try listing.segmentOrReject(file) else { continue }
            for transaction in segment.transactions where transaction.sequence > held[replica] {
              try body(transaction, segment.schema)
            }
            held[replica] = file.name.last
          }
        }
      } while try listing.lookAgain()
      // What could be read was told.
      if let file = listing.unread(beyond: held).first { throw MagicDataError(file.code, file.message) }
    }
  }
}
