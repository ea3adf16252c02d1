import Foundation

/// The table that MagicData makes for ``Specimen``, in raw SQLite.
final class RawSpecimens {
  enum Key {
    /// As MagicData's tables have it: a z index, and the primary value with an index.
    case zIndex
    /// For the session extension, which names rows by their key: z indexes mean nothing in another database.
    case primary
  }

  let database: RawDatabase
  private let insertion: RawStatement
  private let upsertion: RawStatement
  private let change: RawStatement
  private let removal: RawStatement
  private let all: RawStatement
  private let one: RawStatement

  init(_ file: URL, key: Key = .zIndex) {
    database = RawDatabase(file)
    let id =
      switch key {
      case .zIndex: "z_index INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE"
      case .primary: "id TEXT PRIMARY KEY NOT NULL"
      }
    database.run("CREATE TABLE IF NOT EXISTS Specimen (\(id), label TEXT, weight REAL, count INTEGER)")
    insertion = database.prepare("INSERT INTO Specimen (id, label, weight, count) VALUES (?, ?, ?, ?)")
    upsertion = database.prepare(
      """
      INSERT INTO Specimen (id, label, weight, count) VALUES (?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET label = excluded.label, weight = excluded.weight, count = excluded.count
      """)
    change = database.prepare("UPDATE Specimen SET count = ? WHERE id = ?")
    removal = database.prepare("DELETE FROM Specimen WHERE id = ?")
    all = database.prepare("SELECT rowid, id, label, weight, count FROM Specimen ORDER BY rowid")
    one = database.prepare("SELECT rowid, id, label, weight, count FROM Specimen WHERE id = ?")
  }

  func insert(_ row: SpecimenRow) { run(insertion, row) }
  func upsert(_ row: SpecimenRow) { run(upsertion, row) }

  private func run(_ statement: RawStatement, _ row: SpecimenRow) {
    statement.bind(1, row.id)
    statement.bind(2, row.label)
    statement.bind(3, row.weight)
    statement.bind(4, row.count)
    statement.run()
  }

  func update(_ id: String, count: Int) {
    change.bind(1, count)
    change.bind(2, id)
    change.run()
  }

  func remove(_ id: String) {
    removal.bind(1, id)
    removal.run()
  }

  func fetchAll() -> [Found] {
    var rows: [Found] = []
    while all.step() { rows.append(Found(all)) }
    all.reset()
    return rows
  }

  /// One row after the other, with nothing else in memory; nil once, after the last one.
  func next() -> Found? {
    if all.step() { return Found(all) }
    all.reset()
    return nil
  }

  func find(_ id: String) -> Found? {
    one.bind(1, id)
    defer { one.reset() }
    return one.step() ? Found(one) : nil
  }

  struct Found {
    let zIndex: Int
    let id: String
    let label: String
    let weight: Double
    let count: Int

    init(_ statement: RawStatement) {
      zIndex = statement.int(0)
      id = statement.text(1)
      label = statement.text(2)
      weight = statement.double(3)
      count = statement.int(4)
    }
  }
}
