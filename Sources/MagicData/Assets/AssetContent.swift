package import Foundation
internal import MagicJournal

/// The content of an asset on its way between folders. It is never held as a whole, and believed only when its hash is known.
package enum AssetContent {
  /// The 64 digits that begin an asset's name.
  package static func digits(of name: String) -> String { String(name.prefix(64)) }

  /// Whether a file is the content of which these are the digits: what is the matter with it, or `nil`.
  package static func check(_ file: URL, _ digits: String, _ checkCancelled: () throws -> Void) throws -> MagicDataError? {
    var hash = SHA256()
    let fault = try ChunkReader.forEachPiece(of: file) { piece in
      try checkCancelled()
      hash.update(piece)
    }
    return fault ?? (hash.finish().hexadecimal == digits ? nil : isOther(file))
  }

  /// Copies a content under the name that it has in another folder, on the disk and whole or not at all.
  package static func copy(
    _ file: URL, _ digits: String, to target: URL, _ checkCancelled: () throws -> Void
  ) throws -> Copied<Int> {
    switch try copyAside(file, digits, beside: target, checkCancelled) {
    case .faulty(let fault): return .faulty(fault)
    case .whole(let copy):
      guard rename(copy.temporary.path, target.path) == 0 else {
        throw DurableFile.failure("could not be written", target, removing: copy.temporary)
      }
      try DurableFile.sync(target.deletingLastPathComponent())
      return .whole(copy.bytes)
    }
  }

  package enum Copied<Copy> {
    case whole(Copy)
    /// What is the matter with the file that was to be copied. Faults of the copy are thrown.
    case faulty(MagicDataError)
  }

  /// Copies a content under a temporary name in the folder where it belongs.
  static func copyAside(
    _ file: URL, _ digits: String, beside target: URL, _ checkCancelled: () throws -> Void
  ) throws -> Copied<(temporary: URL, bytes: Int)> {
    // Looked at first, so that nothing is made for what is not there.
    guard access(file.path, F_OK) == 0 else { return .faulty(DurableFile.failure("could not be opened", file)) }
    var hash = SHA256()
    let writer = try ChunkWriter(beside: target)
    let fault = try ChunkReader.forEachPiece(of: file) { piece in
      try checkCancelled()
      hash.update(piece)
      try writer.append(piece)
    }
    if let fault { return .faulty(fault) }
    guard hash.finish().hexadecimal == digits else { return .faulty(isOther(file)) }
    return .whole((try writer.finish(), writer.count))
  }

  private static func isOther(_ file: URL) -> MagicDataError {
    MagicDataError(.damaged, "\(file.path) does not hold what its name says")
  }
}
