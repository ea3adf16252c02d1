import Foundation
import MagicData
import MagicReplication

/// What became of one object, asked of a database: it should not matter how many others there are.
extension Case {
  static func histories(_ sizes: Sizes) -> [Case] {
    let (few, count) = (1_000, 1_000)
    return Set([sizes.objects, sizes.most]).sorted().map { size in
      Case(name: "history of one object", size: size, count: count, target: .ratio(1.5)) { workspace in
        var sides: [Side] = []
        for (name, size) in [("MagicData", size), ("MagicData, among 1,000", few)] {
          let replicas = try await workspace.replicas(size)
          sides.append(
            Side(name) { _ in
              // The same number of objects everywhere, each from another place.
              let objects = (0..<count).map { SpecimenRow($0 * (size / count)).id }
              let magic = try await MagicData(path: replicas.file("changed"))
              let history = MagicHistory(magic)
              return {
                var changes = 0
                for object in objects { changes += try await history.history(of: "Specimen", object).changes.count }
                try await magic.close()
                return changes
              }
            })
        }
        return sides
      }
    }
  }
}
