import Foundation
import GRDB
import MagicJournal
import TestSupport
import Testing

@testable import MagicData

struct Paper: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var text: MagicAsset<String>
  @OptionMagicValue var scan: MagicAsset<Data>?
  @OptionMagicValue var title: String?

  init() {
    text = .init()
  }

  init(_ id: String, _ text: String) {
    self.id = id
    self.text = .init(value: text)
  }
}

struct Kinds: MagicObject {
  @MagicValue var text: MagicAsset<String>
  @MagicValue var data: MagicAsset<Data>
  @MagicValue var job: MagicAsset<Job>
  @MagicValue var array: MagicAsset<[String]>
  @MagicValue var set: MagicAsset<Set<Int>>
  @MagicValue var dictionary: MagicAsset<[String: Double]>
  @OptionMagicValue var none: MagicAsset<Data>?

  init() {}
}

struct Shelf: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var papers: [Paper] = []
  @OptionMagicValue var cover: MagicAsset<Data>? = MagicAsset(value: Data("plain".utf8))

  init() {}
}

struct FilledIn: MagicObject {
  @MagicValue var text: MagicAsset<String>
  init() {}
  static func createMigrations() -> [MagicMigration] { [.filled(\FilledIn.$text, with: MagicAsset(value: "x"))] }
}

struct OfObjects: MagicObject {
  @OptionMagicValue var papers: MagicAsset<[Paper]>?
  init() {}
}

struct OfObjectsLater: MagicObject {
  @MagicValue var papers: AsyncMagical<MagicAsset<[Paper]>>
  init() {}
}

struct Film: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var reel: AsyncMagical<MagicAsset<String>>
  @OptionMagicValue var poster: AsyncMagical<MagicAsset<Data>>?
  init() {}
}

@Suite struct AssetTests {
  let folder: TemporaryFolder
  var database: URL { folder["db"] }

  init() throws {
    folder = try TemporaryFolder()
  }

  /// The names in a database's folder of assets.
  private func files(_ name: String = "db") throws -> [String] {
    let path = folder[name].appendingPathComponent("files").path
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  private func name(_ text: String) -> String {
    SHA256.hash(Array(text.utf8)).hexadecimal
  }

  // MARK: Values

  @Test func everyElementComesBackAsItWas() async throws {
    let magic = try await MagicData(path: database)
    let kinds = Kinds()
    // A byte order mark, a letter in two parts, and a zero.
    kinds.text = .init(value: "\u{FEFF}e\u{301}\0👩‍👩‍👧", pathExtension: "txt")
    kinds.data = .init(value: Data([0, 255, 7]), pathExtension: "jpeg")
    kinds.job = .init(value: Job(title: "x", tags: ["b", "a"], scores: [2.5: [1], -1: []]))
    kinds.array = .init(value: ["y", "x", "y"])
    kinds.set = .init(value: [3, 1, 2])
    kinds.dictionary = .init(value: ["b": -0.0, "a": .infinity])
    try await magic.update(kinds)

    let same = try #require(try await magic.object(of: Kinds.self).first)
    #expect(try Array(same.text.load().utf8) == Array("\u{FEFF}e\u{301}\0👩‍👩‍👧".utf8))
    #expect(same.data.value == Data([0, 255, 7]))
    #expect(same.job.value == kinds.job.value)
    #expect(same.array.value == ["y", "x", "y"])
    #expect(same.set.value == [3, 1, 2])
    #expect(same.dictionary.value?["b"]?.sign == .minus)
    #expect(same.dictionary.value?["a"] == .infinity)
    #expect(same.none == nil)
    #expect(try #require(same.data.path).hasSuffix(".jpeg"))
    #expect(same.data.path == kinds.data.path)
    #expect(try Data(contentsOf: URL(fileURLWithPath: #require(same.data.path))) == Data([0, 255, 7]))
    #expect(try files().count == 6)
  }

  @Test func emptyContentIsAValue() async throws {
    let magic = try await MagicData(path: database)
    let paper = Paper("a", "")
    paper.scan = .init(value: Data())
    try await magic.update(paper)
    let same = try await magic.object(of: Paper.self, primary: "a")
    #expect(same.text.value == "")
    #expect(same.scan?.value == Data())
    #expect(try files() == [name("")])
  }

  @Test func anAssetWithoutAValueIsStoredAndShown() async throws {
    let magic = try await MagicData(path: database)
    let paper = Paper()
    paper.scan = .init()
    #expect(paper.text.value == nil)
    try await magic.update(paper)
    let same = try #require(try await magic.object(of: Paper.self).first)
    #expect(same.text.value == nil)
    #expect(same.text.path == nil)
    #expect(same.scan == nil)
    #expect { try same.text.load() } throws: { ($0 as? MagicDataError)?.code == .unsetValue }
    #expect(try files() == [])

    same.text.value = "later"
    try await magic.update(same)
    #expect(try await magic.object(of: Paper.self).first?.text.value == "later")
    same.text.value = nil
    try await magic.update(same)
    #expect(try await magic.object(of: Paper.self).first?.text.value == nil)
    #expect(try files() == [])
  }

  @Test func aRequiredAssetWithoutADefaultMayBeEmpty() async throws {
    let magic = try await MagicData(path: database)
    let kinds = Kinds()
    await #expect { try await magic.update(kinds) } throws: { ($0 as? MagicDataError)?.code == .unsetValue }
    kinds.text = .init()
    kinds.data = .init()
    kinds.job = .init()
    kinds.array = .init()
    kinds.set = .init()
    kinds.dictionary = .init()
    try await magic.update(kinds)
    let same = try #require(try await magic.object(of: Kinds.self).first)
    #expect(same.job.value == nil)
    #expect(same.text.path == nil)
  }

  @Test func anAssetThatIsSetToNilKeepsItsExtension() async throws {
    let magic = try await MagicData(path: database)
    let paper = Paper("a", "x")
    paper.text = .init(value: "x", pathExtension: "txt")
    paper.text.value = nil
    #expect(paper.text.value == nil)
    paper.text.value = "y"
    try await magic.update(paper)
    #expect(try files() == [name("y") + ".txt"])
    // Of one that is stored nothing tells it.
    paper.text.value = nil
    try await magic.update(paper)
    let same = try #require(try await magic.object(of: Paper.self).first)
    same.text.value = "z"
    try await magic.update(same)
    #expect(try files() == [name("z")])
  }

  @Test func anExtensionThatIsNoneIsRefusedByName() async throws {
    let magic = try await MagicData(path: database)
    for bad in [".txt", "../x", "a/b", "ü", String(repeating: "x", count: 33), "x\0"] {
      let paper = Paper("a", "x")
      paper.scan = .init(value: Data("x".utf8), pathExtension: bad)
      await #expect { try await magic.update(paper) } throws: { error in
        (error as? MagicDataError)?.code == .value && "\(error)".contains("Paper.scan")
      }
    }
    #expect(try await magic.object(of: Paper.self).isEmpty)
    #expect(try files() == [])
    let paper = Paper("a", "x")
    paper.scan = .init(value: Data("x".utf8), pathExtension: "")
    try await magic.update(paper)
    #expect(try files() == [name("x")])
  }

  @Test func objectsInAnAssetAreRefused() async throws {
    let magic = try await MagicData(path: database)
    await #expect { try await magic.update(OfObjects()) } throws: { ($0 as? MagicDataError)?.code == .model }
  }

  @Test func anAssetThatIsFetchedLaterIsLikeAnyOther() async throws {
    let magic = try await MagicData(path: database)
    let film = Film()
    await #expect { try await magic.update(film) } throws: { ($0 as? MagicDataError)?.code == .unsetValue }
    film.reel = AsyncMagical(value: MagicAsset(value: "one", pathExtension: "txt"))
    film.poster = AsyncMagical(value: MagicAsset(value: Data([1])))
    try await magic.update(film)
    #expect(try await film.reel.get().value == "one")

    let fetched = try await magic.object(of: Film.self, primary: film.id)
    let reel = try await fetched.reel.get()
    #expect(reel.path?.hasSuffix(name("one") + ".txt") == true)
    #expect(try await fetched.poster?.get().value == Data([1]))
    fetched.reel.set(MagicAsset(value: "two"))
    fetched.poster = nil
    try await magic.update(fetched)
    #expect(try files() == [name("two")])
    // It is in memory.
    #expect(reel.value == "one")
    #expect(reel.path == nil)
    #expect(try await magic.object(of: Film.self, primary: film.id).poster == nil)

    try FileManager.default.removeItem(at: DatabaseLocation(database).assets)
    let missing = try await magic.object(of: Film.self, primary: film.id)
    await #expect { try await missing.reel.get() } throws: { ($0 as? MagicDataError)?.code == .notFound }
    await #expect { try await magic.update(OfObjectsLater()) } throws: { ($0 as? MagicDataError)?.code == .model }
  }

  @Test func noMigrationMakesAnAsset() async throws {
    let magic = try await MagicData(path: database)
    await #expect { try await magic.update(FilledIn()) } throws: { ($0 as? MagicDataError)?.code == .model }
  }

  /// V-7 is for what stands in rows and journal.
  @Test func theLimitOfValuesIsNoneForAssets() async throws {
    let magic = try await MagicData(type: .temporary)
    let paper = Paper("a", "x")
    paper.scan = .init(value: Data(count: 1 << 25 + 1))
    try await magic.update(paper)
    #expect(try await magic.object(of: Paper.self, primary: "a").scan?.path != nil)
  }

  // MARK: Files

  @Test func equalContentIsOneFile() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(contentsOf: ["a", "b", "c"].map { Paper($0, "same") })
    #expect(try files() == [name("same")])
    let papers = try await magic.object(of: Paper.self)
    #expect(Set(papers.map(\.text.path)).count == 1)
  }

  /// H-38: nothing that is stored knows where the database is.
  @Test func aMovedFolderWorks() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(Paper("a", "moved"))
    try await magic.close()
    try FileManager.default.moveItem(at: database, to: folder["elsewhere"])
    let moved = try await MagicData(path: folder["elsewhere"])
    let paper = try await moved.object(of: Paper.self, primary: "a")
    #expect(paper.text.value == "moved")
    #expect(try #require(paper.text.path).hasPrefix(folder["elsewhere"].path))
  }

  /// What lies beside a database that has come to the path of one that is open is not that one's to clear up.
  @Test func aDatabaseThatWasMovedAwayTakesNothingOfTheNextOne() async throws {
    // For this one, whatever is there is older than a day.
    let world = World(start: Int64(Date().timeIntervalSince1970 * 1_000) + 2 * 86_400_000)
    let location = DatabaseLocation(folder["papers.db"])
    let magic = MagicData(store: try Store(.file(location, mustExist: false), world.surroundings()))
    try await magic.update(Paper("a", "first"))
    try FileManager.default.createDirectory(at: folder["away"], withIntermediateDirectories: true)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) where name.hasPrefix("papers.db") {
      try FileManager.default.moveItem(at: folder[name], to: folder["away/\(name)"])
    }
    let other = try await MagicData(path: folder["papers.db"])
    try await other.update(Paper("a", "another"))
    let path = try #require(try await other.object(of: Paper.self, primary: "a").text.path)
    await #expect { try await magic.update(Paper("a", "second")) } throws: { ($0 as? MagicDataError)?.code == .notFound }
    await #expect { try await magic.update(Paper("b", "another")) } throws: { ($0 as? MagicDataError)?.code == .notFound }
    try? await magic.removeAll(of: Paper.self)
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(try await other.object(of: Paper.self, primary: "a").text.load() == "another")
  }

  /// Another process lets go of a content while a save that is to keep it waits for its turn.
  @Test func aContentThatWentAwayMeanwhileIsWrittenAgain() async throws {
    let magic = try await MagicData(path: folder["papers.db"])
    let paper = Paper("a", "kept")
    try await magic.update(paper)
    let path = try #require(paper.text.path)
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let other = try DatabaseQueue(path: folder["papers.db"].path, configuration: configuration)
    for isBlocking in [false, true] {
      try await other.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
      paper.title = "\(isBlocking)"
      Thread.detachNewThread {
        usleep(300_000)
        unlink(path)
        try? other.writeWithoutTransaction { db in try db.execute(sql: "COMMIT") }
      }
      if isBlocking { try magic.blocking.update(paper) } else { try await magic.update(paper) }
      #expect(FileManager.default.fileExists(atPath: path))
      #expect(try await magic.object(of: Paper.self, primary: "a").title == "\(isBlocking)")
    }
  }

  /// A file may hold more than this app makes of it again.
  @Test func whatWasReadIsGivenOnAsItIs() async throws {
    enum Newer {
      struct Scene: MagicalCodable { var (name, light) = ("dawn", "dim") }
      struct Film: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var scene: AsyncMagical<MagicAsset<Scene>>
        init() {}
      }
    }
    struct Scene: MagicalCodable { var name = "" }
    struct Film: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var scene: AsyncMagical<MagicAsset<Scene>>
      init() {}
    }
    let newer = try await MagicData(path: folder["films.db"])
    let film = Newer.Film()
    (film.id, film.scene) = ("f", AsyncMagical(value: MagicAsset(value: Newer.Scene())))
    try await newer.update(film)
    let magic = try await MagicData(path: folder["films.db"])
    let (one, other) = (try await magic.object(of: Film.self, primary: "f"), Film())
    let scene = try await one.scene.get()
    #expect(scene.value?.name == "dawn")
    (other.id, other.scene) = ("other", AsyncMagical(value: scene))
    try await magic.update(other)
    one.scene.set(scene)
    try await magic.update(one)
    for id in ["f", "other"] {
      #expect(try await newer.object(of: Newer.Film.self, primary: id).scene.get().load().light == "dim")
    }
  }

  @Test func twoDatabaseFilesSideBySideHaveFoldersOfTheirOwn() async throws {
    let one = try await MagicData(path: folder["papers.sqlite"])
    let two = try await MagicData(path: folder["papers.db"])
    try await one.update(Paper("a", "same"))
    try await two.update(Paper("a", "same"))
    try await one.removeAll(of: Paper.self)
    #expect(try await two.object(of: Paper.self, primary: "a").text.value == "same")
  }

  @Test func oneDatabaseHasOneFolderWhateverPathItIsOpenedBy() async throws {
    try await MagicData(path: folder["papers"]).update(Paper("a", "by its folder"))
    try FileManager.default.createSymbolicLink(at: folder["link.db"], withDestinationURL: folder["papers/default.sqlite3"])
    for path in ["papers/default.sqlite3", "link.db"] {
      let magic = try await MagicData(path: folder[path])
      let paper = try await magic.object(of: Paper.self, primary: "a")
      #expect(try #require(paper.text.value).hasPrefix("by "))
      paper.text = .init(value: "by \(path)")
      try await magic.update(paper)
      try await magic.close()
    }
    #expect(try await MagicData(path: folder["papers"]).object(of: Paper.self, primary: "a").text.value == "by link.db")
    #expect(try files("papers") == [name("by link.db")])
  }

  /// H-40: nobody knows yet where the assets will be.
  @Test func whoeverHasADatabaseOpenByAnotherPathFindsTheFirstAsset() async throws {
    let byFolder = try await MagicData(path: database)
    let byFile = try await MagicData(path: database.appendingPathComponent("default.sqlite3"))
    try await byFile.update(Paper("a", "x"))
    #expect(try await byFolder.object(of: Paper.self, primary: "a").text.value == "x")
    try await byFolder.update(Paper("b", "y"))
    #expect(try await byFile.object(of: Paper.self, primary: "b").text.value == "y")
  }

  @Test func aFileThatIsNoAssetHidesNone() async throws {
    let first = try await MagicData(path: database)
    try await first.update(Paper("a", "x"))
    try await first.close()
    try Data().write(to: database.appendingPathComponent("files/Thumbs.db"))
    for path in [database.appendingPathComponent("default.sqlite3"), database] {
      let magic = try await MagicData(path: path)
      #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "x")
      try await magic.update(Paper("b", path.lastPathComponent))
      try await magic.close()
    }
  }

  @Test func anAssetIsReadWhereItsObjectIsNow() async throws {
    let one = try await MagicData(path: database)
    let two = try await MagicData(path: folder["two"])
    try await one.update(Paper("a", "x"))
    let paper = try await one.object(of: Paper.self, primary: "a")
    try await two.update(paper)
    try await one.removeAll(of: Paper.self)
    #expect(paper.text.value == "x")
    #expect(try #require(paper.text.path).hasPrefix(folder["two"].path))
  }

  /// What stands beside a database's file is somebody else's.
  @Test func aFolderOfTheUsersIsNotTheDatabases() async throws {
    try FileManager.default.createDirectory(at: folder["mine/files"], withIntermediateDirectories: true)
    try Data("x".utf8).write(to: folder["mine/files/letter.txt"])
    let path = folder["mine/default.sqlite3"]
    let magic = try await MagicData(path: path)
    try await magic.update(Paper("a", "one"))
    try await magic.close()
    #expect(DatabaseLocation(path).assets.lastPathComponent == "default.sqlite3.files")
    _ = try await MagicData.build(inPlaceOf: DatabaseLocation(path)) { try await $0.update(Paper("a", "two")) }
    #expect(try await MagicData(path: path).object(of: Paper.self, primary: "a").text.value == "two")
    #expect(try Data(contentsOf: folder["mine/files/letter.txt"]) == Data("x".utf8))
    #expect(DatabaseLocation(folder["mine"]).assets == DatabaseLocation(path).assets)
  }

  @Test(arguments: [false, true]) func aFileThatIsALinkIsOneDatabaseUnderBothNames(isEmpty: Bool) async throws {
    let real = try await MagicData(path: folder["real.db"])
    if !isEmpty { try await real.update(Paper("a", "real")) }
    try await real.close()
    try FileManager.default.createDirectory(at: folder["papers"], withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(at: folder["papers/default.sqlite3"], withDestinationURL: folder["real.db"])
    for path in ["papers", "papers/default.sqlite3", "real.db", "papers"] {
      let magic = try await MagicData(path: folder[path])
      if !isEmpty { #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "real") }
      #expect(try await magic.statistics().replicas.count == 1)
      try await magic.update(Paper("b", path))
      try await magic.close()
      #expect(DatabaseLocation(folder[path]).assets.lastPathComponent == "real.db.files")
    }
  }

  /// All that belongs to a database is where its file is, also if that is yet to come: what lay beside the link, nobody would
  /// find by the file's own name.
  @Test func aLinkToWhatIsNotThereYetIsTheDatabaseThatIsMadeThere() async throws {
    for name in ["links", "real"] {
      try FileManager.default.createDirectory(at: folder[name], withIntermediateDirectories: false)
    }
    for name in ["one.db", "two.db"] {
      try FileManager.default.createSymbolicLink(atPath: folder["links/" + name].path, withDestinationPath: "../real/" + name)
    }
    let magic = try await MagicData(path: folder["links/one.db"])
    try await magic.update(Paper("a", "x"))
    let replica = try await magic.statistics().replica
    try await magic.backup(to: folder["links/two.db"])
    try await magic.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["links"].path).sorted() == ["one.db", "two.db"])
    let names = try FileManager.default.contentsOfDirectory(atPath: folder["real"].path)
    for name in ["one.db", "two.db"] {
      #expect(names.contains(name + "-replica") && names.contains(name + ".files"), "\(names)")
      #expect(DatabaseLocation(folder["real/" + name]).hasClearLog)
    }
    let real = try await MagicData(path: folder["real/one.db"])
    #expect(try await real.object(of: Paper.self, primary: "a").text.value == "x")
    #expect(try await real.statistics().replica == replica)
    let copy = try await MagicData(path: folder["real/two.db"])
    #expect(try await copy.object(of: Paper.self, primary: "a").text.value == "x")
  }

  /// An app and its extension start for the first time: what the one has placed by then is nobody's rest, and is cleared up one
  /// day.
  @Test func whatIsPlacedWhileOthersOpenANewDatabaseIsItsOwn() async throws {
    for round in 0..<20 {
      let path = folder["new\(round)"]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask { _ = try await MagicData(path: path).update(Paper("\(number)", "\(round) \(number)")) }
        }
        try await group.waitForAll()
      }
      #expect(try files("new\(round)").filter(AssetName.isValid).count == 4)
      #expect(access(path.appendingPathComponent("files/" + AssetFolder.others).path, F_OK) != 0)
    }
  }

  /// Who named the file had them beside it.
  @Test func assetsOfAFormerVersionAreFoundWhereItKeptThem() async throws {
    try FileManager.default.createDirectory(at: folder["papers/default.sqlite3.files"], withIntermediateDirectories: true)
    #expect(DatabaseLocation(folder["papers"]).assets == DatabaseLocation(folder["papers/default.sqlite3"]).assets)
    #expect(DatabaseLocation(folder["papers"]).assets.lastPathComponent == "default.sqlite3.files")
  }

  @Test func volatileDatabasesLeaveNoAssets() async throws {
    for type in [MagicData.Volatile.memory, .temporary] {
      var path: String?
      do {
        let magic = try await MagicData(type: type)
        let paper = Paper("a", "gone")
        try await magic.update(paper)
        path = try await magic.object(of: Paper.self, primary: "a").text.path
        #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "gone")
        #expect(FileManager.default.fileExists(atPath: try #require(path)))
      }
      let parent = URL(fileURLWithPath: try #require(path)).deletingLastPathComponent()
      #expect(!FileManager.default.fileExists(atPath: parent.path))
      #expect(!FileManager.default.fileExists(atPath: parent.deletingLastPathComponent().path))
    }
  }

  @Test func aDatabaseThatIsBuiltKeepsItsAssets() async throws {
    let location = DatabaseLocation(database)
    _ = try await MagicData.build(at: location) { magic in try await magic.update(Paper("a", "built")) }
    #expect(try await MagicData(path: database).object(of: Paper.self, primary: "a").text.value == "built")
    #expect(try folder.contents().keys.filter { $0.contains(".magic-") } == [])
  }

  /// Assets without their database may be the only ones of one that was moved away, unless somebody has left them who was
  /// killed while he put a database there (H-33).
  @Test func assetsWithoutTheirDatabaseStay() async throws {
    let location = DatabaseLocation(folder["papers.db"])
    try FileManager.default.createDirectory(at: location.assets, withIntermediateDirectories: false)
    for content in ["built", "another"] {
      try Data("?".utf8).write(to: location.assets.appendingPathComponent(name(content)))
    }
    let before = try folder.contents()
    await #expect {
      _ = try await MagicData.build(at: location) { _ in _ = Issue.record("it is told when all is done") }
    } throws: { ($0 as? MagicDataError)?.code == .exists && "\($0)".contains("papers.db.files") }
    #expect(try folder.contents() == before)
    try Data().write(to: location.assets.appendingPathComponent(".unfinished"))
    _ = try await MagicData.build(at: location) { magic in try await magic.update(Paper("a", "built")) }
    #expect(try await MagicData(path: location.file).object(of: Paper.self, primary: "a").text.value == "built")
    let names = try FileManager.default.contentsOfDirectory(atPath: location.assets.path).sorted()
    #expect(names == [name("another"), name("built")].sorted())
  }

  /// H-33: of a database that was there the assets may be the only ones, whatever somebody has left who was killed, or came too
  /// late, when he put another one there.
  @Test(arguments: [false, true]) func assetsOfADatabaseThatWasThereStay(isOpenBefore: Bool) async throws {
    let location = DatabaseLocation(folder["papers.db"])
    let mark = location.assets.appendingPathComponent(".unfinished")
    try FileManager.default.createDirectory(at: location.assets, withIntermediateDirectories: false)
    func leaveMark() throws { try Data().write(to: mark) }
    if !isOpenBefore { try leaveMark() }
    let magic = try await MagicData(path: location.file)
    #expect(!FileManager.default.fileExists(atPath: mark.path))
    if isOpenBefore { try leaveMark() }
    try await magic.update(Paper("a", "mine"))
    #expect(!FileManager.default.fileExists(atPath: mark.path))
    try await magic.close()
    try FileManager.default.moveItem(at: location.file, to: folder["away.db"])
    await #expect {
      _ = try await MagicData.build(at: location) { _ in _ = Issue.record("it is told when all is done") }
    } throws: { ($0 as? MagicDataError)?.code == .exists && "\($0)".contains("papers.db.files") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: location.assets.path) == [name("mine")])
  }

  /// H-38: what lies where no database is has no place that another one could take.
  @Test func assetsWithoutTheirDatabaseAreNotReplaced() async throws {
    let location = DatabaseLocation(folder["papers.db"])
    try FileManager.default.createDirectory(at: location.assets, withIntermediateDirectories: false)
    try Data("?".utf8).write(to: location.assets.appendingPathComponent(name("mine")))
    let before = try folder.contents()
    await #expect {
      _ = try await MagicData.build(inPlaceOf: location) { _ in _ = Issue.record("it is told when all is done") }
    } throws: { ($0 as? MagicDataError)?.code == .exists && "\($0)".contains("papers.db.files") }
    #expect(try folder.contents() == before)
    try FileManager.default.removeItem(at: location.assets)
    _ = try await MagicData.build(inPlaceOf: location) { magic in try await magic.update(Paper("a", "built")) }
    #expect(try await MagicData(path: location.file).object(of: Paper.self, primary: "a").text.value == "built")
  }

  /// H-38: an app makes its database where assets are left of another one, and clears up what is its own.
  @Test func whatLayThereBeforeADatabaseWasMadeIsNotCleared() async throws {
    // For this one, whatever is there is older than a day.
    let world = World(start: Int64(Date().timeIntervalSince1970 * 1_000) + 2 * 86_400_000)
    let location = DatabaseLocation(folder["papers.db"])
    try FileManager.default.createDirectory(at: location.assets, withIntermediateDirectories: false)
    func leave(_ text: String) throws { try Data(text.utf8).write(to: location.assets.appendingPathComponent(name(text))) }
    func work(_ body: (MagicData) async throws -> Void) async throws {
      let magic = MagicData(store: try Store(.file(location, mustExist: false), world.surroundings()))
      try await body(magic)
      try await magic.close()
    }
    func write(_ text: String) async throws { try await work { try await $0.update(Paper(text, text)) } }
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: location.assets.path).sorted() }
    try leave("another")
    try await write("a")
    try leave("orphan")
    try await write("b")
    #expect(try names() == [".others", name("another"), name("a"), name("b")].sorted())
    // Nor once an object has named it and is gone.
    try await write("another")
    try await work { try await $0.removeAll(of: Paper.self) }
    #expect(try names() == [".others", name("another")].sorted())
    _ = try await MagicData.build(inPlaceOf: location) { try await $0.update(Paper("built", "built")) }
    let hidden = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix(".magic-replaced") }
    #expect(try hidden.map { try folder.contents()["\($0)/\(name("another"))"] } == [Data("another".utf8)])
  }

  // MARK: What goes away

  @Test func aFileGoesAwayWithTheLastThatNamesIt() async throws {
    let magic = try await MagicData(path: database)
    let (a, b) = (Paper("a", "one"), Paper("b", "one"))
    try await magic.update(a)
    try await magic.update(b)
    a.text = .init(value: "two")
    try await magic.update(a)
    #expect(try files() == [name("one"), name("two")].sorted())
    b.text.value = "two"
    try await magic.update(b)
    #expect(try files() == [name("two")])
    try await magic.remove(a)
    #expect(try files() == [name("two")])
    try await magic.remove(b)
    #expect(try files() == [])
    // They keep their values, and can be saved again.
    #expect(a.text.value == "two")
    try await magic.update(a)
    #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "two")
    try await magic.removeAll(of: Paper.self)
    #expect(try files() == [])
  }

  @Test func manyFilesGoAwayPartByPart() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(contentsOf: (0..<603).map { Paper("\($0)", "\($0)") })
    #expect(try files().count == 603)
    let kept = try await magic.object(of: Paper.self, primary: "7")
    try await magic.transaction { tx in
      try await tx.removeAll(of: Paper.self)
      kept.title = "back"
      try await tx.update(kept)
    }
    #expect(try files() == [name("7")])
  }

  @Test func anObjectOfAnotherTypeKeepsAFile() async throws {
    let magic = try await MagicData(path: database)
    let kinds = Kinds()
    kinds.text = .init(value: "shared")
    kinds.data = .init()
    kinds.job = .init()
    kinds.array = .init()
    kinds.set = .init()
    kinds.dictionary = .init()
    try await magic.update(kinds)
    let paper = Paper("a", "shared")
    try await magic.update(paper)
    try await magic.remove(paper)
    #expect(try files() == [name("shared")])
    #expect(try await magic.object(of: Kinds.self).first?.text.value == "shared")
  }

  /// On a file system that does not tell case apart they are one file.
  @Test func anExtensionInAnotherCaseKeepsAFile() async throws {
    let magic = try await MagicData(path: database)
    let (a, b) = (Paper("a", "x"), Paper("b", "x"))
    a.scan = .init(value: Data("y".utf8), pathExtension: "jpg")
    b.scan = .init(value: Data("y".utf8), pathExtension: "JPG")
    try await magic.update(a)
    try await magic.update(b)
    try await magic.remove(a)
    #expect(try files().contains(name("y") + ".jpg"))
    #expect(try await magic.object(of: Paper.self, primary: "b").scan?.value == Data("y".utf8))
  }

  /// Nor does a content go that waits to be sent under such a name, and none of the names is of a file too many.
  @Test func anExtensionInAnotherCaseKeepsAFileThatIsToBeSent() async throws {
    let magic = try await MagicData(path: database)
    let paper = Paper("a", "x")
    paper.scan = .init(value: Data("y".utf8), pathExtension: "jpg")
    try await magic.update(paper)
    let file = name("y") + ".jpg"
    try await magic.store.write { db in
      try db.execute(sql: Statements.createUnsentAssets)
      try db.execute(sql: Statements.insertUnsentAsset, arguments: [name("y") + ".JPG"])
    }
    try await magic.remove(paper)
    #expect(try files().contains(file))
    #expect(try await magic.store.read { db in try AssetCheck(magic.store, db) }.orphans == [])
  }

  /// A look-up for each column of an asset, however many rows there are.
  @Test func whoNamesAnAssetIsFoundByAnIndex() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(Paper("a", "x"))
    let plan = try await magic.store.read { db in
      try Row.fetchAll(
        db, sql: #"EXPLAIN QUERY PLAN SELECT 1 FROM "Paper" WHERE "text" = ? COLLATE NOCASE LIMIT 1"#, arguments: ["x"]
      ).map { $0["detail"] as String }
    }
    #expect(plan.allSatisfy { $0.contains("Paper.text.asset") }, "\(plan)")
  }

  // MARK: Transactions

  @Test func aRollbackKeepsTheOldAndLeavesNothingElse() async throws {
    struct Stop: Error {}
    let magic = try await MagicData(path: database)
    let paper = Paper("a", "old")
    try await magic.update(paper)
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        paper.text = .init(value: "new")
        try await tx.update(paper)
        #expect(try await tx.object(of: Paper.self, primary: "a").text.value == "new")
        try await tx.remove(paper)
        try await tx.update(Paper("b", "other"))
        throw Stop()
      }
    }
    #expect(try files() == [name("old")])
    #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "old")
    #expect(paper.text.value == "new")
    try await magic.update(paper)
    #expect(try files() == [name("new")])
    #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "new")
  }

  @Test func aNestedRollbackKeepsWhatIsAroundIt() async throws {
    struct Stop: Error {}
    let magic = try await MagicData(path: database)
    try await magic.transaction { tx in
      try await tx.update(Paper("a", "kept"))
      await #expect(throws: Stop.self) {
        try await tx.transaction { inner in
          try await inner.update(Paper("a", "undone"))
          try await inner.update(Paper("b", "kept"))
          throw Stop()
        }
      }
    }
    #expect(try files() == [name("kept")])
  }

  @Test func aFailedUpdateLeavesNoFileOfItsGraph() async throws {
    let magic = try await MagicData(path: database)
    let shelf = Shelf()
    let unset = Paper("b", "y")
    unset.scan = .init(value: Data(), pathExtension: "no good")
    shelf.papers = [Paper("a", "x"), unset]
    await #expect(throws: MagicDataError.self) { try await magic.update(shelf) }
    #expect(try files() == [])
    unset.scan = nil
    try await magic.update(shelf)
    let same = try #require(try await magic.object(of: Shelf.self).first)
    #expect(same.papers.map(\.text.value) == ["x", "y"])
    #expect(same.cover?.value == Data("plain".utf8))
    #expect(try files() == [name("x"), name("y"), name("plain")].sorted())
  }

  @Test func nothingIsStoredIfItsFileCannotBeWritten() async throws {
    let magic = try await MagicData(path: database)
    try Data().write(to: database.appendingPathComponent("files"))
    await #expect { try await magic.update(Paper("a", "x")) } throws: { "\($0)".contains("Paper.text") }
    #expect(try await magic.object(of: Paper.self).isEmpty)
    try FileManager.default.removeItem(at: database.appendingPathComponent("files"))
    try await magic.update(Paper("a", "x"))
    #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "x")
  }

  // MARK: The journal

  private func entries(_ magic: MagicData) async throws -> [Entry] {
    try await magic.store.read { db in
      var entries: [Entry] = []
      try JournalReader(db).forEachTransaction { entries += $0.entries }
      return entries
    }
  }

  @Test func theJournalHoldsTheNameAndNothingOfWhatIsUnchanged() async throws {
    let magic = try await MagicData(path: database)
    let paper = Paper("a", "x")
    try await magic.update(paper)
    #expect(try await entries(magic).last?.fields.map(\.value).contains(.asset(name("x"))) == true)
    let schema = try await magic.store.read { db in try StoredSchema(db).schema }
    #expect(schema.types[0].fields.map(\.kind) == [.asset, .asset, .text])

    try await magic.update(paper)
    paper.text = .init(value: "x")
    try await magic.update(paper)
    let fetched = try await magic.object(of: Paper.self, primary: "a")
    fetched.text = fetched.text
    try await magic.update(fetched)
    #expect(try await entries(magic).count == 1)

    fetched.title = "t"
    try await magic.update(fetched)
    #expect(try await entries(magic).last?.fields.map(\.value) == [.text("t")])
    fetched.text = .init(value: "z")
    try await magic.update(fetched)
    #expect(try await entries(magic).last?.fields.map(\.value) == [.asset(name("z"))])
  }

  /// H-25: an instance that was made anew writes no defaults over what is held.
  @Test func aDefaultIsNotWrittenOverWhatIsHeld() async throws {
    let magic = try await MagicData(path: database)
    let shelf = Shelf()
    shelf.cover = .init(value: Data("gold".utf8))
    try await magic.update(shelf)
    let again = Shelf()
    again.id = shelf.id
    try await magic.update(again)
    #expect(try await magic.object(of: Shelf.self).first?.cover?.value == Data("gold".utf8))
  }

  // MARK: Files that are missing or damaged

  /// H-38: the row comes before the file, which may be gone as well.
  @Test func aMissingFileIsAnErrorThatSaysSo() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(Paper("a", "x"))
    let paper = try await magic.object(of: Paper.self, primary: "a")
    try FileManager.default.removeItem(atPath: try #require(paper.text.path))
    #expect(paper.text.value == nil)
    #expect(paper.text.path == nil)
    #expect { try paper.text.load() } throws: { error in
      (error as? MagicDataError)?.code == .notFound && "\(error)".contains("not arrived")
    }
    // What is not touched needs no file.
    paper.title = "t"
    try await magic.update(paper)
    // It cannot be given to another object, but it can be given anew.
    let other = Paper("b", "y")
    other.text = paper.text
    await #expect { try await magic.update(other) } throws: { error in
      (error as? MagicDataError)?.code == .notFound && "\(error)".contains("Paper.text")
    }
    #expect(try await !magic.has(of: Paper.self, primary: "b"))
    paper.text = .init(value: "x")
    try await magic.update(paper)
    #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "x")
  }

  @Test func aDamagedFileIsAnErrorAndMendedByItsValue() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(Paper("a", "content"))
    for damage in ["contenT", "cont", "content and more"] {
      let paper = try await magic.object(of: Paper.self, primary: "a")
      try Data(damage.utf8).write(to: URL(fileURLWithPath: #require(paper.text.path)))
      #expect(paper.text.value == nil)
      #expect { try paper.text.load() } throws: { ($0 as? MagicDataError)?.code == .damaged }
      paper.text = .init(value: "content")
      try await magic.update(paper)
      #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "content")
    }
    #expect(try files() == [name("content")])
  }

  private final class Draft: MagicalCodable {
    var text = "first"
    init() {}
  }

  private struct Sketch: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var draft: MagicAsset<Draft>
    init() {}
    init(_ id: String, _ draft: MagicAsset<Draft>) { (self.id, self.draft) = (id, draft) }
  }

  /// Others may have the file that it was given.
  @Test func anAssetWhoseClassHasChangedIsRefused() async throws {
    let magic = try await MagicData(path: database)
    let draft = Draft()
    let asset = MagicAsset(value: draft)
    try await magic.update(Sketch("a", asset))
    draft.text = "second"
    await #expect {
      try await magic.update(Sketch("b", asset))
    } throws: {
      ($0 as? MagicDataError)?.code == .value && "\($0)".contains("assign another asset")
    }
    #expect(try await magic.object(of: Sketch.self).map { try $0.draft.load().text } == ["first"])
    try await magic.update(Sketch("b", MagicAsset(value: draft)))
    #expect(try await magic.object(of: Sketch.self, primary: "b").draft.load().text == "second")
  }

  private struct Picture: MagicAssetConvert {
    struct Unreadable: Error {}
    var bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
    init(assetContent: Data) throws {
      guard assetContent.count < 3 else { throw Unreadable() }
      bytes = Array(assetContent)
    }
    var assetContent: Data {
      get throws {
        guard !bytes.isEmpty else { throw Unreadable() }
        return Data(bytes)
      }
    }
  }

  private struct Frame: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var picture: MagicAsset<Picture>
    init() {}
    init(_ picture: Picture) { (id, self.picture) = ("f", MagicAsset(value: picture)) }
  }

  @Test func errorsOfAnAppsOwnContentSayWhatFailed() async throws {
    let magic = try await MagicData(path: database)
    await #expect {
      try await magic.update(Frame(Picture([])))
    } throws: {
      ($0 as? MagicDataError)?.code == .value && "\($0)".contains("Frame.picture")
    }
    try await magic.update(Frame(Picture([1, 2, 3])))
    let frame = try await magic.object(of: Frame.self)[0]
    #expect { try frame.picture.load() } throws: { ($0 as? MagicDataError)?.code == .value }
    // The same of one that replaces another.
    frame.picture = MagicAsset(value: Picture([]))
    await #expect {
      try await magic.update(frame)
    } throws: {
      ($0 as? MagicDataError)?.code == .value && "\($0)".contains("Frame.picture")
    }
    let entries = try await magic.statistics().entries
    frame.picture = MagicAsset(value: Picture([1, 2, 3]))
    try await magic.update(frame)
    #expect(try await magic.statistics().entries == entries)
    try await magic.update(Frame(Picture([1, 2])))
    #expect(try await magic.object(of: Frame.self)[0].picture.load().bytes == [1, 2])
  }

  @Test func contentOfAnotherTypeIsAnError() async throws {
    struct Bytes: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var text: MagicAsset<Data>?
      static var magicName: String { "Paper" }
      init() {}
    }
    do {
      let magic = try await MagicData(path: database)
      let bytes = Bytes()
      bytes.text = .init(value: Data([0xff, 0xfe]))
      try await magic.update(bytes)
      try await magic.close()
    }
    let paper = try #require(try await MagicData(path: database).object(of: Paper.self).first)
    #expect { try paper.text.load() } throws: { ($0 as? MagicDataError)?.code == .value }
  }

  @Test func aReaderWhoComesTooLateGetsAnError() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(Paper("a", "x"))
    let paper = try await magic.object(of: Paper.self, primary: "a")
    try await magic.removeAll(of: Paper.self)
    #expect { try paper.text.load() } throws: { ($0 as? MagicDataError)?.code == .notFound }
    // Its content is nowhere any more.
    try await magic.remove(paper)
    await #expect { try await magic.update(paper) } throws: { ($0 as? MagicDataError)?.code == .notFound }
  }

  /// H-42: a name that was changed by hand leads nowhere.
  @Test func aNameThatIsNoneIsNotFollowed() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(Paper("a", "x"))
    try Data("secret".utf8).write(to: folder["secret"])
    try await magic.store.write { db in
      try db.execute(sql: #"UPDATE "Paper" SET text = '../../secret'"#)
    }
    #expect(try await magic.object(of: Paper.self).first?.text.value == nil)
    try await magic.removeAll(of: Paper.self)
    #expect(FileManager.default.fileExists(atPath: folder["secret"].path))
  }

  /// J-9: an object that somebody removed comes back with the content that its instance has.
  @Test func anObjectThatIsMadeAgainHasItsContent() async throws {
    let magic = try await MagicData(path: database)
    let paper = Paper("a", "one")
    try await magic.update(paper)
    try await magic.removeAll(of: Paper.self)
    #expect(try files() == [])
    paper.title = "set since"
    try await magic.update(paper)
    let stored = try await magic.object(of: Paper.self, primary: "a")
    #expect(try stored.text.load() == "one" && stored.title == "set since")
    try magic.blocking.removeAll(of: Paper.self)
    paper.title = "set again"
    try magic.blocking.update(paper)
    #expect(try await magic.object(of: Paper.self, primary: "a").text.load() == "one")
  }

  // MARK: Two databases, two processes

  @Test func contentFollowsAnObjectIntoAnotherDatabase() async throws {
    let one = try await MagicData(path: database)
    let two = try await MagicData(path: folder["two"])
    try await one.update(Paper("a", "x"))
    let paper = try await one.object(of: Paper.self, primary: "a")
    try await two.update(paper)
    #expect(try await two.object(of: Paper.self, primary: "a").text.value == "x")
    let other = Paper("b", "y")
    other.text = try await one.object(of: Paper.self, primary: "a").text
    try await two.update(other)
    try await one.removeAll(of: Paper.self)
    #expect(try await two.object(of: Paper.self).map(\.text.value) == ["x", "x"])
    #expect(try files() == [])
  }

  /// H-40: one lets go of a content while the other is about to name it.
  @Test func twoWritersNeverLoseAFileThatIsNamed() async throws {
    let writers = [try await MagicData(path: database), try await MagicData(path: database)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, magic) in writers.enumerated() {
        group.addTask {
          var seeded = Seeded(UInt64(number))
          for _ in 0..<60 {
            let paper = Paper("\(number)", seeded.pick(["x", "y"]))
            try await magic.update(paper)
            if seeded.below(3) == 0 { try await magic.remove(paper) }
            let fetched = try await magic.object(of: Paper.self)
            if let own = fetched.first(where: { $0.id == "\(number)" }) { _ = try own.text.load() }
          }
        }
      }
      try await group.waitForAll()
    }
    let papers = try await writers[0].object(of: Paper.self)
    for paper in papers { _ = try paper.text.load() }
    #expect(try files() == Set(papers.map { name($0.text.value ?? "") }).sorted())
  }

  // MARK: Blocking, and backups

  @Test func blockingCallsDoTheSame() throws {
    struct Stop: Error {}
    let location = DatabaseLocation(database)
    let magic = MagicData(store: try Store(.file(location, mustExist: false)))
    let (a, shelf) = (Paper("a", "one"), Shelf())
    shelf.papers = [Paper("b", "of a graph")]
    try magic.blocking.update(a)
    try magic.blocking.update(shelf)
    #expect(try magic.blocking.object(of: Paper.self, primary: "a").text.value == "one")
    #expect(try files() == [name("one"), name("of a graph"), name("plain")].sorted())
    a.text.value = "two"
    #expect(throws: Stop.self) {
      try magic.blocking.transaction { tx in
        try tx.update(a)
        throw Stop()
      }
    }
    #expect(try files() == [name("one"), name("of a graph"), name("plain")].sorted())
    try magic.blocking.update(a)
    try magic.blocking.removeAll(of: Shelf.self)
    #expect(try files() == [name("two"), name("of a graph")].sorted())
  }

  /// What a copy names stays until it is copied, whoever lets go of it.
  @Test func aFileThatIsBeingCopiedStaysUntilThen() async throws {
    let magic = try await MagicData(path: database)
    let paper = Paper("a", "one")
    try await magic.update(paper)
    do {
      let pin = try await magic.store.assets.pin()
      paper.text.value = "two"
      try await magic.update(paper)
      #expect(try files() == [name("one"), name("two")].sorted())
      withExtendedLifetime(pin) {}
    }
    try await MagicData(path: database).update(Paper("b", "more"))
    #expect(try files() == [name("two"), name("more")].sorted())
    try await magic.backup(to: folder["copy"])
    let copy = try await MagicData(path: folder["copy"])
    try await magic.removeAll(of: Paper.self)
    #expect(try await copy.object(of: Paper.self).map(\.text.value) == ["two", "more"])
    #expect(try files("copy") == [name("two"), name("more")].sorted())
  }

  /// H-33: a lock of another program's on the folder holds up nothing but what needs it, and that for no longer than a writer
  /// waits, or until it is told to stop.
  @Test(.timeLimit(.minutes(15))) func whoLocksTheFolderEndsNothing() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(Paper("a", "one"))
    let other = open(database.path, O_RDONLY | O_CLOEXEC)
    defer { close(other) }
    try #require(flock(other, LOCK_EX) == 0)
    let copy = folder["copy"]
    // Nothing else comes in between: on a busy machine it may take longer than a backup waits.
    let cancelled = Task { try await magic.backup(to: copy) }
    try await Task.sleep(for: .milliseconds(100))
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    let waiting = Task { try await magic.backup(to: copy) }
    try await magic.update(Paper("b", "two"))
    #expect(try await magic.object(of: Paper.self, primary: "b").text.value == "two")
    await #expect { try await waiting.value } throws: { ($0 as? MagicDataError)?.code == .busy }
    try #require(flock(other, LOCK_UN) == 0)
    try await magic.backup(to: copy)
    #expect(try files("copy") == [name("one"), name("two")].sorted())
  }

  /// A number that is closed twice may be another thread's file by then, SQLite's among them.
  @Test func whoFindsFilesPinnedClosesNothingOfOthers() async throws {
    let assets = try await MagicData(path: database).store.assets
    let pin = try await assets.pin()
    async let closings = withTaskGroup(of: Int.self) { group in
      group.addTask { (0..<20_000).count { _ in (try? assets.ifUnpinned {}) != nil } }
      group.addTask { (0..<100_000).count { _ in close(open("/dev/null", O_RDONLY | O_CLOEXEC)) != 0 } }
      return await group.reduce(0, +)
    }
    #expect(await closings == 0)
    withExtendedLifetime(pin) {}
  }

  /// What is on its way is nobody's yet, and may be gone before it is copied.
  @Test func aBackupLeavesOutWhatIsOnItsWay() async throws {
    let magic = try await MagicData(path: database)
    try await magic.update(Paper("a", "one"))
    let coming = magic.store.assets.coming
    try FileManager.default.createDirectory(at: coming, withIntermediateDirectories: true)
    let arriving = Task {
      while !Task.isCancelled {
        let part = coming.appendingPathComponent(".\(UUID()).part")
        try Data(count: 10_000).write(to: part)
        await Task.yield()
        try FileManager.default.removeItem(at: part)
      }
    }
    for number in 0..<20 {
      try await magic.backup(to: folder["copy \(number)"])
      #expect(try files("copy \(number)") == [name("one")])
    }
    arriving.cancel()
    try await arriving.value
  }

  @Test func aBackupOfADatabaseInMemoryHasItsAssets() async throws {
    let magic = try await MagicData(type: .memory)
    try await magic.update(Paper("a", "one"))
    try await magic.backup(to: folder["copy"])
    #expect(try await MagicData(path: folder["copy"]).object(of: Paper.self).first?.text.value == "one")
  }

  // MARK: Crashes

  #if os(Linux) || os(macOS)
    /// H-33: who is killed cleans nothing up; the next process with such a database does.
    @Test(arguments: ["memory", "temporary"]) func aVolatileDatabaseOfAKilledProcessIsTakenAway(type: String) async throws {
      // A temporary folder of its own: any other process that makes a database would clear this one's up before it is looked
      // at.
      let place = folder.url.path
      let result = await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
        [type, place = place as String] in
        setenv("TMPDIR", place, 1)
        let magic = try await MagicData(type: type == "memory" ? .memory : .temporary)
        try await magic.update(Paper("a", "left"))
        print("left:" + (try #require(await magic.object(of: Paper.self, primary: "a").text.path)))
        fflush(nil)
        kill(getpid(), SIGKILL)
      }
      let said = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
      let path = String(try #require(said.split(separator: "\n").first { $0.hasPrefix("left:") }).dropFirst(5))
      #expect(path.hasPrefix(place) && FileManager.default.fileExists(atPath: path))
      await #expect(processExitsWith: .success) { [path = path as String, place = place as String] in
        setenv("TMPDIR", place, 1)
        _ = try await MagicData(type: .memory)
        #expect(!FileManager.default.fileExists(atPath: path))
      }
    }

    /// What a program has in globals is there until it ends.
    @Test(arguments: ["memory", "temporary"]) func aVolatileDatabaseOfAProgramThatEndsIsTakenAway(type: String) async throws {
      let place = folder.url.path
      await #expect(processExitsWith: .exitCode(7)) { [type, place = place as String] in
        setenv("TMPDIR", place, 1)
        let magic = try await MagicData(type: type == "memory" ? .memory : .temporary)
        try await magic.update(Paper("a", "left"))
        withExtendedLifetime(magic) { exit(7) }
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: place).filter { $0.hasPrefix("magic-scratch") } == [])
    }

    /// H-26: whenever a process is killed, what it was told is stored is there with its content, and no row names a file that
    /// is not.
    @Test(arguments: 1...6) func aProcessThatIsKilledLosesNoAsset(round: Int) async throws {
      let path = database.path
      let result = await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
        [path = path as String, round] in
        let magic = try await MagicData(path: URL(fileURLWithPath: path))
        Thread.detachNewThread {
          usleep(UInt32(7_000 * round))
          kill(getpid(), SIGKILL)
        }
        for number in 0... {
          try await magic.update(Paper("\(number % 3)", "\(number)"))
          print("saved:\(number)")
          fflush(nil)
        }
      }
      let said = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
      let saved = said.split(separator: "\n").filter { $0.hasPrefix("saved:") }.compactMap { Int($0.dropFirst(6)) }
      let magic = try await MagicData(path: database)
      let papers = try await magic.object(of: Paper.self)
      let shown = try papers.map { try #require(Int($0.text.value ?? "")) }
      // The last one may have been stored without its writer hearing of it.
      let last = (saved.last ?? -1) + (shown.contains((saved.last ?? -1) + 1) ? 1 : 0)
      #expect(shown.sorted() == Array(max(0, last - 2)..<(last + 1)))
    }
  #endif

  /// H-26: what a crash leaves between a file and its row, and between a row and its file.
  @Test func whatACrashLeftIsClearedUp() async throws {
    let world = World(start: Int64(Date().timeIntervalSince1970 * 1_000))
    let location = DatabaseLocation(database)
    func open() throws -> MagicData { MagicData(store: try Store(.file(location, mustExist: false), world.surroundings())) }
    do {
      let magic = try open()
      try await magic.update(Paper("a", "kept"))
      try await magic.close()
    }
    let assets = location.assets
    let half = ".\(UUID().uuidString.lowercased()).tmp"
    for file in [name("orphan"), half, "letter.txt", name("dropped"), ".unfinished"] {
      try Data("?".utf8).write(to: assets.appendingPathComponent(file))
      // As what puts a copy back with its times would.
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: assets.appendingPathComponent(file).path)
    }
    try await DatabaseQueue(path: location.file.path).write { db in
      try db.execute(sql: "INSERT INTO magic_dropped_asset VALUES (?), (?)", arguments: [name("dropped"), name("kept")])
    }
    do {
      // Another process may be about to write the row.
      let magic = try open()
      try await magic.update(Paper("b", "more"))
      #expect(try files() == [name("orphan"), half, "letter.txt", name("kept"), name("more")].sorted())
      try await magic.close()
    }
    // However long it took until here: files have the times of the system.
    world.advance(86_400_000 + 3_600_000)
    let magic = try open()
    try await magic.update(Paper("c", "third"))
    #expect(try files() == ["letter.txt", name("kept"), name("more"), name("third")].sorted())
    #expect(try await magic.object(of: Paper.self, primary: "a").text.value == "kept")
  }

  @Test func theNamesThatWereLetGoOfAreForgottenWithTheirFiles() async throws {
    let magic = try await MagicData(path: database)
    let paper = Paper("a", "one")
    try await magic.update(paper)
    paper.text.value = "two"
    try await magic.update(paper)
    let left = try await magic.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM magic_dropped_asset") }
    #expect(left == 0)
  }
}
