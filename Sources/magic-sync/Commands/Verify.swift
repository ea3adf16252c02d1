import ArgumentParser
import MagicData
import MagicReplication

struct Verify: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks a database against its journal, its assets, and a remote's files.",
    discussion: """
      Reads everything and changes nothing: SQLite's file, each object's row against the fold of its entries, each asset's content against its name, each \
      segment's checksums. Without REMOTE, and without a remote that has a name, the database alone. Exit code 1: the database is damaged; 3: files are damaged or \
      missing, the rest is whole.

      Examples:
        magic-sync verify notes
        magic-sync verify notes /mnt/share/notes
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path)
    let check = try await database.use { magic in try await DatabaseCheck(magic) }
    let names = try await database.use { magic in try await magic.remotes() }
    var folder: FolderCheck?
    if remote.address != nil || !names.isEmpty {
      folder = try await remote.place(in: database).useFolder(.pull) { try FolderCheck($0) }
    }
    let content = Content(check, folder)
    let isPartial =
      !content.missingAssets.isEmpty || !content.damagedAssets.isEmpty || !content.damaged.isEmpty || !content.gaps.isEmpty
    return Outcome(
      text: content.text, content: content,
      status: !content.faults.isEmpty ? .failure : isPartial ? .partlyDone : .success)
  }

  /// What programs get.
  private struct Content: Encodable {
    let digest: String
    let objects, entries: Int
    /// Of the database.
    let faults: [String]
    let assets: Int
    let orphanAssets, missingAssets, damagedAssets: [String]
    let segments, transactions, bytes: Int?
    let damaged, gaps: [String]

    init(_ check: DatabaseCheck, _ folder: FolderCheck?) {
      (digest, objects, entries, faults) = (check.digest, check.objects, check.entries, check.faults)
      assets = check.assets.files
      (orphanAssets, missingAssets, damagedAssets) = (check.assets.orphans, check.assets.missing, check.assets.damaged)
      (segments, transactions, bytes) = (folder?.segments, folder?.transactions, folder?.bytes)
      (damaged, gaps) = (folder?.damaged ?? [], folder?.gaps ?? [])
    }

    var text: String {
      var lines = [
        "\(objects.counted("object")) of \(entries.counted("change")), digest \(digest)",
        assets == 1 ? "1 asset" : "\(assets.grouped) assets",
      ]
      if let segments, let transactions, let bytes {
        lines.append("\(segments.counted("segment")) with \(transactions.counted("transaction")), \(bytes.asBytes)")
      }
      lines += faults.map { "fault: \($0)" } + damagedAssets.map { "damaged asset: \($0)" }
      lines += missingAssets.map { "missing asset: \($0)" } + orphanAssets.map { "orphan asset: \($0), which no object names" }
      lines += damaged.map { "damaged: \($0)" } + gaps.map { "gap: \($0)" }
      let isWell = faults.isEmpty && damagedAssets.isEmpty && missingAssets.isEmpty && damaged.isEmpty && gaps.isEmpty
      return (lines + [isWell ? "all is well" : "not all is well"]).joined(separator: "\n")
    }
  }
}
