internal import MagicJournal

/// A replica's files, each of which continues the one before; names are compared where headers have them.
struct SegmentChain: Sendable {
  /// The end of the last one, or of what a checkpoint stands for.
  private(set) var end: NamedFrontier.End?
  /// Rising by their last sequences.
  private var files: [FolderListing.File] = []

  init() {}

  var last: UInt64 { end?.sequence ?? 0 }

  mutating func raise(to other: NamedFrontier.End) {
    if other.sequence >= last { end = other }
  }

  mutating func append(_ file: FolderListing.File) {
    files.append(file)
    end = NamedFrontier.End(sequence: file.name.last, name: file.header.lastName)
  }

  /// The one that holds what comes after a sequence.
  func next(after sequence: UInt64) -> FolderListing.File? {
    let index = files.boundary { $0.name.last > sequence }
    return index < files.count && files[index].name.first <= sequence + 1 ? files[index] : nil
  }
}
