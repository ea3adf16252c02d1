internal import MagicData
internal import MagicJournal

/// Both sides at one moment, checked for forks (F-7).
struct Snapshot {
  let state: DatabaseState
  let journal: JournalReader
  let held: Frontier
  let listing: FolderListing

  /// - Parameter beyond: what the remote holds apart from its files here.
  init(_ db: Connection, _ remote: FolderRemote, _ dataSet: DataSetID, beyond: Frontier = Frontier()) throws {
    state = try DatabaseState(db)
    journal = try JournalReader(db)
    held = try journal.frontier()
    listing = try FolderListing(remote, dataSet: dataSet, beyond: beyond)
    try listing.checkForks(journal, held, own: state.replica)
  }
}
