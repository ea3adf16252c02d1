import Foundation
import MagicData

/// Databases of many objects, made once a run.
extension Workspace {
  /// So many objects a transaction holds at most: its bytes are limited, whatever a journal's entries are.
  static let part = 100_000

  /// `ours`, a folder, and `raw`, a file, with the same specimens.
  func specimens(_ size: Int) async throws -> URL {
    try await fixture("specimens-\(size)") { folder in
      try await fill(folder.file("ours"), size) { Specimen(SpecimenRow($0)) }
      let raw = RawSpecimens(folder.file("raw"))
      raw.database.transaction { for number in 0..<size { raw.insert(SpecimenRow(number)) } }
      raw.database.checkpoint()
    }
  }

  func fill<Object: MagicObject>(_ path: URL, _ size: Int, _ make: (Int) -> Object) async throws {
    let magic = try await MagicData(path: path)
    for start in stride(from: 0, to: size, by: Workspace.part) {
      try await magic.update(contentsOf: (start..<min(start + Workspace.part, size)).map(make))
    }
    try await magic.close()
  }
}
