internal import MagicData
internal import MagicJournal

/// A folder's listing for all cursors of a reading: it is made anew where a file is gone that one of them reads (F-20), once for all of them.
final class FolderLooks {
  private let first: FolderListing
  private(set) var listing: FolderListing

  init(_ listing: FolderListing) {
    first = listing
    self.listing = listing
  }

  /// A listing that was made after a file was gone. What counted before it is not opened again.
  func another(without file: FolderListing.File, _ error: MagicDataError) throws -> FolderListing {
    let known = listing.runs[file.name.replica]?.files(from: file.name.first).contains { $0.name == file.name }
    // Another cursor has met it, or one that went with it.
    guard known == true else { return listing }
    // Of the first one, so that each file is looked for as often as any.
    var next = first
    next.runs = listing.runs
    next.reject(file, error)
    while try next.lookAgain() {}
    listing = next
    return next
  }
}
