import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

struct Note: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String
  @MagicValue var stars: Int = 0
  @OptionMagicValue var mood: String?

  init() {}

  init(title: String) {
    self.title = title
  }
}

struct Notebook: MagicObject {
  @PrimaryMagicValue var name: String
  @OptionMagicValue var cover: Note?
  @MagicValue var notes: MagicalSet<Note> = []

  init() {}
}

struct Page: MagicObject {
  @MagicValue var chapter: String
  @MagicValue var number: Int

  static var magicIndexes: [MagicIndex] { [MagicIndex(\Page.number), MagicIndex(\Page.chapter, \Page.number)] }

  init() {}
}

struct Article: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var text: MagicAsset<String>
  @OptionMagicValue var photo: MagicAsset<Data>?

  init() {
    text = .init()
  }
}

@Suite struct QuickStart {
  @Test func whatIsLargeIsKeptInFiles() async throws {
    let magic = try await MagicData(type: .temporary)
    let jpeg = Data([0xff, 0xd8])

    let article = Article()
    article.text = .init(value: String(repeating: "Once upon a time. ", count: 10_000))
    article.photo = .init(value: jpeg, pathExtension: "jpeg")
    try await magic.update(article)

    let fetched = try await magic.object(of: Article.self, primary: article.id)
    print(try fetched.text.load().count, "characters; photo in", fetched.photo?.path ?? "no file")

    #expect(fetched.photo?.value == jpeg)
    #expect(fetched.photo?.path?.hasSuffix(".jpeg") == true)
  }

  @Test func objectsAreStoredAndSynced() async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary["notes"]
    let shared = temporary["shared"].path

    let magic = try await MagicData(path: folder)

    let note = Note(title: "Buy milk")
    try await magic.update(note)

    note.stars = 5
    try await magic.update(note)

    let all = try await magic.object(of: Note.self)
    let same = try await magic.object(of: Note.self, primary: note.id)
    if try await magic.has(of: Note.self, primary: note.id) {
      try await magic.remove(same)
    }
    #expect(all.map(\.stars) == [5])
    #expect(try await magic.object(of: Note.self).isEmpty)

    try await magic.transaction { tx in
      try await tx.update(Note(title: "Pay rent"))
      for note in try await tx.object(of: Note.self) where note.stars == 0 {
        note.stars = 1
        try await tx.update(note)
      }
    }
    try await magic.update(contentsOf: (1...100).map { Note(title: "Note \($0)") })
    try await magic.remove(contentsOf: magic.query(of: Note.self).where { $0.title.hasPrefix("Note 9") }.all())

    let replicator = MagicReplicator(magic, remote: FolderRemote(path: shared))
    let (pulled, pushed) = try await replicator.sync()
    print(pulled.changes, "in,", pushed.changes, "out; digest", try await magic.digest())
    try await magic.close()

    #expect(pushed.changes == 115)
    #expect(FileManager.default.fileExists(atPath: shared))
  }

  @Test func objectsHoldObjects() async throws {
    let magic = try await MagicData(type: .memory)

    let home = Notebook()
    home.name = "Home"
    home.notes = [Note(title: "Buy milk"), Note(title: "Pay rent")]
    try await magic.update(home)

    let fetched = try await magic.object(of: Notebook.self, primary: "Home")
    fetched.notes.insert(Note(title: "Feed the cat"))
    try await magic.update(fetched)
    let withRent = try await magic.query(of: Notebook.self).where { $0.notes.contains { $0.title == "Pay rent" } }.all()

    #expect(withRent.map(\.notes.count) == [3])
    #expect(try await magic.count(of: Note.self) == 3)
  }

  @Test func objectsAreFound() async throws {
    let magic = try await MagicData(type: .memory)
    try await magic.update(contentsOf: (1...100).map { Note(title: "Note \($0)") })

    let best = try await magic.query(of: Note.self)
      .where { $0.stars > 0 && $0.title.hasPrefix("Note") || $0.mood == nil }
      .sorted(by: \.stars, .descending).then(by: \.title)
      .limit(20).offset(40)
      .all()
    let one = try await magic.object(of: Note.self).where { $0.title == "Pay rent" }.first()
    let count = try await magic.query(of: Note.self).where { (1...5).contains($0.stars) && $0.title.contains("1") }.count()
    let found = try await magic.query(of: Note.self)
      .where { $0.title.contains("rent", options: .caseInsensitive) }.sorted(by: \.title, options: .caseInsensitive).all()
    let mean = try await magic.query(of: Note.self).average(of: \.stars)
    for try await note in magic.query(of: Note.self).sorted(by: \.title).stream() where note.stars == 5 {
      print(note.title)
      break
    }
    try await magic.query(of: Note.self).where { [0, 1].contains($0.stars) }.remove()

    #expect(best.count == 20)
    #expect(one == nil)
    #expect(count == 0)
    #expect(found.isEmpty)
    #expect(mean == 0)
    #expect(try await magic.count(of: Note.self) == 0)
    try await magic.update(contentsOf: [Page]())
  }
}
