import Foundation
import MagicData

/// What the journal itself costs: rows written by SQLite's own calls as MagicData writes them, with the journal's rows and
/// without. (MagicData has no switch for it, and gets none.)
extension Case {
  static func journals(_ sizes: Sizes) -> [Case] {
    [
      Case(name: "journal's rows beside inserts, raw", size: sizes.objects, count: sizes.objects) { workspace in
        let source = try await workspace.specimens(sizes.objects).file("ours").file("default.sqlite3")
        let rows = SpecimenRow.rows(0..<sizes.objects)
        return sides { folder in
          let raw = JournaledRows(folder.file("raw"), from: source, after: nil)
          let insertion = raw.database.prepare(
            "INSERT INTO Specimen (id, magic_last, label, weight, count) VALUES (?, ?, ?, ?, ?)")
          return (raw, rows.count, { insert(rows[$0], last: $0, insertion) })
        }
      },
      Case(name: "journal's rows beside updates, raw", size: sizes.objects, count: sizes.objects) { workspace in
        let replicas = try await workspace.replicas(sizes.objects)
        let rows = SpecimenRow.rows(0..<sizes.objects)
        return sides { folder in
          let file = folder.file("raw")
          try FileManager.default.copyItem(at: replicas.file("first").file("default.sqlite3"), to: file)
          let raw = JournaledRows(file, from: replicas.file("changed").file("default.sqlite3"), after: file)
          let update = raw.database.prepare("UPDATE Specimen SET magic_last = ?, count = ? WHERE z_index = ? AND id = ?")
          return (raw, rows.count, { change(rows[$0], at: $0 + 1, update) })
        }
      },
    ]
  }

  private typealias Rows = (raw: JournaledRows, count: Int, write: (Int) -> Void)

  private static func sides(_ prepare: @escaping (URL) throws -> Rows) -> [Side] {
    [("with the journal", true), ("without", false)].map { name, isJournaled in
      Side(name) { folder in
        let rows = try prepare(folder)
        return {
          rows.raw.database.transaction {
            for number in 0..<rows.count {
              rows.write(number)
              if isJournaled { rows.raw.journal(upTo: number + 1, of: rows.count) }
            }
          }
          return rows.count
        }
      }
    }
  }

  private static func insert(_ row: SpecimenRow, last: Int, _ statement: RawStatement) {
    statement.bind(1, row.id)
    statement.bind(2, last)
    statement.bind(3, row.label)
    statement.bind(4, row.weight)
    statement.bind(5, row.count)
    statement.run()
  }

  private static func change(_ row: SpecimenRow, at zIndex: Int, _ statement: RawStatement) {
    statement.bind(1, zIndex << 16)
    statement.bind(2, row.count + 1)
    statement.bind(3, zIndex)
    statement.bind(4, row.id)
    statement.run()
  }
}

/// A database with the tables of one of MagicData's, which takes over rows of its journal.
private final class JournaledRows {
  let database: RawDatabase
  private let copy: RawStatement
  private let rows: ClosedRange<Int>
  private var next: Int

  /// - Parameter before: a database that has the tables and the first rows already; without one they are made.
  init(_ file: URL, from source: URL, after before: URL?) {
    let database = RawDatabase(file)
    database.run("ATTACH '\(source.path)' AS source")
    if before == nil {
      let tables = database.prepare(
        "SELECT sql FROM source.sqlite_schema WHERE type = 'table' AND name IN ('Specimen', 'magic_journal')")
      var texts: [String] = []
      while tables.step() { texts.append(tables.text(0)) }
      for text in texts { database.run(text) }
    }
    func number(_ sql: String) -> Int {
      let select = database.prepare(sql)
      return select.step() ? select.int(0) : 0
    }
    next = number("SELECT coalesce(max(id), 0) + 1 FROM main.magic_journal")
    rows = next...number("SELECT max(id) FROM source.magic_journal")
    self.database = database
    copy = database.prepare("INSERT INTO main.magic_journal SELECT * FROM source.magic_journal WHERE id = ?")
  }

  /// Writes the part of the journal's rows that goes with the first of so many objects.
  func journal(upTo number: Int, of count: Int) {
    let end = rows.lowerBound + rows.count * number / count
    while next < end {
      copy.bind(1, next)
      copy.run()
      next += 1
    }
  }
}
