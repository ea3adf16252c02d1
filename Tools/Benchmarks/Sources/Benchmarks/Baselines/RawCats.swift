import Foundation

/// ``Cat`` in raw SQLite.
final class RawCats {
  let database: RawDatabase
  private let insertion: RawStatement
  private let all: RawStatement

  final class Instance {
    let zIndex: Int
    let name: String
    let weight: Double
    let age: Int

    init(_ statement: RawStatement) {
      zIndex = statement.int(0)
      name = statement.text(1)
      weight = statement.double(2)
      age = statement.int(3)
    }
  }

  init(_ file: URL) {
    database = RawDatabase(file)
    database.run(
      "CREATE TABLE IF NOT EXISTS Cat (z_index INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, weight REAL, age INTEGER)")
    insertion = database.prepare("INSERT INTO Cat (name, weight, age) VALUES (?, ?, ?)")
    all = database.prepare("SELECT z_index, name, weight, age FROM Cat ORDER BY z_index")
  }

  /// In one transaction.
  func insert(_ numbers: Range<Int>) {
    database.transaction {
      for number in numbers {
        insertion.bind(1, "cat \(number)")
        insertion.bind(2, Double(number % 80) / 8)
        insertion.bind(3, number % 20)
        insertion.run()
      }
    }
  }

  func fetchAll() -> [Instance] {
    var cats: [Instance] = []
    while all.step() { cats.append(Instance(all)) }
    all.reset()
    return cats
  }
}
