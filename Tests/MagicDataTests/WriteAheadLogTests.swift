import Foundation
import GRDB
import TestSupport
import Testing

@testable import MagicData

/// SQLite's log is brought into the file beside the writers, and stays short.
@Suite(.timeLimit(.minutes(15))) struct WriteAheadLogTests {
  private static let (pageBytes, count) = (4_096 + 24, 500)
  let folder: TemporaryFolder
  let location: DatabaseLocation

  init() throws {
    folder = try TemporaryFolder()
    location = DatabaseLocation(folder["db.sqlite"])
  }

  private func bytes(_ suffix: String = "", in folder: URL? = nil) -> Int {
    let path = (folder ?? self.folder.url).appendingPathComponent("db.sqlite\(suffix)").path
    return (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
  }

  /// More than a thousand pages each time.
  private func writeMuch(_ magic: MagicData, _ round: Int) async throws {
    let text = String(repeating: "x", count: 3_000)
    try await magic.update(contentsOf: (0..<Self.count).map { Cat("\(round) \($0) \(text)", Double($0)) })
  }

  @Test func theLogStaysShortWhileOneWritesOn() async throws {
    let magic = try await MagicData(path: location.file)
    let cat = Cat("Tom", 0)
    // Two pages each: the object's and the journal's.
    for lives in 1...6_000 {
      cat.lives = lives
      try magic.blocking.update(cat)
    }
    #expect(bytes("-wal") < (WriteAheadLog.most + 2 * WriteAheadLog.step) * Self.pageBytes)
    try await magic.close()
    #expect(try await MagicData(path: location.file).object(of: Cat.self, primary: "Tom").lives == 6_000)
  }

  /// The file of the log grows ahead of what is written; what is there for that is nothing to whoever opens it after a crash.
  @Test func theRoomThatTheLogHasAheadIsNothing() async throws {
    let magic = try await MagicData(path: location.file)
    let cat = Cat("Tom", 0)
    for lives in 1...300 {
      cat.lives = lives
      try await magic.update(cat)
    }
    let log = try Data(contentsOf: folder["db.sqlite-wal"])
    // A page of the log says with the same eight bytes as its beginning that it is one (https://www.sqlite.org/walformat.html,
    // 2.2).
    let starts = stride(from: 32, to: log.count - Self.pageBytes, by: Self.pageBytes)
    let frames = starts.prefix { log[$0 + 8..<$0 + 16] == log[16..<24] }.count
    #expect(frames >= 600 && log.count > 32 + frames * Self.pageBytes)
    #expect(log[(32 + frames * Self.pageBytes)...].allSatisfy { $0 == 0 })
    try FileManager.default.createDirectory(at: folder["copy"], withIntermediateDirectories: true)
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(at: folder["db.sqlite\(suffix)"], to: folder["copy/db.sqlite\(suffix)"])
    }
    #expect(try await MagicData(path: folder["copy/db.sqlite"]).object(of: Cat.self, primary: "Tom").lives == 300)
    // Of a log that is cut short again there is room again.
    try await magic.store.database.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
    #expect(bytes("-wal") == 0)
    cat.lives = 0
    try await magic.update(cat)
    #expect(try await MagicData(path: location.file).object(of: Cat.self, primary: "Tom").lives == 0)
  }

  @Test func theLogStaysShortWhileTwoWriteOn() async throws {
    let all = [try await MagicData(path: location.file), try await MagicData(path: location.file)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, magic) in all.enumerated() {
        group.addTask {
          for lives in 1...3_000 {
            let cat = Cat("Tom \(number)", 0)
            cat.lives = lives
            try await magic.update(cat)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(bytes("-wal") < (WriteAheadLog.most + 3 * WriteAheadLog.step) * Self.pageBytes)
    for magic in all { #expect(try await magic.object(of: Cat.self).map(\.lives) == [3_000, 3_000]) }
  }

  /// Another file that has its name by now is not written to.
  @Test func whoClosesTwiceChangesNothingOfAnotherFile() async throws {
    let magic = try await MagicData(path: location.file)
    try await writeMuch(magic, 0)
    try await magic.close()
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
      try FileManager.default.removeItem(at: folder[name])
    }
    let other = try DatabaseQueue(path: location.file.path)
    try await other.write { db in try db.execute(sql: "PRAGMA application_id = 77; CREATE TABLE t (a)") }
    try other.close()
    let before = try folder.contents()
    try? await magic.close()
    #expect(try folder.contents() == before)
  }

  /// A connection that is opened later would read another database's objects beside those of the first.
  @Test func whatIsReadIsOfOneFileThoughAnotherTookItsName() async throws {
    let magic = try await MagicData(path: location.file)
    try await magic.update(Cat("Tom", 4))
    let other = try await MagicData(path: folder["other.sqlite"])
    try await other.update(contentsOf: [Cat("Ann", 3), Cat("Bob", 5)])
    try await other.close()
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: location.file.path + suffix) }
    #expect(rename(folder["other.sqlite"].path, location.file.path) == 0)
    let (store, isHeld, isOver) = (magic.store, DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      try? store.database.read { db in
        isHeld.signal()
        isOver.wait()
      }
    }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        isHeld.wait()
        continuation.resume()
      }
    }
    let error = #expect(throws: MagicDataError.self) { try store.database.read { _ in } }
    #expect(error?.code == .notFound && "\(error as Any)".contains("replaced by another file"))
    var isRead = false
    _ = try store.lookUps?.read { _ in isRead = try store.lookUps?.read { _ in true } != nil }
    #expect(!isRead)
    isOver.signal()
  }

  @Test func whatIsInTheLogComesIntoTheFileWithoutAnotherWrite() async throws {
    let magic = try await MagicData(path: location.file)
    try await writeMuch(magic, 0)
    for _ in 0..<1_000 where bytes() < Self.count * 3_000 { try await Task.sleep(for: .milliseconds(10)) }
    #expect(bytes() >= Self.count * 3_000)
    #expect(try await magic.object(of: Cat.self).count == Self.count)
  }

  @Test(arguments: [false, true]) func whoClosesLeavesNothingInTheLogAlone(isBlocking: Bool) async throws {
    let magic = try await MagicData(path: location.file)
    for round in 0..<3 { try await writeMuch(magic, round) }
    if isBlocking { try magic.blocking.close() } else { try await magic.close() }
    // Whoever opens it has nothing to read, and need not write.
    #expect(bytes("-wal") == 32)
    // The file alone, without its log.
    let copy = folder["copy.sqlite"]
    try FileManager.default.copyItem(at: location.file, to: copy)
    #expect(try await MagicData(path: copy).object(of: Cat.self).count == 3 * Self.count)
    // Nothing is left to be brought into it.
    let before = try Data(contentsOf: location.file)
    let reader = try await MagicData(path: location.file)
    #expect(try await reader.object(of: Cat.self).count == 3 * Self.count)
    try await reader.close()
    #expect(try Data(contentsOf: location.file) == before)
  }

  /// H-7: what a backup is put in place of shines through nowhere.
  @Test(arguments: [false, true]) func aBackupThatIsPutBackIsReadAlone(isRenamed: Bool) async throws {
    let backup = folder["backup.sqlite"]
    for count in [20, 300] {
      let magic = try await MagicData(path: location.file)
      try? FileManager.default.removeItem(at: backup)
      try await magic.backup(to: backup)
      let before = try await magic.object(of: Cat.self).count
      try await magic.update(contentsOf: (0..<count).map { Cat("\(count) \($0)", 1) })
      try await magic.close()
      if isRenamed {
        try FileManager.default.removeItem(at: location.file)
        try FileManager.default.moveItem(at: backup, to: location.file)
      } else {
        let handle = try FileHandle(forWritingTo: location.file)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(contentsOf: backup))
        try handle.close()
      }
      let restored = try await MagicData(path: location.file)
      #expect(try await restored.object(of: Cat.self).count == before)
      #expect(try await restored.store.read { db in try String.fetchAll(db, sql: "PRAGMA integrity_check") } == ["ok"])
      try await restored.update(contentsOf: (0..<30).map { Cat("kept \(count) \($0)", 1) })
      try await restored.close()
    }
    // A place whose database was deleted can be used again.
    try FileManager.default.removeItem(at: location.file)
    try await MagicData(path: backup.deletingLastPathComponent().appendingPathComponent("db2.sqlite")).backup(to: location.file)
  }

  /// H-40: a copy that another tool made says that it has no log, and every tool that opens it has to find the same.
  @Test func aFileWithoutALogGetsOneAlsoWhereOneLies() async throws {
    let copy = folder["copy.sqlite"]
    let magic = try await MagicData(path: location.file)
    try await magic.update(Cat("Tom", 4))
    try await magic.store.database.writeWithoutTransaction { db in
      try db.execute(sql: "VACUUM INTO ?", arguments: [copy.path])
    }
    try await magic.close()
    #expect(bytes("-wal") == 32)
    #expect(try Data(contentsOf: copy)[18..<20] == Data([1, 1]))
    try FileManager.default.removeItem(at: location.file)
    try FileManager.default.moveItem(at: copy, to: location.file)
    let restored = try await MagicData(path: location.file)
    try await restored.update(Cat("Kit", 1))
    try await restored.close()
    #expect(try Data(contentsOf: location.file)[18..<20] == Data([2, 2]))
    #expect(try await MagicData(path: location.file).object(of: Cat.self).map(\.name).sorted() == ["Kit", "Tom"])
  }

  /// Who closes while another has it open leaves it to that one, who loses nothing.
  @Test func whoClosesLastClearsTheLog() async throws {
    let all = [try await MagicData(path: location.file), try await MagicData(path: location.file)]
    try await all[0].update(Cat("Tom", 1))
    try await all[0].close()
    #expect(bytes("-wal") > 32)
    try await all[1].update(Cat("Ann", 1))
    try await all[1].close()
    #expect(bytes("-wal") == 32)
    let reader = try await MagicData(path: location.file)
    #expect(try await reader.object(of: Cat.self).count == 2)
    #expect(bytes("-wal") == 32)
  }

  private func expectDisplaced(sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void) async {
    do {
      try await body()
      Issue.record("it was acknowledged", sourceLocation: sourceLocation)
    } catch {
      #expect((error as? MagicDataError)?.code == .notFound, "\(error)", sourceLocation: sourceLocation)
    }
  }

  /// Its log is not found by its name any more: the writer's own connection brings it into the file.
  @Test func aMovedDatabaseTakesNothingMoreAndLosesNothing() async throws {
    let (first, second) = (folder["first"], folder["second"])
    try FileManager.default.createDirectory(at: first, withIntermediateDirectories: true)
    let magic = try await MagicData(path: first.appendingPathComponent("db.sqlite"))
    for round in 0..<3 { try await writeMuch(magic, round) }
    try FileManager.default.moveItem(at: first, to: second)
    try FileManager.default.createDirectory(at: first, withIntermediateDirectories: true)
    await expectDisplaced { _ = try await magic.update(Cat("Tom", 1)) }
    try await magic.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: first.path).isEmpty)
    #expect(bytes("-wal", in: second) <= 32)
    #expect(
      try await MagicData(path: second.appendingPathComponent("db.sqlite")).object(of: Cat.self).count == 3 * Self.count)
  }

  /// H-5, J-34: what is in the log beside a file when that is opened SQLite takes for its own, and the log of one that was
  /// there before has its name.
  @Test(arguments: [false, true]) func aFileThatTookTheNameOfAnOpenDatabaseStaysAsItWas(isWritten: Bool) async throws {
    let other = try await MagicData(path: folder["other.sqlite"])
    try await other.update(contentsOf: (0..<300).map { Cat("other \($0)", 1) })
    try await other.close()
    let before = try Data(contentsOf: folder["other.sqlite"])
    let magic = try await MagicData(path: location.file)
    try await magic.update(contentsOf: (0..<300).map { Cat("\($0)", 2) })
    let held = try await magic.object(of: Cat.self, primary: "7")
    held.weight = 3
    #expect(rename(folder["other.sqlite"].path, location.file.path) == 0)
    if isWritten {
      await expectDisplaced { _ = try await magic.update(held) }
      await expectDisplaced { try await magic.update(contentsOf: (0..<9).map { Cat("new \($0)", 1) }) }
      await expectDisplaced { _ = try await magic.transaction { try await $0.update(Cat("new", 1)) } }
      await expectDisplaced { _ = try magic.blocking.update(Cat("new", 1)) }
      await expectDisplaced { try await magic.store.write { db in try db.execute(sql: "CREATE TABLE t (a)") } }
    }
    try await magic.close()
    #expect(bytes("-wal") <= 32)
    #expect(try Data(contentsOf: location.file) == before)
    let opened = try await MagicData(path: location.file)
    #expect(try await opened.store.read { db in try String.fetchAll(db, sql: "PRAGMA integrity_check") } == ["ok"])
    let names = try await opened.object(of: Cat.self).map(\.name)
    #expect(names.count == 300 && names.allSatisfy { $0.hasPrefix("other ") })
    try await opened.update(Cat("more", 1))
    #expect(try await opened.object(of: Cat.self).count == 301)
  }

  /// L-13: nor is a transaction acknowledged that began before.
  @Test(arguments: [false, true]) func aTransactionWhoseFileGoesMeanwhileIsNotCommitted(isBlocking: Bool) async throws {
    let magic = try await MagicData(path: location.file)
    try await magic.update(Cat("Tom", 4))
    let (file, aside) = (location.file.path, folder["aside"].path)
    await expectDisplaced {
      if isBlocking {
        try magic.blocking.transaction { transaction in
          try transaction.update(Cat("Kit", 1))
          #expect(rename(file, aside) == 0)
        }
      } else {
        try await magic.transaction { transaction in
          try await transaction.update(Cat("Kit", 1))
          #expect(rename(file, aside) == 0)
        }
      }
    }
    // Once it has its name again, it is as it was.
    #expect(rename(aside, file) == 0)
    #expect(try await magic.object(of: Cat.self).map(\.name) == ["Tom"])
    try await magic.update(Cat("Kit", 2))
    #expect(try await magic.object(of: Cat.self).count == 2)
  }

  /// J-34: also of one that is short, if it took long.
  @Test(arguments: [false, true]) func aLongWriteWhoseFileGoesMeanwhileIsNotCommitted(isBlocking: Bool) async throws {
    let magic = try await MagicData(path: location.file)
    try await magic.update(Cat("Tom", 4))
    let (file, aside) = (location.file.path, folder["aside"].path)
    await expectDisplaced {
      if isBlocking {
        try magic.store.writeInTurnBlocking { db in
          try db.execute(sql: "CREATE TABLE late (a)")
          #expect(rename(file, aside) == 0)
        }
      } else {
        try await magic.store.change { transaction in
          try transaction.db.execute(sql: "CREATE TABLE late (a)")
          #expect(rename(file, aside) == 0)
          usleep(50_000)
        }
      }
    }
    #expect(rename(aside, file) == 0)
    #expect(try await magic.store.read { db in try db.tableExists("late") } == false)
    try await magic.update(Cat("Kit", 2))
    #expect(try await magic.object(of: Cat.self).count == 2)
  }

  /// J-34: a file that cannot be looked at has not gone, and takes writes again when it can be.
  @Test func aFileThatCannotBeLookedAtIsNotDisplaced() async throws {
    let (place, aside) = (folder["place"], folder["aside"])
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    let magic = try await MagicData(path: place.appendingPathComponent("db.sqlite"))
    try await magic.update(Cat("Tom", 1))
    #expect(rename(place.path, aside.path) == 0)
    // Longer than a name may be.
    #expect(symlink(String(repeating: "x", count: 300), place.path) == 0)
    await #expect {
      _ = try await magic.update(Cat("Kit", 1))
    } throws: {
      let error = $0 as? MagicDataError
      return error?.code == .failed && error?.cause == nil && "\($0)".contains("nothing was written")
    }
    #expect(unlink(place.path) == 0 && rename(aside.path, place.path) == 0)
    try await magic.update(Cat("Kit", 1))
    #expect(try await magic.object(of: Cat.self).count == 2)
  }

  /// A closed database, whose file may take another one's place.
  private func makeOther() async throws {
    let other = try await MagicData(path: folder["other.sqlite"])
    try await other.update(contentsOf: (0..<300).map { Cat("other \($0)", 1) })
    try await other.close()
  }

  private func expectOther() async throws {
    let opened = try await MagicData(path: location.file)
    #expect(try await opened.store.read { db in try String.fetchAll(db, sql: "PRAGMA integrity_check") } == ["ok"])
    let names = try await opened.object(of: Cat.self).map(\.name)
    #expect(names.count == 300 && names.allSatisfy { $0.hasPrefix("other ") })
  }

  private func expectBusy(_ words: String, _ body: () async throws -> Void) async {
    await #expect {
      try await body()
    } throws: {
      ($0 as? MagicDataError)?.code == .busy && "\($0)".contains(words)
    }
  }

  private func expectSound(_ file: URL, _ count: Int) async throws {
    let opened = try await MagicData(path: file)
    #expect(try await opened.store.read { db in try String.fetchAll(db, sql: "PRAGMA integrity_check") } == ["ok"])
    #expect(try await opened.object(of: Cat.self).count == count)
    try await opened.close()
  }

  /// J-34: under its new name the file has another log, and neither of two who use one each would see what the other commits.
  @Test(arguments: [false, true]) func aMovedDatabaseIsOpenedWhenItIsClosed(isLinked: Bool) async throws {
    let (magic, moved) = (try await MagicData(path: location.file), folder["moved.sqlite"])
    try await magic.update(contentsOf: (0..<300).map { Cat("\($0)", 2) })
    #expect(rename(location.file.path, moved.path) == 0)
    if isLinked { #expect(symlink("moved.sqlite", location.file.path) == 0) }
    await expectDisplaced { _ = try await magic.update(Cat("Kit", 1)) }
    await expectBusy("close it first") { _ = try await MagicData(path: moved) }
    try await magic.close()
    #expect(bytes("-wal") == 0)
    try await expectSound(moved, 300)
  }

  /// L-13, J-34: what goes to a log that nobody finds is not acknowledged.
  @Test(arguments: [["-wal"], ["-wal", "-shm"]])
  func aDatabaseWhoseLogWasRemovedTakesNothingMoreAndLosesNothing(suffixes: [String]) async throws {
    let magic = try await MagicData(path: location.file)
    try await magic.update(contentsOf: (0..<300).map { Cat("\($0)", 2) })
    for suffix in suffixes { try FileManager.default.removeItem(atPath: location.file.path + suffix) }
    await expectDisplaced { _ = try await magic.update(Cat("Kit", 1)) }
    await expectDisplaced { try await magic.update(contentsOf: (0..<9).map { Cat("new \($0)", 1) }) }
    await expectBusy("close it first") { _ = try await MagicData(path: location.file) }
    try await magic.close()
    try await expectSound(location.file, 300)
  }

  /// A process that has read a database, and has it open until its input ends.
  private func reader(of file: URL) throws -> (process: ChildProcess, input: Pipe) {
    let script = """
      import os, sqlite3, sys
      database = sqlite3.connect(sys.argv[1], isolation_level=None)
      database.execute("SELECT count(*) FROM sqlite_master").fetchall()
      os.write(1, b".")
      sys.stdin.read()
      """
    let (input, output) = (Pipe(), Pipe())
    let process = try Tool.python.start(["-c", script, file.path], input: input, output: output)
    #expect(output.fileHandleForReading.availableData == Data(".".utf8))
    return (process, input)
  }

  /// J-34: another process has it open, under the name that it had, or with a log that was removed. Beside the name of another
  /// one a log of that lies already.
  @Test(arguments: ["moved.sqlite", "other.sqlite", "db.sqlite"])
  func aFileThatAnotherProcessHasOpenWithAnotherLogIsRefused(name: String) async throws {
    try await makeOther()
    // Of a file that this process has a database of, closed or not, it does not look at the locks.
    func makeTom() async throws {
      let magic = try await MagicData(path: location.file)
      try await magic.update(Cat("Tom", 4))
      try await magic.close()
    }
    try await makeTom()
    // It is let go of on another thread, which may have to wait for its turn.
    while Store.ifNotOpen(location.file, { true }) == nil { try await Task.sleep(for: .milliseconds(10)) }
    let (process, input) = try reader(of: location.file)
    if folder[name].path == location.file.path {
      for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: location.file.path + suffix) }
    } else {
      #expect(rename(location.file.path, folder[name].path) == 0)
    }
    let words = "process \(process.processIdentifier) has this file open under another name"
    await expectBusy(words) { _ = try await MagicData(path: folder[name]) }
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    try await expectSound(folder[name], 1)
  }

  /// J-34: who has nothing in a log that was removed takes nothing away that another program has committed since.
  @Test func aLogThatAnotherProgramHasBegunStays() async throws {
    let made = try await MagicData(path: location.file)
    try await made.update(Cat("Tom", 4))
    try await made.close()
    let magic = try await MagicData(path: location.file)
    #expect(try await magic.object(of: Cat.self).count == 1)
    for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: location.file.path + suffix) }
    let script = """
      import os, sqlite3, sys
      database = sqlite3.connect(sys.argv[1], isolation_level=None)
      database.execute("CREATE TABLE others (x)")
      database.execute("INSERT INTO others VALUES (1), (2)")
      os.write(1, b".")
      sys.stdin.read()
      os._exit(0)
      """
    let (input, output) = (Pipe(), Pipe())
    let process = try Tool.python.start(["-c", script, location.file.path], input: input, output: output)
    #expect(output.fileHandleForReading.availableData == Data(".".utf8))
    try await magic.close()
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    let opened = try await MagicData(path: location.file)
    #expect(try await opened.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM others") } == 2)
    #expect(try await opened.object(of: Cat.self).count == 1)
    try await opened.close()
  }

  /// J-34: a database that has no log may be read by others meanwhile, as `VACUUM INTO` and `PRAGMA journal_mode` leave one.
  @Test func aDatabaseWithoutALogIsNoStrangersOne() async throws {
    let made = try await MagicData(path: location.file)
    try await made.update(Cat("Tom", 4))
    try await made.close()
    let copy = folder["copy.sqlite"]
    let script = """
      import os, sqlite3, sys, time
      sqlite3.connect(sys.argv[1]).execute("VACUUM INTO ?", (sys.argv[2],))
      database = sqlite3.connect(sys.argv[2], isolation_level=None)
      database.execute("BEGIN")
      database.execute("SELECT count(*) FROM sqlite_master").fetchall()
      os.write(1, b".")
      time.sleep(4)
      """
    let output = Pipe()
    let process = try Tool.python.start(["-c", script, location.file.path, copy.path], output: output)
    #expect(output.fileHandleForReading.availableData == Data(".".utf8))
    // SQLite waits for him, as for every other reader of such a file.
    let magic = try await MagicData(path: copy)
    #expect(try await magic.object(of: Cat.self).count == 1)
    try await magic.close()
    process.waitUntilExit()
  }

  /// J-34: what another log's locks keep somebody from seeing is not written under his hands.
  @Test func theLogOfAMovedDatabaseThatIsOpenElsewhereStays() async throws {
    try await MagicData(path: location.file).close()
    let (magic, moved) = (try await MagicData(path: location.file), folder["moved.sqlite"])
    try await magic.update(contentsOf: (0..<300).map { Cat("\($0)", 2) })
    #expect(rename(location.file.path, moved.path) == 0)
    let (process, input) = try reader(of: moved)
    // Several at once hear the same.
    await withTaskGroup { group in
      for _ in 0..<3 { group.addTask { await expectBusy("db.sqlite-wal") { try await magic.close() } } }
    }
    #expect(bytes("-wal") > 32)
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(rename(moved.path, location.file.path) == 0)
    try await expectSound(location.file, 300)
  }

  /// J-34: what was committed to the one would be written over by the other.
  @Test func aFileThatTookAnOpenOnesNameIsOpenedWhenThatIsClosed() async throws {
    try await makeOther()
    let magic = try await MagicData(path: location.file)
    try await magic.update(Cat("Tom", 4))
    #expect(rename(folder["other.sqlite"].path, location.file.path) == 0)
    await #expect {
      _ = try await MagicData(path: location.file)
    } throws: {
      ($0 as? MagicDataError)?.code == .busy && "\($0)".contains("close it first")
    }
    try await magic.close()
    try await expectOther()
  }

  /// J-34: nor is one made in its place.
  @Test func noFileIsMadeBesideTheLogOfADeletedOneThatIsOpen() async throws {
    let magic = try await MagicData(path: location.file)
    try await magic.update(Cat("Tom", 4))
    #expect(unlink(location.file.path) == 0)
    await #expect {
      _ = try await MagicData(path: location.file)
    } throws: {
      ($0 as? MagicDataError)?.code == .busy && "\($0)".contains("close it first")
    }
    try await magic.close()
    let fresh = try await MagicData(path: location.file)
    #expect(try await fresh.object(of: Cat.self).isEmpty)
    try await fresh.update(Cat("Felix", 4))
    try await fresh.close()
  }

  /// J-34: many that open one at once let go of nobody's locks.
  @Test func aFileThatManyMakeAtOnceIsOneDatabase() async throws {
    let place = location.file
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let magic = try await MagicData(path: place)
          try await magic.update(Cat("\(number)", 4))
          try await magic.close()
        }
      }
      try await group.waitForAll()
    }
    let magic = try await MagicData(path: place)
    #expect(try await magic.object(of: Cat.self).count == 8)
    try await magic.close()
  }

  /// J-34: the same where another process has it open.
  @Test func aFileThatTookTheNameOfOneThatAnotherProcessHasOpenIsRefused() async throws {
    try await makeOther()
    let magic = try await MagicData(path: location.file)
    try await magic.update(Cat("Tom", 4))
    try await magic.close()
    let (process, input) = try reader(of: location.file)
    let number = process.processIdentifier
    // The file that it has open is anybody's.
    let again = try await MagicData(path: location.file)
    #expect(try await again.object(of: Cat.self).count == 1)
    try await again.close()
    #expect(rename(folder["other.sqlite"].path, location.file.path) == 0)
    await #expect {
      _ = try await MagicData(path: location.file)
    } throws: {
      ($0 as? MagicDataError)?.code == .busy && "\($0)".contains("process \(number) has")
    }
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    try await expectOther()
  }

  /// As one that closes it.
  @Test func whoLetsGoOfAFileWhoseNameAnotherHasLeavesNothingInTheLog() async throws {
    try await makeOther()
    let before = try Data(contentsOf: folder["other.sqlite"])
    func leave() async throws {
      let magic = try await MagicData(path: location.file)
      try await magic.update(contentsOf: (0..<300).map { Cat("\($0)", 2) })
      #expect(rename(folder["other.sqlite"].path, location.file.path) == 0)
    }
    try await leave()
    for _ in 0..<1_000 where bytes("-wal") > 32 { try await Task.sleep(for: .milliseconds(10)) }
    #expect(bytes("-wal") <= 32)
    #expect(try Data(contentsOf: location.file) == before)
  }

  // MARK: The WAL-reset bug

  // Up to version 3.51.2 SQLite loses commits if a writer begins the WAL anew while a checkpoint begins
  // (https://www.sqlite.org/wal.html). These are what keeps them apart.

  private struct Connections {
    let writer: DatabaseQueue
    let other: DatabaseQueue

    init(_ file: URL) throws {
      var configuration = Configuration()
      configuration.prepareDatabase { db in
        try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
      }
      writer = try DatabaseQueue(path: file.path, configuration: configuration)
      other = try DatabaseQueue(path: file.path, configuration: configuration)
      try writer.write { db in try db.execute(sql: "CREATE TABLE t (a)") }
    }

    func write() throws { try writer.write { db in try db.execute(sql: "INSERT INTO t VALUES (randomblob(3000))") } }

    func checkpoint() throws -> (pages: Int, copied: Int) {
      let (pages, copied) = try other.writeWithoutTransaction { db in try db.checkpoint(.passive) }
      return (pages, copied)
    }
  }

  /// Changes when it begins anew.
  private func salt() throws -> Data { try Data(contentsOf: folder["db.sqlite-wal"])[16..<24] }

  @Test func whileItIsHeldNoWriterBeginsItAnew() throws {
    let connections = try Connections(location.file)
    try connections.write()
    let before = try salt()
    let isHeld = WriteAheadLog.held(location.file, try #require(FileIdentity(of: location.file))) { _ in
      do {
        let (pages, copied) = try connections.checkpoint()
        #expect(pages > 0 && copied == pages)
        try connections.write()
        #expect(try salt() == before)
        let (more, _) = try connections.checkpoint()
        #expect(more > pages)
      } catch {
        Issue.record(error)
      }
      return true
    }
    #expect(isHeld == true)
    _ = try connections.checkpoint()
    try connections.write()
    #expect(try salt() != before)
    #expect(try connections.other.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM t") } == 3)
  }

  @Test func whileItIsHeldThatIsInTheFileNothingIsCheckpointed() throws {
    let connections = try Connections(location.file)
    try connections.write()
    _ = try connections.checkpoint()
    let before = try salt()
    let isHeld = WriteAheadLog.held(location.file, try #require(FileIdentity(of: location.file))) { _ in
      do {
        try connections.write()
        #expect(try salt() != before)
        #expect(try connections.checkpoint().copied == 0)
      } catch {
        Issue.record(error)
      }
      return true
    }
    #expect(isHeld == true)
    let (pages, copied) = try connections.checkpoint()
    #expect(pages > 0 && copied == pages)
    #expect(try connections.other.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM t") } == 2)
  }

  @Test func aFileThatIsNotThereIsNotMade() throws {
    let other = try #require(FileIdentity(of: folder.url))
    #expect(WriteAheadLog.held(location.file, other) { _ in true } == nil)
    #expect(try folder.contents().isEmpty)
  }
}
