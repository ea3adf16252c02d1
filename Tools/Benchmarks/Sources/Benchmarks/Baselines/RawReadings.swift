import Foundation

/// ``Reading`` in raw SQLite.
final class RawReadings {
  let database: RawDatabase
  private let insertion: RawStatement
  private let range: RawStatement
  private let number: RawStatement
  private let parts: RawStatement

  init(_ file: URL) {
    database = RawDatabase(file)
    database.run(
      """
      CREATE TABLE IF NOT EXISTS Reading (z_index INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER, place TEXT, value REAL);
      CREATE INDEX IF NOT EXISTS ReadingTime ON Reading (time);
      """)
    insertion = database.prepare("INSERT INTO Reading (time, place, value) VALUES (?, ?, ?)")
    range = database.prepare(
      "SELECT z_index, time, place, value FROM Reading WHERE time >= ? AND time < ? ORDER BY time, z_index")
    number = database.prepare("SELECT count(*) FROM Reading WHERE time >= ? AND time < ?")
    parts = database.prepare("SELECT count(*) FROM Reading WHERE instr(lower(place), ?) > 0")
  }

  func insert(_ numbers: Range<Int>) {
    database.transaction {
      for number in numbers {
        insertion.bind(1, number)
        insertion.bind(2, "place \(number % 50)")
        insertion.bind(3, Double(number) / 8)
        insertion.run()
      }
    }
  }

  struct Found {
    let zIndex: Int
    let time: Int
    let place: String
    let value: Double
  }

  func fetch(_ times: Range<Int>) -> [Found] {
    range.bind(1, times.lowerBound)
    range.bind(2, times.upperBound)
    var rows: [Found] = []
    while range.step() {
      rows.append(Found(zIndex: range.int(0), time: range.int(1), place: range.text(2), value: range.double(3)))
    }
    range.reset()
    return rows
  }

  func count(_ times: Range<Int>) -> Int {
    number.bind(1, times.lowerBound)
    number.bind(2, times.upperBound)
    defer { number.reset() }
    return number.step() ? number.int(0) : 0
  }

  func count(withPart part: String) -> Int {
    parts.bind(1, part)
    defer { parts.reset() }
    return parts.step() ? parts.int(0) : 0
  }
}
