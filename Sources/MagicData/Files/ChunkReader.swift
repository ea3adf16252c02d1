package import Foundation

/// Reads files of any length with little memory.
package enum ChunkReader {
  /// In bytes: enough to keep a disk busy.
  package static let pieceLength = 1 << 20

  /// Hands a file to `body`, piece by piece. A link is not followed, and what is no file is not read.
  ///
  /// - Returns: what is the matter with the file, if it could not be read to its end.
  /// - Throws: what `body` throws.
  package static func forEachPiece(of file: URL, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> MagicDataError? {
    // A pipe in its place must not be waited for.
    let descriptor = open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      return errno == ELOOP ? isNoFile(file) : DurableFile.failure("could not be opened", file)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return DurableFile.failure("could not be read", file) }
    guard status.st_mode & S_IFMT == S_IFREG else { return isNoFile(file) }
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceLength, alignment: 16)
    defer { piece.deallocate() }
    while true {
      let count = read(descriptor, piece.baseAddress, piece.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { return DurableFile.failure("could not be read", file) }
      if count == 0 { return nil }
      try body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
    }
  }

  /// The length of a file; `nil` if there is none, or something else.
  package static func length(of file: URL) -> Int? {
    var status = stat()
    guard lstat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// Why it cannot be told whether there is a file.
  package static func hindrance(to file: URL) -> MagicDataError? {
    var status = stat()
    guard lstat(file.path, &status) != 0, errno != ENOENT, errno != ENOTDIR else { return nil }
    return DurableFile.failure("could not be looked at", file)
  }

  private static func isNoFile(_ file: URL) -> MagicDataError {
    MagicDataError(.damaged, "\(file.path) is a link, or no file at all, and was not read")
  }
}
