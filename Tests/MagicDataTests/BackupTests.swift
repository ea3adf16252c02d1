import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct BackupTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func state(_ magic: MagicData) async throws -> DatabaseState {
    try await magic.store.read { db in try DatabaseState(db) }
  }

  /// H-7, H-8, L-12: no id is ever used by two.
  @Test(arguments: ["copy", "copy.sqlite"]) func aBackupHasAllAndIsAReplicaOfItsOwn(name: String) async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(contentsOf: (0..<100).map { Cat("\($0)", Double($0)) })
    try await magic.remove(Cat("7", 7))
    let (before, dump) = (try await state(magic), try await Dump(magic))
    try await magic.backup(to: folder[name])
    let copy = try await MagicData(path: folder[name])
    #expect(try await Dump(copy) == dump)
    #expect(try await NaiveFold(journalOf: copy).dump == dump)
    let after = try await state(copy)
    #expect(after.replica != before.replica)
    #expect(after.dataSet == before.dataSet)
    #expect(after.lastStamp == before.lastStamp)
    #expect(try await copy.statistics().replicas.first { $0.id == before.replica.description }?.lastSequence == 2)
    #expect(try await state(magic).replica == before.replica)
    try await copy.update(Cat("new", 1))
    #expect(try await copy.statistics().replicas.first { $0.id == after.replica.description }?.lastSequence == 1)
    #expect(try folder.contents().keys.allSatisfy { !$0.contains(".magic-") })
  }

  /// An instance that was fetched from the original is another database's object to the copy.
  @Test func anInstanceOfTheOriginalIsNotTakenForOneOfTheCopy() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    let tom = try await magic.object(of: Cat.self, primary: "Tom")
    try await magic.backup(to: folder["copy"])
    let copy = try await MagicData(path: folder["copy"])
    try await copy.removeAll(of: Cat.self)
    try await copy.update(tom)
    #expect(try await copy.object(of: Cat.self).map(\.name) == ["Tom"])
  }

  @Test func aBackupIsOneMomentOfADatabaseInUse() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(contentsOf: (0..<200).map { Cat("\($0)", 0) })
    let writer = Task {
      var round = 1.0
      while !Task.isCancelled {
        let value = round
        try? await magic.transaction { transaction in
          for cat in try await transaction.object(of: Cat.self) where cat.name.hasSuffix("7") {
            cat.weight = value
            try await transaction.update(cat)
          }
        }
        round += 1
        // A write that need not wait gives its thread to nobody.
        await Task.yield()
      }
    }
    for number in 0..<5 {
      try await magic.backup(to: folder["copy\(number).db"])
      let copy = try await MagicData(path: folder["copy\(number).db"])
      let weights = try await copy.object(of: Cat.self).filter { $0.name.hasSuffix("7") }.map(\.weight)
      #expect(weights.count == 20)
      #expect(Set(weights).count == 1)
      #expect(try await NaiveFold(journalOf: copy).dump == Dump(copy))
    }
    writer.cancel()
    await writer.value
  }

  @Test(arguments: [MagicData.Volatile.memory, .temporary])
  func aVolatileDatabaseCanBeKept(type: MagicData.Volatile) async throws {
    let magic = try await MagicData(type: type)
    try await magic.update(Cat("Tom", 4))
    try await magic.backup(to: folder["kept"].path)
    try await magic.close()
    let kept = try await MagicData(path: folder["kept"])
    #expect(try await kept.object(of: Cat.self).map(\.name) == ["Tom"])
    try await kept.update(Cat("Kit", 4))
  }

  @Test(arguments: ["copy", "copy.sqlite"]) func assetsAreCopied(name: String) async throws {
    let magic = try await MagicData(path: folder["db"])
    let assets = try #require(magic.store.location).assets
    // What is none of an asset is nobody's of the database, and cannot be copied.
    try FileManager.default.createDirectory(at: assets.appendingPathComponent("ab"), withIntermediateDirectories: true)
    try Data("x".utf8).write(to: assets.appendingPathComponent("letter.txt"))
    for pipe in ["pipe", String(repeating: "2", count: 64)] {
      try #require(mkfifo(assets.appendingPathComponent(pipe).path, 0o600) == 0)
    }
    let files = [String(repeating: "0", count: 64), String(repeating: "1", count: 64) + ".txt"]
    for file in files { try Data(file.utf8).write(to: assets.appendingPathComponent(file)) }
    try await magic.backup(to: folder[name])
    let copied = DatabaseLocation(folder[name]).assets
    #expect(try FileManager.default.contentsOfDirectory(atPath: copied.path).sorted() == files)
    for file in files { #expect(try Data(contentsOf: copied.appendingPathComponent(file)) == Data(file.utf8)) }
    await #expect { try await magic.backup(to: assets.appendingPathComponent("inside")) } throws: {
      ($0 as? MagicDataError)?.code == .notAllowed
    }
  }

  @Test func whatIsThereIsLeftAsItIs() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await MagicData(path: folder["other"]).close()
    try Data("x".utf8).write(to: folder["letter.db"])
    try Data("x".utf8).write(to: folder["file"])
    try FileManager.default.createDirectory(at: folder["c.db.files"], withIntermediateDirectories: false)
    try FileManager.default.createDirectory(at: folder["remote"], withIntermediateDirectories: false)
    try Data("{}".utf8).write(to: folder["remote/magicdata.json"])
    let before = try folder.contents()
    let refused: [(URL, MagicDataError.Code)] = [
      (folder["db"], .exists), (folder["other"], .exists), (folder["letter.db"], .exists), (folder["c.db"], .exists),
      (folder["file"], .notADatabase), (folder["remote"], .notADatabase), (folder["no/db"], .notFound),
      (folder["no/db.sqlite"], .notFound), (try #require(URL(string: "https://example.org/a")), .notFound),
    ]
    for (place, code) in refused {
      await #expect { try await magic.backup(to: place) } throws: { ($0 as? MagicDataError)?.code == code }
    }
    await #expect { try await magic.backup(to: "") } throws: { ($0 as? MagicDataError)?.code == .notFound }
    #expect(try folder.contents() == before)
  }

  @Test func twoBackupsToOnePlaceMakeOne() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    let place = folder["copy"]
    let made = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<4 {
        group.addTask {
          do {
            try await magic.backup(to: place)
            return true
          } catch {
            return (error as? MagicDataError)?.code != .exists
          }
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(made == 1)
    #expect(try await MagicData(path: place).object(of: Cat.self).count == 1)
  }

  /// H-34: what fails leaves nothing.
  @Test func aCancelledBackupLeavesNothing() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    let place = folder["copy"]
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await magic.backup(to: place)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try folder.contents().keys.allSatisfy { $0.hasPrefix("db") })
  }

  /// H-34, of one that is among its assets by then.
  @Test func aBackupThatIsCancelledAmongItsAssetsLeavesNothing() async throws {
    let magic = try await MagicData(path: folder["db"])
    let assets = try #require(magic.store.location).assets
    try FileManager.default.createDirectory(at: assets, withIntermediateDirectories: true)
    for number in 1_000..<4_000 {
      try Data().write(to: assets.appendingPathComponent(String(repeating: "0", count: 60) + "\(number)"))
    }
    let before = try folder.contents().keys.sorted()
    let place = folder["copy"]
    let task = Task { try await magic.backup(to: place) }
    // A thread of its own, which others do not hold up while the files are copied.
    Thread.detachNewThread {
      let limit = ContinuousClock.now + .seconds(60)
      while !hasCopiedAssets(in: place), .now < limit { Thread.sleep(forTimeInterval: 0.001) }
      task.cancel()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try folder.contents().keys.sorted() == before)
  }

  /// H-33: who is killed clears nothing up, and the next one that makes a database there does, by a lock that nobody holds any
  /// more.
  @Test func whatAKilledProgramLeftOfADatabaseGoes() async throws {
    let magic = try await MagicData(path: folder["db.sqlite"])
    try await magic.update(Cat("Tom", 4))
    func make(_ name: String) throws -> URL {
      let made = folder[".magic-scratch-database-\(name)"]
      try FileManager.default.createDirectory(at: made.appendingPathComponent("new/files"), withIntermediateDirectories: true)
      try Data("x".utf8).write(to: made.appendingPathComponent("new/default.sqlite3"))
      return made
    }
    let (left, used) = (try make("left"), try make("used"))
    let descriptor = open(used.path, O_RDONLY)
    defer { close(descriptor) }
    try #require(flock(descriptor, LOCK_EX) == 0)
    // However old, and whatever their names are like: what others have made stays.
    let others = [".magic-notes.sqlite3", ".magic-replaced-1.sqlite3.files", ".magic-scratch-database-file"]
    for name in others {
      try Data("x".utf8).write(to: folder[name])
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: folder[name].path)
    }
    try await magic.backup(to: folder["copy.sqlite"])
    #expect(!FileManager.default.fileExists(atPath: left.path))
    let there = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix(".magic-") }
    #expect(there.sorted() == (others + [used.lastPathComponent]).sorted())
    #expect(FileManager.default.fileExists(atPath: used.appendingPathComponent("new/default.sqlite3").path))
    #expect(try await MagicData(path: folder["copy.sqlite"]).count(of: Cat.self) == 1)
  }

  @Test func statisticsCountWhatIsThere() async throws {
    let magic = try await MagicData(path: folder["db"])
    let empty = try await magic.statistics()
    #expect((empty.transactions, empty.entries, empty.journalBytes) == (0, 0, 0))
    #expect(empty.types.isEmpty && empty.bytes > 0)
    #expect(empty.replicas == [.init(id: empty.replica, lastSequence: 0)])
    try await magic.update(contentsOf: (0..<10).map { Cat("\($0)", Double($0)) })
    try await magic.remove(Cat("7", 7))
    let place = Place()
    place.number = 1
    try await magic.update(place)
    let full = try await magic.statistics()
    #expect(full.types == [.init(name: "Cat", objects: 9), .init(name: "Place", objects: 1)])
    #expect((full.transactions, full.entries) == (3, 12))
    // Ten entries of a name of one byte and two fields, one of a name, one of a number; field ids and kinds take a byte each.
    #expect(full.journalBytes > 10 * (1 + 2 * 2))
    #expect(full.replicas == [.init(id: empty.replica, lastSequence: 3)])
    #expect(try await MagicData(type: .memory).statistics().bytes > 0)
    try await magic.close()
    let size = try FileManager.default.attributesOfItem(atPath: folder["db/default.sqlite3"].path)[.size] as? Int
    #expect(size == full.bytes)
  }
}

/// Whether a backup that is made in a folder has come to assets.
private func hasCopiedAssets(in folder: URL) -> Bool {
  let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
  return names.contains { name in
    name.hasPrefix(".magic-")
      && ((try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("\(name)/new/files").path)) ?? [])
        .count > 1
  }
}
