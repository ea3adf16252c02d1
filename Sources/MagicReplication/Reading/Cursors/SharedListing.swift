internal import MagicData
internal import MagicJournal

/// A folder's listing for all cursors of a reading: it is made anew where a file is gone that one of them reads (F-20), once
/// for all of them.
final class SharedListing {
  private(set) var listing: FolderListing

  init(_ listing: FolderListing) {
    self.listing = listing
  }

  /// A listing that was made after a file was gone. What counted before it is not opened again. If the folder cannot be listed
  /// by then, that of before without the file, which is a gap.
  func another(without file: FolderListing.File, _ error: MagicDataError) throws -> FolderListing {
    let known = listing.runs[file.name.replica]?.files(from: file.name.first).contains { $0.name == file.name }
    // Another cursor has met it, or one that went with it.
    guard known == true else { return listing }
    listing.reject(file, error)
    var next = listing
    // Each file is looked for as often as any.
    next.looks = 0
    do {
      while try next.lookAgain() {}
      // One that is away by now was not listed whole.
      if next.files.isEmpty { try next.remote.check() }
      listing = next
    } catch is MagicDataError {
      // What is still listed is read on, and the next reading says whether the folder is back.
    }
    return listing
  }
}
