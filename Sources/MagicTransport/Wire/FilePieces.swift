internal import Foundation
internal import MagicData
internal import MagicReplication
internal import NIOCore

/// Reads a file in the pieces of the wire.
struct FilePieces: Sendable {
  private let file: URL

  init(_ file: URL) {
    self.file = file
  }

  /// - Throws: `MagicDataError` with `damaged` for a file that is shorter than was said; what `body` throws.
  func forEach(from offset: Int, through end: Int, _ body: (ByteBuffer) async throws -> Void) async throws {
    let handle: FileHandle
    do {
      handle = try FileHandle(forReadingFrom: file)
      try handle.seek(toOffset: UInt64(offset))
    } catch {
      throw MagicDataError(.notAllowed, "\(file.path) could not be read", cause: error)
    }
    defer { try? handle.close() }
    var left = end - offset
    while left > 0 {
      let piece: Data
      do {
        piece = try handle.read(upToCount: min(left, WireLimits.pieceBytes)) ?? Data()
      } catch {
        throw MagicDataError(.failed, "\(file.path) could not be read", cause: error)
      }
      guard !piece.isEmpty else { throw MagicDataError(.damaged, "\(file.path) became shorter while it was sent") }
      try await body(ByteBuffer(bytes: piece))
      left -= piece.count
    }
  }
}
