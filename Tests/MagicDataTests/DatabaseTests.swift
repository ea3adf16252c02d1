import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

@Suite struct DatabaseTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test func aPathIsAFolderUnlessItEndsInADatabasesExtension() async throws {
    _ = try await MagicData(path: folder["notes"])
    _ = try await MagicData(path: folder["one.sqlite"].path)
    _ = try await MagicData(path: folder["two.SQLITE3"])
    _ = try await MagicData(path: folder["three.db"])
    let files = try folder.contents().keys.filter {
      !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") && !$0.hasSuffix("-replica")
    }
    #expect(files.sorted() == ["notes", "notes/default.sqlite3", "one.sqlite", "three.db", "two.SQLITE3"])
    #expect(DatabaseLocation(folder["notes"]).assets.lastPathComponent == "files")
    #expect(DatabaseLocation(folder["one.sqlite"]).assets.lastPathComponent == "one.sqlite.files")
  }

  @Test func whatIsStoredIsThereAfterOpeningAgain() async throws {
    try await MagicData(path: folder["db"]).update(Cat("Tom", 4))
    let magic = try await MagicData(path: folder["db"])
    #expect(try await magic.object(of: Cat.self, primary: "Tom").weight == 4)
    try await magic.close()
    await #expect(throws: MagicDataError.self) { try await magic.object(of: Cat.self) }
  }

  @Test func theProgramsOwnDatabaseIsInItsFolder() throws {
    let location = try DatabaseLocation.ofProgram(in: folder.url)
    #expect(location.file.path.hasPrefix(folder.url.path))
    #expect(location.file.lastPathComponent == "default.sqlite3")
  }

  @Test func volatileDatabasesLeaveNoFile() async throws {
    var made: URL?
    for type in [MagicData.Volatile.memory, .temporary] {
      let magic = try await MagicData(type: type)
      try await magic.update(Cat("Tom", 4))
      #expect(try await magic.object(of: Cat.self).count == 1)
      if let location = magic.store.location { made = location.folder }
    }
    let path = try #require(made).path
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func aVolatileDatabaseThatIsClosedLeavesNoFile() async throws {
    let magic = try await MagicData(type: .temporary)
    try await magic.update(Cat("Tom", 4))
    let path = try #require(magic.store.location?.folder).path
    #expect(FileManager.default.fileExists(atPath: path))
    try await magic.close()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  /// An app and its extension start for the first time.
  @Test func aNewDatabaseIsMadeOnceWhoeverOpensIt() async throws {
    for round in 0..<20 {
      let path = folder["new\(round).db"]
      let all = try await withThrowingTaskGroup(of: MagicData.self) { group in
        for _ in 0..<4 { group.addTask { try await MagicData(path: path) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for (number, magic) in all.enumerated() { try await magic.update(Cat("\(number)", 1)) }
      for magic in all { #expect(try await magic.count(of: Cat.self) == 4) }
    }
  }

  @Test func aFileThatIsNoDatabaseIsRefusedAndUnchanged() async throws {
    try Data("This is a letter, and no database. ".utf8 + [UInt8](repeating: 7, count: 5_000)).write(to: folder["letter.db"])
    try await DatabaseQueue(path: folder["other.sqlite"].path).write { db in
      try db.execute(sql: "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
    }
    try Data("x".utf8).write(to: folder["file"])
    // SQLite keeps some texts otherwise there, and orders them otherwise (V-6).
    var wide = Configuration()
    wide.prepareDatabase { db in try db.execute(sql: "PRAGMA encoding = 'UTF-16le'") }
    let encoding = try await DatabaseQueue(path: folder["wide.db"].path, configuration: wide).write { db in
      try db.execute(sql: "CREATE TABLE theirs (a); DROP TABLE theirs")
      return try String.fetchOne(db, sql: "PRAGMA encoding")
    }
    #expect(encoding == "UTF-16le")
    let before = try folder.contents()
    for name in ["letter.db", "other.sqlite", "file", "wide.db"] {
      await #expect { _ = try await MagicData(path: folder[name]) } throws: { error in
        (error as? MagicDataError)?.code == .notADatabase && "\(error)".contains(name)
      }
    }
    #expect(try folder.contents() == before)
  }

  @Test func anotherFormatIsRefused() async throws {
    try await MagicData(path: folder["db.sqlite"]).close()
    try await DatabaseQueue(path: folder["db.sqlite"].path).write { db in try db.execute(sql: "PRAGMA user_version = 2") }
    await #expect { _ = try await MagicData(path: folder["db.sqlite"]) } throws: {
      ($0 as? MagicDataError)?.code == .incompatible && "\($0)".contains(folder["db.sqlite"].path)
    }
  }

  /// To open one waits for who writes to it.
  @Test(arguments: ["pipe.sqlite", "default.sqlite3"]) func aPipeIsNoDatabase(name: String) async throws {
    #expect(mkfifo(folder[name].path, 0o600) == 0)
    let path = name == "default.sqlite3" ? folder.url : folder[name]
    await #expect { _ = try await MagicData(path: path) } throws: {
      ($0 as? MagicDataError)?.code == .notADatabase && "\($0)".contains(folder[name].path)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [name])
  }

  /// What was changed by hand ends nothing.
  @Test(arguments: [Int.min, -1, 0, Int.max]) func theBytesOfALookMayBeAny(bytes: Int) async throws {
    let magic = try await MagicData(path: folder["db"])
    let isDue = try await magic.store.write { db in
      try DigestSchedule.looked(at: 0, hasDiffered: false, db)
      let before = try DigestSchedule.isDue(at: 1, db)
      try db.execute(sql: "UPDATE magic_look SET bytes = ?", arguments: [bytes])
      return try [before, DigestSchedule.isDue(at: 1, db)]
    }
    #expect(isDue == [false, bytes < Int.max])
  }

  @Test func placesThatAreNoDatabasesAreNamed() async throws {
    try FileManager.default.createDirectory(at: folder["remote"], withIntermediateDirectories: false)
    try Data("{}".utf8).write(to: folder["remote/magicdata.json"])
    await #expect { _ = try await MagicData(path: folder["remote"]) } throws: { "\($0)".contains("is a remote") }
    await #expect { _ = try await MagicData(path: "") } throws: { "\($0)".contains("empty") }
    let web = try #require(URL(string: "https://example.org/a"))
    await #expect { _ = try await MagicData(path: web) } throws: { $0.localizedDescription.contains("https: is no place") }
    #expect(try folder.contents().count == 2)
  }

  @Test func aFolderThatIsNotThereIsAnError() async throws {
    try Data("text".utf8).write(to: folder["file"])
    for name in ["no/db", "no/db.sqlite", "file/db", "file/db.sqlite"] {
      await #expect { _ = try await MagicData(path: folder[name]) } throws: { ($0 as? MagicDataError)?.code == .notFound }
    }
    #expect(try folder.contents() == ["file": Data("text".utf8)])
  }

  @Test func twoTypesOfOneNameAreAnError() async throws {
    enum Other {
      struct Cat: MagicObject {
        @PrimaryMagicValue var name: String
        init() {}
      }
    }
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    await #expect { try await magic.object(of: Other.Cat.self) } throws: { error in
      (error as? MagicDataError)?.code == .model && "\(error)".contains("magicName")
    }
  }

  /// SQLite would put what is left of a deleted database into the next one of its name.
  @Test(arguments: ["-wal", "-journal"]) func whatIsLeftOfADeletedDatabaseIsInTheWay(suffix: String) async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    let rest = folder["copy.db" + suffix]
    try Data(String(repeating: "left", count: 9).utf8).write(to: rest)
    await #expect { try await magic.backup(to: folder["copy.db"]) } throws: {
      ($0 as? MagicDataError)?.code == .exists && "\($0)".contains("copy.db" + suffix)
    }
    await #expect {
      _ = try await MagicData.build(at: DatabaseLocation(folder["copy.db"])) { try await $0.update(Cat("Kit", 4)) }
    } throws: { ($0 as? MagicDataError)?.code == .exists }
    #expect(try Data(contentsOf: rest) == Data(String(repeating: "left", count: 9).utf8))
    #expect(try folder.contents().keys.filter { $0.hasPrefix("copy") || $0.hasPrefix(".") } == ["copy.db" + suffix])
    try FileManager.default.removeItem(at: rest)
    try await magic.backup(to: folder["copy.db"])
    #expect(try await MagicData(path: folder["copy.db"]).object(of: Cat.self).map(\.name) == ["Tom"])
  }

  /// SQLite takes the log of a database that was moved away for that of the one that is made there, and deletes it; the last
  /// commits may be there alone.
  @Test(arguments: [false, true]) func theLogOfADatabaseThatWasMovedAwayStays(isEmpty: Bool) async throws {
    let (file, log) = (folder["db.sqlite"], folder["db.sqlite-wal"])
    // As somebody leaves it who is killed.
    let left: (file: Data, log: Data) = try await {
      let magic = try await MagicData(path: file)
      try await magic.update(Cat("Tom", 4))
      return (try Data(contentsOf: file), try Data(contentsOf: log))
    }()
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + suffix) }
    try left.log.write(to: log)
    if isEmpty { try Data().write(to: file) }
    await #expect { _ = try await MagicData(path: file) } throws: {
      ($0 as? MagicDataError)?.code == .exists && "\($0)".contains(log.path)
    }
    #expect(try Data(contentsOf: log) == left.log)
    try left.file.write(to: file)
    #expect(try await MagicData(path: file).object(of: Cat.self).map(\.name) == ["Tom"])
  }

  /// What takes a database's place does so as a whole, or not at all.
  @Test func aDatabaseThatCannotBeReplacedStays() async throws {
    let location = DatabaseLocation(folder["db"])
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    try await magic.close()
    try FileManager.default.createDirectory(at: location.assets, withIntermediateDirectories: true)
    try Data("old".utf8).write(to: location.assets.appendingPathComponent("asset"))
    let (kept, wal) = (folder["kept"], URL(fileURLWithPath: location.file.path + "-wal"))
    await #expect(throws: MagicDataError.self) {
      try await MagicData.build(inPlaceOf: location) { magic in
        try await magic.update(Cat("Kit", 1))
        try FileManager.default.createDirectory(at: magic.store.location!.assets, withIntermediateDirectories: true)
        // As if somebody had written to the old one.
        try Data("wal".utf8).write(to: wal)
        // Nothing takes the place of a folder that is not empty.
        try FileManager.default.moveItem(at: location.file, to: kept)
        try FileManager.default.createDirectory(
          at: location.file.appendingPathComponent("x"), withIntermediateDirectories: true)
      }
    }
    #expect(try Data(contentsOf: location.assets.appendingPathComponent("asset")) == Data("old".utf8))
    #expect(try Data(contentsOf: wal) == Data("wal".utf8))
    for url in [wal, location.file] { try FileManager.default.removeItem(at: url) }
    try FileManager.default.moveItem(at: kept, to: location.file)
    #expect(try await MagicData(path: folder["db"]).object(of: Cat.self).map(\.name) == ["Tom"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["db"].path).filter { $0.hasPrefix(".") } == [])
    _ = try await MagicData.build(inPlaceOf: location) { try await $0.update(Cat("Kit", 1)) }
    #expect(try await MagicData(path: folder["db"]).object(of: Cat.self).map(\.name) == ["Kit"])
    #expect(!FileManager.default.fileExists(atPath: location.assets.path))
  }

  /// Who has it open at neither end of the building may have written to it all the same.
  @Test func whatIsWrittenWhileItsPlaceIsToBeTakenStays() async throws {
    let location = DatabaseLocation(folder["db"])
    func use(_ body: (MagicData) async throws -> Void) async throws {
      let magic = try await MagicData(path: folder["db"])
      try await body(magic)
      try await magic.close()
    }
    try await use { try await $0.update(Cat("Tom", 4)) }
    await #expect {
      try await MagicData.build(inPlaceOf: location) { made in
        try await made.update(Cat("Kit", 1))
        try await use { try await $0.update(Cat("Ann", 2)) }
      }
    } throws: { ($0 as? MagicDataError)?.code == .busy && "\($0)".contains("was written to") }
    func names() async throws -> [String] {
      var names: [String] = []
      try await use { names = try await $0.object(of: Cat.self).map(\.name).sorted() }
      return names
    }
    #expect(try await names() == ["Ann", "Tom"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["db"].path).filter { $0.hasPrefix(".") } == [])
    // Who only reads is in nobody's way.
    _ = try await MagicData.build(inPlaceOf: location) { made in
      try await made.update(Cat("Kit", 1))
      #expect(try await names().count == 2)
    }
    #expect(try await names() == ["Kit"])
  }

  @Test func aDatabaseThatIsReadIsNotReplaced() async throws {
    let location = DatabaseLocation(folder["db"])
    let magic = try await MagicData(path: folder["db"])
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let reader = try DatabaseQueue(path: location.file.path, configuration: configuration)
    try await reader.writeWithoutTransaction { db in
      try db.execute(sql: "BEGIN")
      _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
    }
    try await magic.update(Cat("Tom", 4))
    try await magic.close()
    await #expect {
      try await MagicData.build(inPlaceOf: location) { _ = try await $0.update(Cat("Kit", 1)) }
    } throws: { ($0 as? MagicDataError)?.code == .busy }
    try await reader.writeWithoutTransaction { db in try db.execute(sql: "ROLLBACK") }
    #expect(try await MagicData(path: folder["db"]).object(of: Cat.self).map(\.name) == ["Tom"])
  }

  /// A database that is built of something else is there as a whole or not at all.
  @Test func aDatabaseThatIsBuiltTakesNobodysPlace() async throws {
    struct Stop: Error {}
    let location = DatabaseLocation(folder["new"])
    await #expect(throws: Stop.self) {
      try await MagicData.build(at: location) { magic in
        try await magic.update(Cat("Tom", 4))
        throw Stop()
      }
    }
    #expect(try folder.contents().isEmpty)
    await #expect {
      try await MagicData.build(at: location) { magic in
        try await magic.update(Cat("Tom", 4))
        let other = try await MagicData(path: folder["new"])
        try await other.update(Cat("Kit", 1))
        try await other.close()
      }
    } throws: { ($0 as? MagicDataError)?.code == .exists }
    #expect(try await MagicData(path: folder["new"]).object(of: Cat.self).map(\.name) == ["Kit"])
    _ = try await MagicData.build(at: DatabaseLocation(folder["whole.db"])) { try await $0.update(Cat("Tom", 4)) }
    #expect(try await MagicData(path: folder["whole.db"]).object(of: Cat.self).map(\.name) == ["Tom"])
  }

  /// H-40: SQLite finds its log and its locks by a file's name, so by two names two would each overwrite what the other
  /// commits.
  @Test func aFileWithTwoNamesIsRefused() async throws {
    let names = ["a.sqlite", "b.sqlite"]
    let magic = try await MagicData(path: folder[names[0]])
    try await magic.update(Cat("Tom", 4))
    try await magic.close()
    #expect(link(folder[names[0]].path, folder[names[1]].path) == 0)
    let before = try folder.contents()
    for name in names {
      await #expect {
        _ = try await MagicData(path: folder[name])
      } throws: {
        ($0 as? MagicDataError)?.code == .notAllowed && "\($0)".contains("2 names (hard links)")
      }
    }
    #expect(try folder.contents() == before)
    #expect(unlink(folder[names[1]].path) == 0)
    #expect(try await MagicData(path: folder[names[0]]).object(of: Cat.self).map(\.name) == ["Tom"])
  }

  /// H-40: a copy by links has the log as well, whatever became of the file.
  @Test(arguments: ["-wal", "-shm"]) func aLogWithTwoNamesIsRefused(suffix: String) async throws {
    let magic = try await MagicData(path: folder["a.sqlite"])
    try await magic.update(Cat("Tom", 4))
    try await magic.close()
    #expect(link(folder["a.sqlite" + suffix].path, folder["b.sqlite" + suffix].path) == 0)
    let before = try folder.contents()
    await #expect {
      _ = try await MagicData(path: folder["a.sqlite"])
    } throws: {
      ($0 as? MagicDataError)?.code == .notAllowed && "\($0)".contains("a.sqlite\(suffix) has 2 names (hard links)")
    }
    #expect(try folder.contents() == before)
    #expect(unlink(folder["b.sqlite" + suffix].path) == 0)
    #expect(try await MagicData(path: folder["a.sqlite"]).object(of: Cat.self).map(\.name) == ["Tom"])
  }

  /// Another user's folder, or one that is locked, nobody else takes away.
  @Test func aSecondNameThatItsMakerLeftIsNamed() async throws {
    let location = DatabaseLocation(folder["db.sqlite"])
    _ = try await MagicData.build(at: location) { try await $0.update(Cat("Tom", 4)) }
    let left = folder[".magic-scratch-database-\(UUID().uuidString.lowercased())"]
    let made = left.appendingPathComponent("new")
    try FileManager.default.createDirectory(at: made, withIntermediateDirectories: true)
    let descriptor = open(left.path, O_RDONLY)
    defer { close(descriptor) }
    #expect(flock(descriptor, LOCK_EX) == 0)
    #expect(link(location.file.path, made.appendingPathComponent("default.sqlite3").path) == 0)
    await #expect {
      _ = try await MagicData(path: location.file)
    } throws: {
      ($0 as? MagicDataError)?.code == .notAllowed && "\($0)".contains(left.lastPathComponent)
    }
    try FileManager.default.removeItem(at: left)
    #expect(try await MagicData(path: location.file).object(of: Cat.self).map(\.name) == ["Tom"])
  }

  /// The last step gives the file its name, beside the one under which it was made.
  @Test func whoeverWasKilledAtTheLastStepLocksNobodyOut() async throws {
    let location = DatabaseLocation(folder["db.sqlite"])
    _ = try await MagicData.build(at: location) { try await $0.update(Cat("Tom", 4)) }
    let left = folder[".magic-scratch-database-\(UUID().uuidString.lowercased())"]
    let made = left.appendingPathComponent("new")
    try FileManager.default.createDirectory(at: made, withIntermediateDirectories: true)
    #expect(link(location.file.path, made.appendingPathComponent("default.sqlite3").path) == 0)
    #expect(try await MagicData(path: location.file).object(of: Cat.self).map(\.name) == ["Tom"])
    #expect(!FileManager.default.fileExists(atPath: left.path))
  }

  /// A journal that was damaged by hand is an error where it is read, and no crash.
  @Test(arguments: [
    "UPDATE magic_run SET sequence = -sequence", "UPDATE magic_run SET sequence = sequence + 5",
    "UPDATE magic_run SET first = first - 1", "UPDATE magic_run SET first = -9223372036854775808",
    "UPDATE magic_run SET is_one = 1", "UPDATE magic_run SET sequence = 9223372036854775807",
    "UPDATE magic_journal SET entries = 9223372036854775807", "UPDATE magic_journal SET entries = 0",
    "UPDATE magic_journal SET entries = NULL", "UPDATE magic_journal SET stamp = -stamp",
    "UPDATE magic_journal SET id = 9223372036854775807 WHERE id = 2", "UPDATE magic_journal SET root = 7",
    "UPDATE magic_journal SET data = x''", "UPDATE magic_journal SET data = x'ff'",
    "UPDATE magic_journal SET data = x'020009'", "UPDATE magic_journal SET data = x'0107'",
    "DELETE FROM magic_journal",
    "UPDATE magic_replica SET uuid = x'00'", "UPDATE magic_field SET type = 9", "UPDATE magic_type SET id = 3",
    "UPDATE magic_field SET id = id + 7",
  ]) func aDamagedJournalIsAnError(sql: String) async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    try await magic.update(Cat("Kit", 4))
    try await magic.store.write { db in try db.execute(sql: sql) }
    await #expect { _ = try await NaiveFold(journalOf: magic) } throws: { ($0 as? MagicDataError)?.code == .notADatabase }
  }

  /// J-4: the same of one that takes several rows: who asks for its run alone does not get a part of it for the whole.
  @Test(arguments: [
    "UPDATE magic_journal SET entries = entries - 1 WHERE id = 1",
    "UPDATE magic_journal SET entries = entries + 1 WHERE entries IS NOT NULL", "UPDATE magic_run SET is_one = 0",
    "UPDATE magic_journal SET entries = :boundary WHERE id = 1",
    "UPDATE magic_journal SET entries = 3 WHERE id = 2",
    "DELETE FROM magic_journal WHERE id = (SELECT max(id) FROM magic_journal)",
    "UPDATE magic_journal SET tag = tag + 1 WHERE id = 2",
  ]) func aLargeTransactionThatWasCutIsAnError(sql: String) async throws {
    let magic = try await MagicData(path: folder["db"])
    // Names of one length, so that all rows but the last have as many entries.
    try await magic.update(contentsOf: (1_000..<1_400).map { Cat("\($0)", 4) })
    let (replica, rows) = try await magic.store.read { db in
      (try DatabaseState(db).replica, try Int.fetchOne(db, sql: "SELECT count(*) FROM magic_journal") ?? 0)
    }
    #expect(rows > 3)
    let parts = try await magic.store.read { db in
      var counts: [Int] = []
      try JournalReader(db).forEachPart(of: replica, after: 0, through: 1) { counts.append($0.transaction.entries.count) }
      return counts
    }
    #expect(parts.count == rows && parts.reduce(0, +) == 400)
    let statement = sql.replacing(":boundary", with: "\(parts[0] + parts[1])")
    try await magic.store.write { db in try db.execute(sql: statement) }
    try await magic.store.read { db in
      #expect(throws: MagicDataError.self) { try JournalReader(db).forEachPart(of: replica, after: 0, through: 1) { _ in } }
      #expect(throws: MagicDataError.self) { try JournalReader(db).transactions(of: replica, from: 1, atMost: 1) }
      #expect(throws: MagicDataError.self) { try JournalReader(db).forEachTransaction { _ in } }
    }
  }

  /// H-40, J-34: two openings of one file, as two processes have them.
  @Test func twoOpeningsOfOneFileLoseNothing() async throws {
    let (one, two) = (try await MagicData(path: folder["db"]), try await MagicData(path: folder["db"]))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, magic) in [one, two].enumerated() {
        group.addTask {
          for index in 0..<50 { try await magic.update(Cat("\(number)-\(index)", Double(index))) }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await one.object(of: Cat.self).count == 100)
    let (frontier, state) = try await two.store.read { db in (try JournalReader(db).frontier(), try DatabaseState(db)) }
    #expect(frontier[state.replica] == 100)
  }

  /// The file grows and shrinks while it is mapped, by this opening and by another.
  @Test func aMappedFileIsReadAsItIs() async throws {
    let magic = try await MagicData(path: folder["db"], reads: .mapped)
    let other = try await MagicData(path: folder["db"])
    for round in 1...3 {
      let writer = round.isMultiple(of: 2) ? magic : other
      try await writer.update(contentsOf: (0..<3_000).map { Cat("\(round), \($0)", Double($0)) })
      #expect(try await magic.object(of: Cat.self, primary: "\(round), 2999").weight == 2_999)
      #expect(try await magic.object(of: Cat.self).count == 3_000)
      // The file becomes smaller than what is mapped of it.
      #expect(try await writer.query(of: Cat.self).where { $0.weight > 9 }.remove() == 2_990)
      try await other.store.shrink()
      await #expect(throws: MagicDataError.self) { _ = try await magic.object(of: Cat.self, primary: "\(round), 2999") }
      #expect(try await magic.query(of: Cat.self).sorted(by: \.weight).all().map(\.weight) == (0..<10).map(Double.init))
      #expect(try await writer.query(of: Cat.self).remove() == 10)
    }
    try await magic.update(Cat("Tom", 4))
    try await magic.close()
    try await other.close()
    for (reads, isMapped) in [(MagicData.Reads.mapped, true), (.copied, false)] {
      let again = try await MagicData(path: folder["db"], reads: reads)
      #expect(try await again.object(of: Cat.self).map(\.name) == ["Tom"])
      let most = try again.store.readBlocking { db in try Int.fetchOne(db, sql: "PRAGMA mmap_size") }
      #expect((most ?? 0 > 0) == isMapped)
    }
  }

  /// H-40, C-3: what one transaction has left, the next one takes for true only if nobody has written in between.
  @Test(arguments: Between.allCases) fileprivate func aTransactionGoesOnFromWhatIsThereByThen(between: Between) async throws {
    let magic = try await MagicData(path: folder["db"])
    let tom = Cat("Tom", 0)
    var expected: UInt64 = 0
    for round in 1...4 {
      // The second goes on from what the first has left.
      for part in [0.1, 0.2] {
        tom.weight = Double(round) + part
        try await magic.update(tom)
      }
      #expect(try await kept(magic) == state(magic))
      let before = try await state(magic)
      expected += 2 + (try await between.write(magic, at: folder["db"], round, last: before.lastStamp))
      if [.otherOpening, .clock, .transaction, .blocking, .merge].contains(between) { #expect(try await kept(magic) == nil) }
      tom.weight = Double(round) + 0.3
      try await magic.update(tom)
      expected += 1
      let after = try await state(magic)
      #expect(after.lastStamp > before.lastStamp)
      if between == .clock { #expect(after.lastStamp.milliseconds > before.lastStamp.milliseconds + 1_000) }
      #expect(after.lastSequence == expected)
    }
    let (frontier, own, names) = try await magic.store.read { db in
      let own = try DatabaseState(db).replica
      var names: [TransactionName] = []
      try JournalReader(db).forEachTransaction { if $0.replica == own { names.append($0.name) } }
      return (try JournalReader(db).frontier(), own, names)
    }
    #expect(frontier[own] == expected)
    #expect(names.count == Int(expected) && Set(names).count == names.count && names == names.sorted { $0.stamp < $1.stamp })
    #expect(try await magic.object(of: Cat.self, primary: "Tom").weight == 4.3)
  }

  private func state(_ magic: MagicData) async throws -> DatabaseState {
    try await magic.store.read { db in try DatabaseState(db) }
  }

  /// What a transaction that begins now goes on from without a look.
  private func kept(_ magic: MagicData) async throws -> DatabaseState? {
    try await magic.store.write { db in magic.store.lastState.kept(db) }
  }

  /// C-3: what single changes leave that are more than a row of the journal, or nothing at all, and in memory.
  @Test(arguments: [false, true]) func whatATransactionLeavesIsWhatTheNextOneFinds(inMemory: Bool) async throws {
    let magic = try await inMemory ? MagicData(type: .memory) : MagicData(path: folder["db"])
    try await magic.update(contentsOf: (1_000..<1_400).map { Cat("\($0)", 4) })
    let tom = Cat("Tom", 1)
    try await magic.update(tom)
    #expect(try await kept(magic) == state(magic))
    // Nothing has changed.
    try await magic.update(tom)
    #expect(try await kept(magic) == state(magic))
    // One transaction of several rows.
    #expect(try await magic.query(of: Cat.self).where { $0.weight == 4 }.remove() == 400)
    #expect(try await magic.store.read { db in try Int.fetchOne(db, sql: "SELECT max(is_one) FROM magic_run") } == 1)
    #expect(try await kept(magic) == state(magic))
    try await magic.remove(tom)
    #expect(try await kept(magic) == state(magic))
  }

  /// A row whose name SQL has damaged is an error to who saves what was fetched from it, and no second object.
  @Test func aNameThatCannotBeReadIsAnError() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(contentsOf: [Cat("Tom", 4), Cat("Ben", 5)])
    let cats = try await magic.query(of: Cat.self).sorted(by: \.name).all()
    try await magic.store.write { db in try db.execute(sql: "UPDATE Cat SET name = CAST(name AS BLOB)") }
    for cat in cats {
      cat.weight = 9
      await #expect(throws: MagicDataError.self) { try await magic.update(cat) }
    }
    let found = try await magic.store.read { db in try Double.fetchAll(db, sql: "SELECT weight FROM Cat ORDER BY weight") }
    #expect(found == [4, 5])
  }

  /// H-3, L-1, C-2, C-3: a clock that was set back, or begins at 1970.
  @Test func stampsRiseWhenTheClockGoesBack() async throws {
    let world = World()
    let location = DatabaseLocation(folder["db"])
    var last = Stamp.earliest
    for milliseconds: Int64 in [0, -5_000, -1_750_000_000_000, 10] {
      let magic = MagicData(store: try Store(.file(location, mustExist: false), world.surroundings(skew: milliseconds)))
      try await magic.update(Cat("Tom", Double(milliseconds)))
      let stamp = try await magic.store.read { db in try DatabaseState(db).lastStamp }
      #expect(stamp > last)
      last = stamp
    }
  }

  /// L-8: a row whose required values are not all there is kept and not shown.
  @Test func anIncompleteObjectIsNotShown() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    try await magic.store.write { db in try db.execute(sql: "UPDATE Cat SET weight = NULL") }
    #expect(try await magic.object(of: Cat.self).isEmpty)
    #expect(try await !magic.has(of: Cat.self, primary: "Tom"))
    try await magic.update(Cat("Tom", 5))
    #expect(try await magic.object(of: Cat.self, primary: "Tom").weight == 5)
  }

  /// H-23: an app that does not know a field leaves it alone.
  @Test func anOlderModelKeepsFieldsThatItDoesNotKnow() async throws {
    enum Old {
      struct Cat: MagicObject {
        @PrimaryMagicValue var name: String
        @MagicValue var weight: Double
        init() {}
      }
    }
    let magic = try await MagicData(path: folder["db"])
    let tom = Cat("Tom", 4)
    tom.owner = "Jon"
    try await magic.update(tom)
    let older = try await MagicData(path: folder["db"])
    let old = try await older.object(of: Old.Cat.self, primary: "Tom")
    old.weight = 5
    try await older.update(old)
    #expect(try await magic.object(of: Cat.self, primary: "Tom").owner == "Jon")
    #expect(try await magic.object(of: Cat.self, primary: "Tom").weight == 5)
  }

  /// What is stored would be hidden without a word.
  @Test func aNewRequiredValueWithoutADefaultIsAnError() async throws {
    enum New {
      struct Cat: MagicObject {
        @PrimaryMagicValue var name: String
        @MagicValue var weight: Double
        @MagicValue var colour: String
        init() {}
      }
    }
    enum Other {
      struct Cat: MagicObject {
        @PrimaryMagicValue var name: String
        @MagicValue var weight: String
        init() {}
      }
    }
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    let (new, other) = (try await MagicData(path: folder["db"]), try await MagicData(path: folder["db"]))
    await #expect { try await new.object(of: New.Cat.self) } throws: { error in
      (error as? MagicDataError)?.code == .model && "\(error)".contains("Cat.colour") && "\(error)".contains("new and required")
    }
    await #expect { try await other.object(of: Other.Cat.self) } throws: { error in
      (error as? MagicDataError)?.code == .model && "\(error)".contains("stored as real")
    }
    #expect(try await magic.object(of: Cat.self, primary: "Tom").weight == 4)
    let columns = try await magic.store.read { db in try db.columns(in: "Cat").map(\.name) }
    #expect(columns == ["z_index", "name", "magic_last", "weight", "lives", "owner"])
  }

  /// H-25: a new field's default is shown, and not journaled.
  @Test func aNewFieldWithADefaultIsTakenOver() async throws {
    enum Old {
      struct Cat: MagicObject {
        @PrimaryMagicValue var name: String
        @MagicValue var weight: Double
        init() {}
      }
    }
    let old = Old.Cat()
    (old.name, old.weight) = ("Tom", 4)
    try await MagicData(path: folder["db"]).update(old)
    let magic = try await MagicData(path: folder["db"])
    #expect(try await magic.object(of: Cat.self, primary: "Tom").lives == 9)
    let tom = try await magic.object(of: Cat.self, primary: "Tom")
    try await magic.update(tom)
    #expect(try await Dump(magic).objects.values.first?["lives integer"] == nil)
  }
}

/// What writes to a database between two updates.
private enum Between: CaseIterable {
  case nothing, failure, transaction, blocking, otherOpening, otherType, merge, clock

  /// - Returns: how many transactions of the own replica it adds.
  func write(_ magic: MagicData, at path: URL, _ round: Int, last: Stamp) async throws -> UInt64 {
    switch self {
    case .nothing:
      return 0
    case .failure:
      struct Failure: Error {}
      await #expect(throws: Failure.self) {
        try await magic.transaction { transaction in
          try await transaction.update(Cat("Lost", 1))
          throw Failure()
        }
      }
      return 0
    case .transaction:
      try await magic.transaction { transaction in
        for number in 0..<3 { try await transaction.update(Cat("\(round)-\(number)", 1)) }
      }
      return 1
    case .blocking:
      try await Task.detached { _ = try magic.blocking.update(Cat("Blocking", Double(round))) }.value
      return 1
    case .otherOpening:
      let other = try await MagicData(path: path)
      for number in 0..<3 { try await other.update(Cat("\(round)-\(number)", 1)) }
      try await other.close()
      return 3
    case .otherType:
      struct Dog: MagicObject {
        @PrimaryMagicValue var name: String
        init() {}
      }
      let dog = Dog()
      dog.name = "\(round)"
      try await magic.update(dog)
      return 1
    case .merge:
      // A run of another replica's becomes the journal's last, as a merge leaves it.
      try await magic.store.write { db in
        let state = try DatabaseState(db)
        var writer = JournalWriter(state)
        let other = ReplicaID(UInt64(round), 7)
        let name = TransactionName(stamp: Stamp(state.lastStamp.bits + 1), tag: UInt32(round))
        try writer.begin(replica: other, sequence: 1, name: name, root: other, db)
        let entry = Entry(type: 0, key: .primary(.text("Rex \(round)")), operation: .remove, fields: [])
        _ = try writer.append(entry, zIndex: Int64(1_000 + round), previous: .none, db)
        try writer.finish(db)
        try writer.moveClock(to: name.stamp, db)
      }
      return 0
    case .clock:
      // As another process's merge moves it.
      try await DatabaseQueue(path: DatabaseLocation(path).file.path).write { db in
        try db.execute(
          sql: "UPDATE magic_database SET last_stamp = ?", arguments: [Stamp(last.bits + 2_000 << 16).stored])
      }
      return 0
    }
  }
}
