import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

/// H-32: what a database file holds is read or refused, whoever has changed it. `Tools/fuzz` runs these for longer.
@Suite(.timeLimit(.minutes(60))) struct FuzzTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// Objects of many types, with relations, removed and revived, and their journal.
  private func journal() async throws -> (types: [StoredType], rows: [[UInt8]]) {
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(Everything.filled())
    let cat = Cat("Tom", 4)
    for lives in [9, 8] {
      cat.lives = lives
      try await magic.update(cat)
      try await magic.remove(cat)
    }
    try await magic.update(cat)
    let session = Session()
    session.title = "s"
    try await magic.update(session)
    try await magic.update(Place())
    let place = Place()
    try await magic.update(place)
    try await magic.remove(place)
    try await magic.update(contentsOf: [Cat("a", 1), Cat("b", 2)])
    let found = try await magic.store.read { db in
      (try StoredSchema(db).types, try Data.fetchAll(db, sql: "SELECT data FROM magic_journal").map { [UInt8]($0) })
    }
    try await magic.close()
    return found
  }

  @Test func rowsOfTheJournalAreReadOrRefused() async throws {
    let (types, rows) = try await journal()
    var faults = try await Fuzz("rows of the journal", rows, inputs: 1_500).faults { input in
      for var part in try EntryRow.parts(of: input) { _ = try StoredEntry(from: &part, types) }
      return .read
    }
    let entries = try rows.flatMap { try EntryRow.parts(of: $0).map { Array($0.rest) } }
    faults += try await Fuzz("entries of the journal", entries, inputs: 3_000).faults { input in
      var (reader, writer) = (ByteReader(input), ByteWriter())
      try StoredEntry(from: &reader, types).encode(to: &writer)
      return .canonical(writer.bytes)
    }
    #expect(faults == [])
  }

  /// J-30: what cannot be read is as if it were not there, so the database goes on under a fresh id.
  @Test func anyMarkBesideADatabaseLetsItBeOpened() async throws {
    let (_, _) = try await journal()
    let mark = folder["a/default.sqlite3-replica"]
    let right = [UInt8](try Data(contentsOf: mark))
    let faults = try await Fuzz("marks", [right], words: [" ", "-", "0", "\n", "18446744073709551616"], inputs: 15).faults {
      input in
      try Data(input).write(to: mark)
      let magic = try await MagicData(path: folder["a"])
      guard try await magic.object(of: Cat.self).count == 3 else { return .refused }
      try await magic.close()
      return .read
    }
    #expect(faults == [])
    // It is not read to its end.
    let handle = try FileHandle(forWritingTo: mark)
    try handle.truncate(atOffset: 1 << 40)
    try handle.close()
    try await MagicData(path: folder["a"]).close()
  }
}
