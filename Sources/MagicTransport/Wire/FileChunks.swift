internal import Foundation
internal import MagicData
internal import NIOCore

/// Reads a file in the pieces of the wire.
struct FileChunks: Sendable {
  private let file: OpenFile

  init(_ file: OpenFile) {
    self.file = file
  }

  /// - Throws: `MagicDataError` with `notAllowed` or `notFound`.
  init(_ url: URL) throws {
    self.init(try OpenFile(url))
  }

  /// - Throws: `MagicDataError` with `damaged` for a file that is shorter than was said; what `body` throws.
  func forEach(from start: Int, through end: Int, _ body: (ByteBuffer) async throws -> Void) async throws {
    var offset = start
    while offset < end {
      let count = min(end - offset, WireLimits.pieceBytes)
      var piece = ByteBufferAllocator().buffer(capacity: count)
      try piece.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
        try file.read(UnsafeMutableRawBufferPointer(rebasing: room[..<count]), at: offset)
        return count
      }
      try await body(piece)
      offset += count
    }
  }
}
