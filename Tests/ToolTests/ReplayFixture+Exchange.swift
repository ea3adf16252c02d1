import Foundation
import MagicData
import TestSupport
import Testing

/// Exchanges of several databases, each a run of `magic-sync`.
extension ReplayFixture {
  /// What an exchange says that has nothing to move.
  static let quiet = "pulled nothing: the database lacks nothing\npushed nothing: the remote lacks nothing\n"

  /// - Parameter remote: the name of a folder, or a server's address.
  func address(_ remote: String) -> String { remote.contains("://") ? remote : path(remote) }

  @discardableResult
  func sync(
    _ name: String, _ remote: String = "remote", sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Tool.Result {
    let result = try Tool.sync.run("sync", path(name), address(remote))
    #expect(result.status == 0, "\(name): \(result.errors)", sourceLocation: sourceLocation)
    return result
  }

  /// Each in its turn, twice: by then all have what any had, nobody has anything left to send, and all are equal.
  func settle(
    _ names: String..., through remote: String = "remote", sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for name in names { try sync(name, remote, sourceLocation: sourceLocation) }
    for name in names {
      let output = try sync(name, remote, sourceLocation: sourceLocation).output
      let isQuiet = output.hasSuffix("pushed nothing: the remote lacks nothing\n")
      #expect(isQuiet, "\(name): \(output)", sourceLocation: sourceLocation)
    }
    try expectEqual(names, sourceLocation: sourceLocation)
  }

  func expectEqual(_ names: [String], sourceLocation: SourceLocation = #_sourceLocation) throws {
    let digests = try names.map { try Tool.sync.run("digest", path($0)).output }
    #expect(Set(digests).count == 1, "\(names): \(digests)", sourceLocation: sourceLocation)
    for name in names {
      // Rows against journal, of which a digest tells nothing.
      let verified = try Tool.sync.run("verify", path(name))
      #expect(verified.status == 0, "\(name): \(verified.output)\(verified.errors)", sourceLocation: sourceLocation)
    }
  }

  func titles(_ name: String) async throws -> [String] {
    var titles: [String] = []
    try await work(name) { magic in titles = try await magic.object(of: Note.self).map(\.title).sorted() }
    return titles
  }
}
