import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// H-32: whatever lies in a folder, a bundle or an export, or is typed as a time, is read or refused with an error that says
/// why. `Tools/fuzz` runs these for longer.
@Suite(.timeLimit(.minutes(60))) struct FuzzTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// A small journal in a folder remote, with values of most kinds, relations, an asset, a removal and an automatic number.
  private func remote() async throws -> FolderRemote {
    let remote = FolderRemote(folder["remote"])
    let replica = try Replica(folder["a"], remote.folder, World())
    let (person, leaf, picture) = (Person("p", "P"), Leaf("leaf"), Picture())
    person.friends = [person]
    person.pages = [leaf, leaf]
    person.index = ["first": leaf]
    leaf.owner = person
    leaf.byAge = [7: person]
    (picture.id, picture.data) = (UUID(), Data([0, 255, 1]))
    try await replica.magic.update(person)
    try await replica.magic.update(picture)
    try await replica.replicator.push()
    let shelf = Shelf()
    shelf.first = leaf
    try await replica.magic.update(shelf)
    try await replica.magic.update(Note("n", "a \"note\"\n"))
    try await replica.magic.remove(Note("n", ""))
    try await replica.replicator.push()
    return remote
  }

  // MARK: Files

  @Test func exportsAreReadOrRefused() async throws {
    let source = JournalSource.folder(try await remote())
    let words = [
      "{", "}", "[", "]", "\"", ",", ":", "null", "true", "-", "1e999", "9223372036854775808", "\\u00e9", "\\ud83d", "\\", "\n",
      "{}",
      "[]", "\"é\"", "\"e\u{301}\"", "\"integer\":", "\"bits\":", "\"birth\":", "\"in\":[],\"out\":[]", "\"op\":\"remove\"",
      "\"claim\"",
      "\"revival\"", "\"base\":\"1\"", "\"object\":1", "\"fields\":{}",
    ]
    let fuzz = Fuzz("exports", [try await lines(of: source)], words: words, inputs: 400)
    let faults = try await fuzz.faults { input in
      let file = folder["export"]
      try Data(input).write(to: file)
      let export = JournalSource.export(file)
      // What was read is written, read and written again.
      let again = folder["again"]
      try Data(try await lines(of: export)).write(to: again)
      let (first, second) = (try Data(contentsOf: again), Data(try await lines(of: .export(again))))
      guard first == second else { throw MagicDataError(.damaged, "") }
      return .read
    }
    #expect(faults == [])
  }

  private func lines(of source: JournalSource) async throws -> [UInt8] {
    let lines = Locked<[UInt8]>([])
    _ = try await source.export(LogSelection()) { line in lines.withLock { $0 += line + [UInt8(ascii: "\n")] } }
    return lines.withLock { $0 }
  }

  @Test func jsonIsReadOrRefused() async throws {
    let texts = [
      "{\"a\":[1,-2.5e3,true,false,null,\"x\"],\"b\":{\"c\":\"\\u00e9\\ud83d\\ude00\\n\"}}", "[[[[[[]]]]]]", "\"\"", "0",
      "{\"é\":1,\"e\u{301}\":2}",
    ]
    let words = [
      "{", "}", "[", "]", "\"", ",", ":", "\\u", "\\ud800", "\\uDC00", "\\u+041", "-", "+", ".", "e", "1e999", "nan", " ", "\t",
    ]
    let faults = try await Fuzz("JSON", texts: texts, words: words, inputs: 3_000).faults { input in
      do {
        _ = try JSONValue(input)
        return .read
      } catch let error as JSONValue.Failure {
        guard 0...input.count ~= error.offset else { throw error }
        return .refused
      }
    }
    #expect(faults == [])
  }

  @Test func bundlesAreReadOrRefused() async throws {
    let remote = try await remote()
    let contents = folder["remote/assets/b9"]
    try FileManager.default.createDirectory(at: contents, withIntermediateDirectories: true)
    try Data("hello world".utf8).write(
      to: contents.appendingPathComponent("b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"))
    let bundle = Locked<[UInt8]>([])
    try BundleFile.write(remote) { part in bundle.withLock { $0 += part } }
    let faults = try await Fuzz("bundles", [bundle.withLock { $0 }], inputs: 60).faults { input in
      let place = folder["bundle-\(UUID().uuidString)"]
      defer { try? FileManager.default.removeItem(at: place) }
      let bytes = BundleChecksums.mended(input)
      // Whoever only looks takes what is whole.
      try Data(bytes).write(to: folder["looked-at.magicbundle"])
      _ = try? await JournalSource.bundle(folder["looked-at.magicbundle"]).forEachTransaction { _, _ in }
      var rest = bytes[...]
      let unpacked = FolderRemote(place)
      try BundleFile.unpack(
        "it",
        { count in
          defer { rest = rest.dropFirst(count) }
          return Data(rest.prefix(count))
        }, into: unpacked)
      guard try FolderCheck(unpacked).damaged.isEmpty else { throw MagicDataError(.damaged, "") }
      return .read
    }
    #expect(faults == [])
  }

  @Test func segmentFilesAreReadOrRefused() async throws {
    let remote = try await remote()
    let segments = try FileManager.default.contentsOfDirectory(atPath: remote.folder.path + "/segments").sorted().map { name in
      [UInt8](try Data(contentsOf: remote.folder.appendingPathComponent("segments/\(name)")))
    }
    let faults = try await Fuzz("segment files", segments, inputs: 200).faults { input in
      let file = folder["it.segment"]
      try Data(input).write(to: file)
      try await JournalSource(at: file.path).forEachTransaction { transaction, schema in
        for field in transaction.entries.flatMap(\.fields) { _ = field.value.json }
        _ = schema
      }
      return .read
    }
    #expect(faults == [])
  }

  // MARK: Folders

  @Test func markersOfFoldersAreReadOrRefused() async throws {
    let texts = ["{\"dataSet\":\"f893a2eefb32555e71c18690ee42c90b\",\"format\":1,\"kind\":\"folder\"}"]
    let words = ["{", "}", "[", "null", "1e999", "9223372036854775808", "-1", "\"", "\"format\":2", "\\u0000", "true", "1.5"]
    try FileManager.default.createDirectory(at: folder["marked"], withIntermediateDirectories: true)
    let faults = try await Fuzz("markers", texts: texts, words: words, inputs: 500).faults { input in
      try Data(input).write(to: folder["marked/magicdata.json"])
      _ = try FolderRemote(folder["marked"]).dataSet()
      return .read
    }
    #expect(faults == [])
  }

  @Test func namesOfSegmentFilesAreReadOrRefused() async throws {
    let names = [
      "910a2dec89025cc1beeb8da1658eec67.0000000000000001.0000000000000001.32db1ebd65e4b9a46129d28948a82fd4.segment",
      "910a2dec89025cc1beeb8da1658eec67.00000000000000ff.3fffffffffffffff.32db1ebd65e4b9a46129d28948a82fd4.segment",
    ]
    let words = [
      ".", "..", "/", "0", "f", "A", "\u{0}", ".segment", "0000000000000000", "4000000000000000", "ffffffffffffffff",
    ]
    let faults = try await Fuzz("names", texts: names, words: words, inputs: 2_000).faults { input in
      guard let name = SegmentFileName(String(decoding: input, as: UTF8.self)) else { return .refused }
      return .canonical(Array(name.text.utf8))
    }
    #expect(faults == [])
  }

  /// Files that are called and filled like anything, where segments, contents and doubts lie.
  @Test func whateverLiesInAFolderAPullEnds() async throws {
    let remote = try await remote()
    let names = try folder.contents().keys.filter { $0.hasPrefix("remote/segments/") }.map { Array($0.dropFirst(7).utf8) }
      .sorted {
        $0.lexicographicallyPrecedes($1)
      }
    let contents = names.map {
      [UInt8]((try? Data(contentsOf: remote.folder.appendingPathComponent(String(decoding: $0, as: UTF8.self)))) ?? Data())
    }
    let replica = try Replica(folder["b"], remote.folder, World(seed: 2))
    // A name, a line's end, what is in it.
    let corpus =
      zip(names, contents).map { $0 + [10] + $1 }
      + [Array("doubts/\(names[0].count)\nx".utf8), Array("assets/ab/\(String(repeating: "ab", count: 32))\nx".utf8)]
    let faults = try await Fuzz(
      "folders", corpus, words: ["segments/", "assets/", "doubts/", ".segment", ".icloud", "\n", "/"], inputs: 40
    )
    .faults { input in
      let parts = input.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(decoding: parts[0].filter { $0 != 0 }.prefix(200), as: UTF8.self)
      let file = remote.folder.appendingPathComponent(name).standardizedFileURL
      let (before, isInside) = (try? Data(contentsOf: file), file.path.hasPrefix(remote.folder.standardizedFileURL.path + "/"))
      guard isInside, file.lastPathComponent != "magicdata.json" else { return .refused }
      try? FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try? Data(parts.count > 1 ? Array(parts[1]) : []).write(to: file)
      defer {
        try? FileManager.default.removeItem(at: file)
        try? before?.write(to: file)
      }
      _ = try FolderCheck(remote)
      _ = try await replica.replicator.pull()
      return .read
    }
    #expect(faults == [])
    try await replica.replicator.pull()
    #expect(try await replica.notes().isEmpty)
    #expect(try await replica.magic.object(of: Person.self).map(\.name) == ["P"])
  }

  // MARK: Texts

  @Test func timesAreReadOrRefused() async throws {
    let texts = [
      "2026-01-31T12:00:00.123Z", "2026-01-31 12:00", "2026-12-31T23:59:60+14:00", "2h ago", "3 weeks ago", "now", "17",
      "1a2b3c4d:17", "12:00", "yesterday",
    ]
    let words = [
      "ago", "w", "days", "99999999999999999999", "1000000000000w ago", "9223372036854775807", ":", "-", "T", "Z", "+23:59",
      "é", " ",
    ]
    let zone = try #require(TimeZone(secondsFromGMT: 3_600))
    let faults = try await Fuzz("times", texts: texts, words: words, inputs: 400).faults { input in
      _ = try MagicMoment(
        String(decoding: input, as: UTF8.self), now: Date(timeIntervalSince1970: 1_750_000_000), timeZone: zone)
      return .read
    }
    #expect(faults == [])
  }

  /// As many weeks as that are no number of milliseconds.
  @Test(arguments: ["1000000000000w ago", "9223372036854775807 weeks ago"]) func aTimeBeforeAllTimesIsBeforeEverything(
    text: String
  ) async throws {
    let source = JournalSource.folder(try await remote())
    var selection = LogSelection()
    selection.since = try MagicMoment(text)
    let since = Locked(0)
    _ = try await source.forEachEntry(selection) { _, _, _ in since.withLock { $0 += 1 } }
    #expect(since.withLock { $0 } == 6)
    for date in [Date(timeIntervalSince1970: 1e300), Date(timeIntervalSince1970: -1e300), Date(timeIntervalSince1970: .nan)] {
      _ = MagicMoment(date)
      _ = try MagicMoment("1h ago", now: date)
    }
  }

  @Test func namesOfRemotesAreReadOrRefused() async throws {
    let faults = try await Fuzz("remotes", texts: ["origin", "a-1_b"], words: ["/", "-", "É", "\n", ":"], inputs: 500).faults {
      input in
      let text = String(decoding: input, as: UTF8.self)
      return NamedRemote.isValid(text) ? .canonical(Array(text.utf8)) : .refused
    }
    #expect(faults == [])
  }

  /// What a log prints of a value that somebody else wrote is a line of JSON, whatever it is.
  @Test func anyValueIsALineOfJSON() async throws {
    let values: [Value] = [
      .coded(Array("{\"a\":[1,\"x\"]}".utf8)), .coded(Array("[\"\u{9b}2J\"]".utf8)), .text("a\u{85}\u{7}\"\\"), .real(1.5),
      .bytes([0, 255]),
      .dictionary(of: [DictionaryElement(name: Array("\"k\"".utf8), key: .primary(.text("x")))]),
      .set(of: [SetElement(key: .primary(.integer(.min)))]), .list([.primary(.text("E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))]),
    ]
    let faults = try await Fuzz(
      "printed values", values.map(\.encoded), words: ["\u{85}", "\"", "\\", "\u{7f}", "[", "1e400"], inputs: 1_000
    )
    .faults { input in
      var reader = ByteReader(input)
      let line = try Value(from: &reader).json
      guard !line.unicodeScalars.contains(where: { $0.value < 0x20 || 0x7f...0x9f ~= $0.value }),
        (try? JSONSerialization.jsonObject(with: Data(line.utf8), options: .fragmentsAllowed)) != nil
      else { throw JSONLineError(line: line) }
      return .read
    }
    #expect(faults == [])
  }

  private struct JSONLineError: Error { let line: String }

  // MARK: Databases

  /// A run of transactions that is said to begin where none ever will: what can be read is, and it ends.
  @Test func aDatabaseThatSaysItHoldsTooMuchIsReadToAnEnd() async throws {
    _ = try await remote()
    let magic = try await MagicData(path: folder["a"])
    _ = try await magic.store.write { db in
      try db.execute(sql: "INSERT INTO magic_run (first, replica, sequence, is_one) VALUES (3, 1, \(Int64(1) << 61), 0)")
    }
    let entries = Locked(0)
    let report = try await JournalSource.database(magic).forEachEntry(LogSelection()) { _, _, _ in entries.withLock { $0 += 1 }
    }
    #expect(entries.withLock { $0 } > 0)
    #expect(!report.isComplete)
    #expect(try await !DatabaseCheck(magic).faults.isEmpty)
    try await magic.close()
  }

  /// Tables that somebody has changed by SQL, at random. An empty program changes nothing.
  @Test func databasesThatWereChangedByHandAreReadOrRefused() async throws {
    _ = try await remote()
    let original = folder["original.sqlite"]
    try await MagicData(path: folder["a"]).backup(to: original)
    let tables = try await TableChange.columns(of: original)
    let faults = try await Fuzz("databases", [[]], inputs: 30).faults { input in
      let copy = folder["copy-\(UUID().uuidString).sqlite"]
      defer {
        for suffix in ["", "-wal", "-shm", "-replica", ".files"] {
          try? FileManager.default.removeItem(atPath: copy.path + suffix)
        }
      }
      try FileManager.default.copyItem(at: original, to: copy)
      try TableChange.run(input, on: copy, tables)
      let magic = MagicData(store: try Store(.file(DatabaseLocation(copy), mustExist: true)))
      // Each for itself: what one refuses another may stumble over.
      var refusals: [any Error] = []
      func attempt(_ body: () async throws -> Void) async {
        do { try await body() } catch { refusals.append(error) }
      }
      await attempt { _ = try await DatabaseCheck(magic) }
      await attempt { _ = try await magic.object(of: Person.self).map { ($0.name, $0.pages.count, $0.friends.count) } }
      await attempt { _ = try await magic.object(of: Leaf.self).map { ($0.text, $0.byAge.count, $0.others.count) } }
      await attempt { _ = try await magic.object(of: Shelf.self).map(\.number) }
      await attempt { _ = try await JournalSource.database(magic).forEachEntry(LogSelection()) { _, _, _ in } }
      await attempt { _ = try await JournalSource.database(magic).statistics(LogSelection()) }
      await attempt { try await magic.update(Note("new", "note")) }
      await attempt { _ = try await MagicReplicator(magic, remote: FolderRemote(folder["pushed-\(UUID().uuidString)"])).sync() }
      await attempt { _ = try await magic.repair(.journal) }
      await attempt { _ = try await magic.repair(.tables) }
      try? await magic.close()
      if let strange = refusals.first(where: { !($0 is MagicDataError) }) { throw strange }
      if let refusal = refusals.first { throw refusal }
      return .read
    }
    #expect(faults == [])
  }
}

/// A bundle's checksums made right, so that what stands behind them is looked at.
private enum BundleChecksums {
  static func mended(_ bundle: [UInt8]) -> [UInt8] {
    var bundle = bundle
    if bundle.count >= 32 { put(Zlib.checksum(bundle[..<28]), at: 28, &bundle) }
    if bundle.count >= 52 {
      put(Zlib.checksum(bundle[(bundle.count - 20)..<(bundle.count - 4)]), at: bundle.count - 4, &bundle)
    }
    return bundle
  }

  private static func put(_ checksum: UInt32, at offset: Int, _ bundle: inout [UInt8]) {
    withUnsafeBytes(of: checksum.bigEndian) { bundle.replaceSubrange(offset..<offset + 4, with: $0) }
  }
}
