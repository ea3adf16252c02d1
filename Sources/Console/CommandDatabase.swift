internal import Foundation
package import MagicData

/// The database that a command works on.
package struct CommandDatabase {
  private let location: DatabaseLocation

  package init(_ path: String) throws {
    guard !path.isEmpty else { throw MagicDataError(.notFound, "the database's path is empty") }
    location = DatabaseLocation(URL(fileURLWithPath: path))
  }

  package var path: String { location.file.path }

  /// Whether there is a file; whether it is a database shows when it is opened.
  package var exists: Bool { location.exists }

  /// Runs `body` on a database that is there, and closes it, so that everything is in its file.
  package func use<Result>(_ body: (MagicData) async throws -> Result) async throws -> Result {
    try await use(mustExist: true, body)
  }

  /// The same; one that is not there is made, empty. Tells whether it was.
  package func useOrInit() async throws -> Bool {
    try await use(mustExist: false) { $0.store.isNew }
  }

  /// The same; one that is not there is made of what `body` puts into it, whole or not at all.
  package func useOrBuild<Result>(_ body: (MagicData) async throws -> Result) async throws -> Result {
    exists ? try await use(body) : try await MagicData.build(at: location, body)
  }

  /// Builds one, and puts it in the place of one that is there.
  package func replace<Result>(_ body: (MagicData) async throws -> Result) async throws -> Result {
    try await MagicData.build(inPlaceOf: location, body)
  }

  private func use<Result>(mustExist: Bool, _ body: (MagicData) async throws -> Result) async throws -> Result {
    let magic = MagicData(store: try Store(.file(location, mustExist: mustExist)))
    do {
      let result = try await body(magic)
      try await magic.close()
      return result
    } catch {
      try? await magic.close()
      throw error
    }
  }
}
