import Foundation

/// ``Owner`` and ``Member`` in raw SQLite, with a table of links that both ends have an index on.
final class RawOwners {
  let database: RawDatabase
  private let insertOwner: RawStatement
  private let insertMember: RawStatement
  private let insertLink: RawStatement
  private let all: RawStatement
  private let reverse: RawStatement
  private let first: RawStatement

  struct Found {
    let zIndex: Int
    let name: String
    var members: [(zIndex: Int, text: String)]
  }

  init(_ file: URL) {
    database = RawDatabase(file)
    database.run(
      """
      CREATE TABLE IF NOT EXISTS Owner (z_index INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
      CREATE TABLE IF NOT EXISTS Member (z_index INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT);
      CREATE TABLE IF NOT EXISTS Link (owner INTEGER, target INTEGER, PRIMARY KEY (owner, target)) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS LinkTarget ON Link (target, owner);
      """)
    insertOwner = database.prepare("INSERT INTO Owner (name) VALUES (?)")
    insertMember = database.prepare("INSERT INTO Member (text) VALUES (?)")
    insertLink = database.prepare("INSERT INTO Link (owner, target) VALUES (?, ?)")
    let columns = "SELECT o.z_index, o.name, m.z_index, m.text"
    all = database.prepare(
      """
      \(columns) FROM Owner o JOIN Link l ON l.owner = o.z_index JOIN Member m ON m.z_index = l.target
      ORDER BY o.z_index, l.target
      """)
    reverse = database.prepare(
      """
      \(columns) FROM Link r JOIN Owner o ON o.z_index = r.owner JOIN Link l ON l.owner = o.z_index
        JOIN Member m ON m.z_index = l.target
      WHERE r.target = ? ORDER BY o.z_index, l.target
      """)
    first = database.prepare("SELECT z_index FROM Member ORDER BY z_index LIMIT ?")
  }

  /// In one transaction.
  func insert(_ numbers: Range<Int>) {
    database.transaction {
      for number in numbers {
        insertOwner.bind(1, Owner.name(number))
        insertOwner.run()
        let owner = Int(database.lastRow)
        for index in 0..<10 {
          insertMember.bind(1, Owner.member(index, of: number))
          insertMember.run()
          insertLink.bind(1, owner)
          insertLink.bind(2, Int(database.lastRow))
          insertLink.run()
        }
      }
    }
  }

  func fetchAll() -> [Found] { fetch(all) }

  func owners(of member: Int) -> [Found] {
    reverse.bind(1, member)
    return fetch(reverse)
  }

  func members(_ count: Int) -> [Int] {
    first.bind(1, count)
    defer { first.reset() }
    var rows: [Int] = []
    while first.step() { rows.append(first.int(0)) }
    return rows
  }

  private func fetch(_ statement: RawStatement) -> [Found] {
    var owners: [Found] = []
    while statement.step() {
      let zIndex = statement.int(0)
      if owners.last?.zIndex != zIndex { owners.append(Found(zIndex: zIndex, name: statement.text(1), members: [])) }
      owners[owners.count - 1].members.append((statement.int(2), statement.text(3)))
    }
    statement.reset()
    return owners
  }
}
