import Foundation

/// ``Picture`` in raw SQLite: a file is on the disk before the row that names it.
final class RawPictures {
  private let database: RawDatabase
  private let folder: URL
  private let insertion: RawStatement
  private let all: RawStatement

  init(_ folder: URL) {
    self.folder = folder
    database = RawDatabase(folder.file("raw"))
    database.run(
      "CREATE TABLE IF NOT EXISTS Picture (z_index INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, content TEXT)")
    insertion = database.prepare("INSERT INTO Picture (name, content) VALUES (?, ?)")
    all = database.prepare("SELECT z_index, name, content FROM Picture ORDER BY z_index")
  }

  func save(_ contents: [Data]) throws {
    try database.transaction {
      for (number, content) in contents.enumerated() {
        let file = folder.file("\(number).bin")
        let temporary = file.appendingPathExtension("tmp")
        try content.write(to: temporary)
        try PackedFile.sync(temporary)
        guard rename(temporary.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        insertion.bind(1, "picture \(number)")
        insertion.bind(2, file.lastPathComponent)
        insertion.run()
      }
      try PackedFile.sync(folder)
    }
  }

  func load() throws -> [Data] {
    var contents: [Data] = []
    while all.step() { contents.append(try Data(contentsOf: folder.file(all.text(2)))) }
    all.reset()
    return contents
  }
}
