import Foundation
import MagicData
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// What the comments of the public declarations show.
@Suite(.timeLimit(.minutes(15))) struct Comments {
  enum Model {
    struct Note: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var title: String
      @OptionMagicValue var mood: String?

      init() {}
    }
  }

  enum Indexed {
    struct Note: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var title: String
      @OptionMagicValue var mood: String?
      static var magicIndexes: [MagicIndex] { [MagicIndex(\Note.title), MagicIndex(\Note.mood, \Note.title)] }
      init() {}
    }

    struct Book: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var title: String
      @MagicValue var author: String
      @MagicValue var year: Int
      static var magicIndexes: [MagicIndex] { [MagicIndex(\Book.title), MagicIndex(\Book.author, \Book.year)] }
      init() {}
    }
  }

  enum Migrated {
    struct Note: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var heading: String
      @MagicValue var stars: Double
      @MagicValue var colour: String

      init() {}

      static func createMigrations() -> [MagicMigration] {
        [
          .renamed("title", to: \Note.$heading),
          .converted("stars", from: Int.self, to: \Note.$stars) { Double($0) },
          .filled(\Note.$colour, with: "white"),
          .removed("mood"),
        ]
      }
    }
  }

  struct CatModel: MagicObject {
    @PrimaryMagicValue var name: String
    @MagicValue var weight: Double
    init() {}
  }

  struct Cat: MagicConvertible {
    let name: String
    let weight: Double

    init(_ model: CatModel) {
      name = model.name
      weight = model.weight
    }

    func makeModel() -> CatModel {
      let model = CatModel()
      model.name = name
      model.weight = weight
      return model
    }
  }

  enum Held {
    struct Photo: MagicObject {
      @MagicValue var name: String
      @ReverseMagicValue(\Album.$photos) var albums: AsyncReverseMagicSet<Album>
      init() {}
    }

    struct Album: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var photos: MagicalSet<Photo> = []
      @OptionMagicValue var photo: MagicAsset<Data>?
      init() {}
    }

    struct Leaf: MagicObject {
      @MagicValue var text: String
      init() {}
    }

    struct Volume: MagicObject {
      typealias Page = Leaf
      @PrimaryMagicValue var id: String
      @MagicValue var pages: AsyncMagical<[Page]>
      init() {}
    }
  }

  private func magic(_ folder: TemporaryFolder, _ name: String) async throws -> MagicData {
    try await MagicData(path: folder[name])
  }

  @Test func modelsAreStored() async throws {
    let magic = try await MagicData(type: .memory)
    let (note, book) = (Indexed.Note(), Indexed.Book())
    note.title = "Feed the cat"
    (book.title, book.author, book.year) = ("Emma", "Jane Austen", 1815)
    try await magic.update(note)
    try await magic.update(book)
    #expect(try await magic.query(of: Indexed.Book.self).where { $0.author == "Jane Austen" }.count() == 1)
    let plain = Model.Note()
    plain.title = "Feed the cat"
    let other = try await MagicData(type: .memory)
    try await other.update(plain)
    #expect(try await other.object(of: Model.Note.self)[0].mood == nil)
    let migrated = Migrated.Note()
    (migrated.heading, migrated.stars, migrated.colour) = ("Feed the cat", 2, "red")
    let third = try await MagicData(type: .memory)
    try await third.update(migrated)
    #expect(try await third.object(of: Migrated.Note.self)[0].stars == 2)
  }

  @Test func valuesAreConverted() async throws {
    let magic = try await MagicData(type: .memory)
    let model = CatModel()
    (model.name, model.weight) = ("Tom", 4.5)
    try await magic.update(model)
    #expect(try await magic.values(of: Cat.self).fetchFirst()?.weight == 4.5)
  }

  @Test func relationsAreAsked() async throws {
    let magic = try await MagicData(type: .memory)
    let (album, photo, book, page) = (Held.Album(), Held.Photo(), Held.Volume(), Held.Leaf())
    photo.name = "sea"
    album.photos = [photo]
    album.photo = MagicAsset(value: Data([1]))
    page.text = "Once"
    book.pages = AsyncMagical(value: [page])
    try await magic.update(album)
    try await magic.update(book)
    #expect(photo.albums.count == 1)
    func read(_ book: Held.Volume) async throws {
      for try await page in try book.pages.createAsyncStream() { print(page.text) }
    }
    try await read(try await magic.object(of: Held.Volume.self, primary: book.id))
  }

  @Test func queriesAreAsked() async throws {
    let magic = try await MagicData(type: .memory)
    let book = Book()
    (book.title, book.pages, book.shelf) = ("Sand", 400, "a")
    try await magic.update(book)
    func find() async throws -> [Book] {
      let books = try await magic.query(of: Book.self)
        .where { $0.pages > 300 && $0.title.hasPrefix("S") }
        .sorted(by: \.title)
        .limit(20)
        .all()
      return books
    }
    #expect(try await find().map(\.title) == ["Sand"])
  }

  /// Each sequence gives what there is, and ends with the database.
  @Test func changesAreSeen() async throws {
    let folder = try TemporaryFolder()
    let magic = try await magic(folder, "db")
    let (shown, continuation) = AsyncStream.makeStream(of: Int.self)
    @Sendable func show(_ notes: [Note]) { continuation.yield(notes.count) }
    @Sendable func print(_ time: Any, _ types: [String]) { continuation.yield(types.count) }
    let all = Task {
      for try await notes in magic.observe(of: Note.self) {
        show(notes)
      }
    }
    let some = Task {
      for try await best in magic.query(of: Note.self).where({ $0.stars > 3 }).sorted(by: \.title).limit(10).observe() {
        show(best)
      }
    }
    let changes = Task {
      for try await changes in try await magic.changes() {
        print(changes.time, changes.objects.map(\.type))
      }
    }
    var counts = shown.makeAsyncIterator()
    for _ in 0..<2 { #expect(await counts.next() == 0) }
    // Whoever comes first sees this.
    let note = Note(title: "Feed the cat")
    note.stars = 5
    try await magic.update(note)
    #expect(await counts.next() == 1)
    try await magic.close()
    _ = await (all.result, some.result, changes.result)
  }

  @Test func aThreadOpensAndCloses() async throws {
    let folder = try TemporaryFolder()
    func store(_ note: Note, _ url: URL) throws {
      let magic = try MagicData.Blocking.open(path: url)
      try magic.blocking.update(note)
      try magic.blocking.close()
    }
    try store(Note(title: "Feed the cat"), folder["db"])
    #expect(try await MagicData(path: folder["db"]).count(of: Note.self) == 1)
  }

  @Test func aFolderIsSynced() async throws {
    let temporary = try TemporaryFolder()
    let magic = try await magic(temporary, "db")
    try await magic.update(Note(title: "Feed the cat"))
    try FileManager.default.createDirectory(at: temporary["shared"], withIntermediateDirectories: false)
    func sync(_ folder: URL) async throws {
      let replicator = MagicReplicator(magic, remote: FolderRemote(folder))
      try await replicator.sync()
    }
    try await sync(temporary["shared"])
    func read() async throws {
      let history = MagicHistory(magic)
      for change in try await history.history(of: "Note", "groceries").changes { print(change.author.time) }
    }
    await #expect(throws: MagicDataError.self) { try await read() }
  }

  /// Of which the addresses are only examples: compiled, and not run.
  private func serve(_ magic: MagicData) async throws {
    let server = MagicServer(magic, at: ["tcp://127.0.0.1:7420"])
    try await server.run()
  }

  private func sync(_ magic: MagicData) async throws {
    let replicator = MagicReplicator(magic, remote: try SocketRemote("tls://hub.example.org:7420"))
    try await replicator.sync()
  }
}
