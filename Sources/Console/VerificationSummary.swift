package import MagicData
package import MagicReplication

/// What a database and a folder were found to be, for people and programs.
package struct VerificationSummary: Encodable, Sendable {
  let digest: String
  let objects, entries: Int
  /// The faults of the database.
  let faults: [String]
  let assets: Int
  let orphanAssets, missingAssets, damagedAssets: [String]
  let segments, checkpoints, transactions, bytes: Int?
  let damaged, gaps: [String]
  /// Why the remote was not looked at.
  let error: ErrorRecord?

  package init(_ check: DatabaseCheck, _ folder: FolderCheck? = nil, failure: MagicDataError? = nil) {
    error = failure.map(ErrorRecord.init)
    (digest, objects, entries, faults) = (check.digest, check.objects, check.entries, check.faults)
    assets = check.assets.files
    (orphanAssets, missingAssets, damagedAssets) = (check.orphanAssets, check.missingAssets, check.damagedAssets)
    (segments, checkpoints) = (folder?.segments, folder?.checkpoints)
    (transactions, bytes) = (folder?.transactions, folder?.bytes)
    (damaged, gaps) = (folder?.damaged ?? [], folder?.gaps ?? [])
  }

  package var hasFaults: Bool { !faults.isEmpty }
  /// Whether files are damaged or missing.
  package var isPartial: Bool { !missingAssets.isEmpty || !damagedAssets.isEmpty || !damaged.isEmpty || !gaps.isEmpty }

  package var text: String {
    var lines = [
      "\(objects.counted("object")) of \(entries.counted("change")), digest \(digest)",
      assets == 1 ? "1 asset" : "\(assets.grouped) assets",
    ]
    if let segments, let checkpoints, let transactions, let bytes {
      let files = segments.countedSegments(and: checkpoints)
      lines.append("\(files) with \(transactions.counted("transaction")), \(bytes.asBytes)")
    }
    lines += faults.map { "fault: \($0.printable)" } + damagedAssets.map { "damaged asset: \($0.printable)" }
    if hasFaults {
      lines.append("magic-replay verify DB --repair journal, or --repair tables, settles what the two disagree on")
    }
    lines += missingAssets.map { "missing asset: \($0.printable)" }
    lines += orphanAssets.map { "orphan asset: \($0.printable), which no object names" }
    lines += damaged.map { "damaged: \($0.printable)" } + gaps.map { "gap: \($0.printable)" }
    let isWell = faults.isEmpty && damagedAssets.isEmpty && missingAssets.isEmpty && damaged.isEmpty && gaps.isEmpty
    if error != nil { lines.append("the remote was not looked at") }
    let verdict = !isWell ? "not all is well" : error == nil ? "all is well" : "the database is well"
    return (lines + [verdict]).joined(separator: "\n")
  }
}
