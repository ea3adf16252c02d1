import Foundation
import MagicData
import TestSupport
import Testing

struct Book: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String
  @MagicValue var pages: Int
  @MagicValue var shelf: String

  init() {}

  static func createMigrations() -> [MagicMigration] {
    [
      .renamed("name", to: \Book.$title),
      .converted("pages", from: String.self, to: \Book.$pages) { Int($0) ?? 0 },
      .filled(\Book.$shelf, with: "unsorted"),
      .removed("colour"),
    ]
  }
}

struct PlainNote: MagicConvertible {
  var id: String
  var title: String

  init(_ note: Note) {
    (id, title) = (note.id, note.title)
  }

  func makeModel() -> Note {
    let note = Note(title: title)
    note.id = id
    return note
  }
}

@Suite struct Faces {
  @Test func valuesAreStoredAsObjects() async throws {
    let magic = try await MagicData(type: .memory)
    try await magic.update(Note(title: "Feed the cat"))

    let notes = magic.values(of: PlainNote.self)
    for var note in try await notes.fetchAll(where: { $0.stars < 3 }, sort: \.title, limit: 10) {
      note.title += "!"
      try await notes.save(note)
    }
    print(try await notes.count(), "notes")

    #expect(try await magic.object(of: Note.self).map(\.title) == ["Feed the cat!"])
  }

  @Test func codeThatIsNotAsynchronousBlocks() async throws {
    let magic = try await MagicData(type: .memory)
    func feedTheCat() throws {
      try magic.blocking.transaction { tx in
        for note in try tx.object(of: Note.self) { try tx.remove(note) }
        try tx.update(Note(title: "Feed the cat"))
      }
      print(try magic.blocking.all(magic.query(of: Note.self).where { $0.stars == 0 }).count)
    }
    try feedTheCat()
    try feedTheCat()
    #expect(try await magic.object(of: Note.self).count == 1)
  }

  @Test func anOlderModelsObjectsAreRead() async throws {
    enum Old {
      struct Book: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var name: String
        @MagicValue var pages: String
        @MagicValue var colour: String = "red"
        init() {}
      }
    }
    let folder = try TemporaryFolder()
    let old = Old.Book()
    (old.name, old.pages) = ("Emma", "474")
    try await MagicData(path: folder["books"]).update(old)
    let book = try await MagicData(path: folder["books"]).object(of: Book.self)[0]
    #expect((book.title, book.pages, book.shelf) == ("Emma", 474, "unsorted"))
  }
}
