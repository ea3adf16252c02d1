import Foundation

/// ``Pair`` in raw SQLite: the key is the row's own.
final class RawPairs {
  let database: RawDatabase
  private let insertion: RawStatement
  private let range: RawStatement

  init(_ file: URL) {
    database = RawDatabase(file)
    database.run("CREATE TABLE IF NOT EXISTS Pair (key INTEGER PRIMARY KEY, value TEXT)")
    insertion = database.prepare("INSERT INTO Pair (key, value) VALUES (?, ?)")
    range = database.prepare("SELECT key, value FROM Pair WHERE key >= ? AND key < ? ORDER BY key")
  }

  func insert(_ key: Int) {
    insertion.bind(1, key)
    insertion.bind(2, "value \(key)")
    insertion.run()
  }

  func fetch(_ keys: Range<Int>) -> [(key: Int, value: String)] {
    range.bind(1, keys.lowerBound)
    range.bind(2, keys.upperBound)
    var pairs: [(key: Int, value: String)] = []
    while range.step() { pairs.append((range.int(0), range.text(1))) }
    range.reset()
    return pairs
  }
}
