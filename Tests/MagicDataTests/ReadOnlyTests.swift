import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

/// A file or a folder that may not be written.
@Suite struct ReadOnlyTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// Runs `body` while nobody may write to what is at `path`, or in it.
  ///
  /// - Parameter isDeep: whether it is also forbidden of what is in a folder already.
  private func forbidding(_ path: URL, isDeep: Bool = true, _ body: () async throws -> Void) async throws {
    let lock = try #require(ReadOnly(path, isDeep: isDeep), "neither permissions nor attributes hold this user off")
    defer { lock.end() }
    try await body()
  }

  private func expectRefused(_ body: () async throws -> Void) async {
    await #expect { try await body() } throws: { ($0 as? MagicDataError)?.code == .notAllowed }
  }

  @Test(arguments: ["db", "db.sqlite"]) func nothingIsMadeWhereNothingMayBeWritten(name: String) async throws {
    try FileManager.default.createDirectory(at: folder["closed"], withIntermediateDirectories: false)
    try await forbidding(folder["closed"]) {
      await expectRefused { _ = try await MagicData(path: folder["closed/\(name)"]) }
    }
    #expect(try folder.contents().keys.sorted() == ["closed"])
  }

  @Test(arguments: ["closed", "closed/db.sqlite"]) func aDatabaseThatMayNotBeWrittenIsNotChanged(name: String) async throws {
    try FileManager.default.createDirectory(at: folder["closed"], withIntermediateDirectories: false)
    let magic = try await MagicData(path: folder[name])
    try await magic.update(Cat("Tom", 4))
    try await magic.close()
    let before = try folder.contents()
    try await forbidding(folder["closed"]) {
      let kit = Cat("Kit", 1)
      await expectRefused {
        let magic = try await MagicData(path: folder[name])
        #expect(try await magic.object(of: Cat.self).map(\.name) == ["Tom"])
        try await magic.update(kit)
      }
      await expectRefused { try await MagicData(path: folder[name]).transaction { tx in _ = try await tx.update(kit) } }
      await expectRefused { try await MagicData(path: folder[name]).blocking.update(kit) }
      await expectRefused { try await MagicData(path: folder[name]).removeAll(of: Cat.self) }
    }
    #expect(try folder.contents() == before)
    let again = try await MagicData(path: folder[name])
    try await again.update(Cat("Kit", 1))
    #expect(try await again.object(of: Cat.self).count == 2)
  }

  private struct Message: MagicObject {
    @PrimaryMagicValue var id: Int
    @MagicValue var chat: Int = 0
    @MagicValue var sent: Double = 5
    static var magicIndexes: [MagicIndex] { [MagicIndex(\Message.chat, \Message.sent)] }
    init() {}
  }

  /// Who may not make what is missing reads without it.
  @Test(arguments: ["magic_Message_sent_exceptions", "magic_Message_chat_sent"])
  func aDatabaseThatMayNotBeWrittenIsReadWithoutAnIndex(index: String) async throws {
    try FileManager.default.createDirectory(at: folder["closed"], withIntermediateDirectories: false)
    let made = try await MagicData(path: folder["closed/db"])
    try await made.update(
      contentsOf: (1...9).map { number in
        let message = Message()
        (message.id, message.sent) = (number, Double(-number))
        return message
      })
    try await made.store.write { db in try db.execute(sql: "DROP INDEX \(index)") }
    try await made.close()
    try await forbidding(folder["closed"]) {
      let magic = try await MagicData(path: folder["closed/db"])
      let sorted = magic.query(of: Message.self).where { $0.chat == 0 && $0.sent < -3 }.sorted(by: \.sent)
      #expect(try await sorted.all().map(\.id) == [9, 8, 7, 6, 5, 4])
      let another = try await MagicData(path: folder["closed/db"])
      #expect(try another.blocking.all(another.query(of: Message.self).sorted(by: \.sent)).map(\.id) == (1...9).reversed())
    }
  }

  /// J-30, L-12: no mark can be put beside it, and it is no copy all the same.
  @Test func aDatabaseWhoseFolderMayNotBeWrittenStaysTheSameReplica() async throws {
    let first = try await MagicData(path: folder["closed"])
    try await first.update(Cat("Tom", 4))
    let replica = try await first.statistics().replica
    try await forbidding(folder["closed"], isDeep: false) {
      for age in [5.0, 6, 7] {
        let magic = try await MagicData(path: folder["closed"])
        try await magic.update(Cat("Kit", age))
        #expect(try await magic.statistics().replica == replica)
        try await magic.close()
      }
    }
    try await first.close()
    // A copy takes one id of its own there, and keeps it.
    try FileManager.default.createDirectory(at: folder["copy"], withIntermediateDirectories: false)
    try FileManager.default.copyItem(at: folder["closed/default.sqlite3"], to: folder["copy/default.sqlite3"])
    let held = try DatabaseHold(folder["copy/default.sqlite3"])
    try await forbidding(folder["copy"], isDeep: false) {
      var ids: Set<String> = []
      for age in [5.0, 6, 7] {
        let magic = try await MagicData(path: folder["copy"])
        try await magic.update(Cat("Kit", age))
        ids.insert(try await magic.statistics().replica)
        try await magic.close()
      }
      #expect(ids.count == 1 && !ids.contains(replica))
    }
    withExtendedLifetime(held) {}
    // A mark that can be written again is its own.
    let again = try await MagicData(path: folder["closed"])
    try await again.update(Cat("Kit", 8))
    #expect(try await again.statistics().replica == replica)
  }

  @Test func aBackupIsNotMadeWhereNothingMayBeWritten() async throws {
    let magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    try FileManager.default.createDirectory(at: folder["closed"], withIntermediateDirectories: false)
    try await forbidding(folder["closed"]) {
      await expectRefused { try await magic.backup(to: folder["closed/copy"]) }
    }
    try await magic.backup(to: folder["closed/copy"])
    #expect(try await MagicData(path: folder["closed/copy"]).object(of: Cat.self).count == 1)
  }
}

/// Holds a database open, as another program does, so that SQLite's files beside it are there.
private struct DatabaseHold {
  private let connection: DatabaseQueue

  init(_ file: URL) throws {
    connection = try DatabaseQueue(path: file.path)
    try connection.read { db in _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") }
  }
}
