import Foundation
import MagicData

/// Ranges over an index.
extension Case {
  static func queries(_ sizes: Sizes) -> [Case] {
    [range(1_000, of: sizes.most), counted(1_000, of: sizes.most), searched(sizes.most)]
  }

  /// Several in a round, spread over the table: a single one takes less than it takes a thread to wake up, more or less.
  private static func range(_ length: Int, of size: Int) -> Case {
    let starts = spread(20, of: length, over: size)
    return Case(
      name: "\(length.grouped) by a range over an index", size: size, count: starts.count * length, target: .ratio(1.2)
    ) { workspace in
      let (magic, raw) = try await readings(size, workspace)
      return [
        Side("MagicData") { _ in
          {
            var found = 0
            for start in starts {
              let times = start..<start + length
              found += try await magic.query(of: Reading.self).where { times.contains($0.time) }.sorted(by: \.time).all().count
            }
            return found
          }
        },
        Side("raw SQLite") { _ in { starts.reduce(0) { $0 + raw.fetch($1..<$1 + length).count } } },
      ]
    }
  }

  /// Where ranges of a length begin.
  static func spread(_ count: Int, of length: Int, over size: Int) -> [Int] {
    (0..<count).map { $0 * ((size - length) / count) }
  }

  private static func counted(_ length: Int, of size: Int) -> Case {
    Case(name: "count \(length.grouped) by a range over an index", size: size, count: 50) { workspace in
      let (magic, raw) = try await readings(size, workspace)
      let starts = spread(50, of: length, over: size)
      return [
        Side("MagicData") { _ in
          {
            var found = 0
            for start in starts {
              let times = start..<start + length
              found += try await magic.query(of: Reading.self).where { times.contains($0.time) }.count()
            }
            return found
          }
        },
        Side("raw SQLite") { _ in { starts.reduce(0) { $0 + raw.count($1..<$1 + length) } } },
      ]
    }
  }

  /// As a field in which somebody types asks for: each text is looked at.
  private static func searched(_ size: Int) -> Case {
    Case(name: "count texts with a part, in any case", size: size, count: size) { workspace in
      let (magic, raw) = try await readings(size, workspace)
      return [
        Side("MagicData") { _ in
          { try await magic.query(of: Reading.self).where { $0.place.contains("CE 4", options: .caseInsensitive) }.count() }
        },
        Side("raw SQLite, lower()") { _ in { raw.count(withPart: "ce 4") } },
      ]
    }
  }

  private static func readings(_ size: Int, _ workspace: Workspace) async throws -> (MagicData, RawReadings) {
    let fixture = try await workspace.fixture("readings-\(size)") { folder in
      try await workspace.fill(folder.file("ours"), size, Reading.init(number:))
      let raw = RawReadings(folder.file("raw"))
      raw.insert(0..<size)
      raw.database.checkpoint()
    }
    return (try await MagicData(path: fixture.file("ours")), RawReadings(fixture.file("raw")))
  }
}
