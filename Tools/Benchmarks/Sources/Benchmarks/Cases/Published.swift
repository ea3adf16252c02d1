import Foundation
import MagicData

/// What other stores have published of themselves: SwiftyCoreData's cats, Empire's pairs.
extension Case {
  static func published(_ sizes: Sizes) -> [Case] {
    [
      readCats(sizes.objects), writeCats(), insertPairs(inOne: true), insertPairs(inOne: false),
    ] + Set([1_000, sizes.most]).sorted().map { selectPairs($0, 20, 1_000) } + [selectPairs(sizes.most, 50, 20)]
  }

  // MARK: Cats

  private static func readCats(_ size: Int) -> Case {
    Case(name: "cats: read all", size: size, count: size, target: .ratio(1.2)) { workspace in
      let fixture = try await workspace.fixture("cats-\(size)") { folder in
        try await workspace.fill(folder.file("ours"), size, Cat.init(number:))
        let raw = RawCats(folder.file("raw"))
        raw.insert(0..<size)
        raw.database.checkpoint()
      }
      let magic = try await MagicData(path: fixture.file("ours"))
      let raw = RawCats(fixture.file("raw"))
      return [
        Side("MagicData") { _ in { try await magic.object(of: Cat.self).count } },
        Side("raw, an instance a row") { _ in { raw.fetchAll().count } },
      ]
    }
  }

  private static func writeCats() -> Case {
    let count = 1_000
    return Case(name: "cats: write, one transaction", size: count, count: count, target: .ratio(1.8)) { _ in
      [
        Side("MagicData") { folder in
          let magic = try await MagicData(path: folder.file("ours"))
          // So that there is a table, which the other side has made by now.
          try await magic.update(Cat(number: count))
          let cats = (0..<count).map(Cat.init(number:))
          return {
            try await magic.update(contentsOf: cats)
            return count
          }
        },
        Side("raw SQLite") { folder in
          let raw = RawCats(folder.file("raw"))
          raw.insert(count..<count + 1)
          return {
            raw.insert(0..<count)
            return count
          }
        },
      ]
    }
  }

  // MARK: Pairs

  private static func insertPairs(inOne isOne: Bool) -> Case {
    let count = 1_000
    return Case(name: "pairs: insert, \(isOne ? "one transaction" : "one transaction each")", size: count, count: count) { _ in
      [
        Side("MagicData") { folder in
          let magic = try await MagicData(path: folder.file("ours"))
          let pairs = (0..<count).map(Pair.init(key:))
          return {
            if isOne {
              try await magic.update(contentsOf: pairs)
            } else {
              for pair in pairs { try await magic.update(pair) }
            }
            return count
          }
        },
        Side("raw SQLite") { folder in
          let raw = RawPairs(folder.file("raw"))
          return {
            if isOne {
              raw.database.transaction { for key in 0..<count { raw.insert(key) } }
            } else {
              for key in 0..<count { raw.database.transaction { raw.insert(key) } }
            }
            return count
          }
        },
      ]
    }
  }

  private static func selectPairs(_ size: Int, _ ranges: Int, _ length: Int) -> Case {
    let count = ranges * length
    let isLong = length == 1_000
    let name = "pairs: \(isLong ? "\(length.grouped) by key range" : "\(ranges) key ranges of \(length)")"
    let starts = spread(ranges, of: length, over: size)
    return Case(name: name, size: size, count: count, target: .ratio(isLong ? 1.3 : 27)) {
      workspace in
      let fixture = try await workspace.fixture("pairs-\(size)") { folder in
        try await workspace.fill(folder.file("ours"), size, Pair.init(key:))
        let raw = RawPairs(folder.file("raw"))
        raw.database.transaction { for key in 0..<size { raw.insert(key) } }
        raw.database.checkpoint()
      }
      let magic = try await MagicData(path: fixture.file("ours"))
      let raw = RawPairs(fixture.file("raw"))
      return [
        Side("MagicData") { _ in
          {
            var found = 0
            for start in starts {
              let keys = start..<start + length
              found += try await magic.query(of: Pair.self).where { keys.contains($0.key) }.sorted(by: \.key).all().count
            }
            return found
          }
        },
        Side("raw SQLite") { _ in
          { starts.reduce(0) { $0 + raw.fetch($1..<$1 + length).count } }
        },
      ]
    }
  }
}
