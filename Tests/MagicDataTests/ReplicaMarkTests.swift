import Foundation
import MagicJournal
import TestSupport
import Testing

@testable import MagicData

/// J-30, L-12: which file a mark was made for.
@Suite struct ReplicaMarkTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private static let token = Identifier(1, 2)
  private static let file = FileIdentity(device: 3, number: 4)
  private static let birth = FileBirth(nanoseconds: 1_700_000_000_123_456_789, volume: 5)
  private static let found: [(device: UInt64, number: UInt64, birth: FileBirth?, isOf: Bool)] = [
    (3, 4, birth, true), (6, 4, birth, true), (3, 4, nil, true), (6, 4, nil, false), (3, 7, birth, false),
    (6, 4, FileBirth(nanoseconds: birth.nanoseconds + 1, volume: birth.volume), false),
    (6, 4, FileBirth(nanoseconds: birth.nanoseconds, volume: birth.volume + 1), false),
    (3, 4, FileBirth(nanoseconds: birth.nanoseconds + 1, volume: birth.volume), false),
    (3, 4, FileBirth(nanoseconds: birth.nanoseconds, volume: birth.volume + 1), true),
  ]

  /// A volume that is mounted again, a copy that has the number of a file which is gone, a snapshot that is mounted beside its
  /// original, a volume that is mounted as another one was before, and where the system knows of no birth.
  @Test(arguments: ReplicaMarkTests.found)
  func aMarkIsOfTheFileItWasMadeFor(device: UInt64, number: UInt64, birth: FileBirth?, isOf: Bool) throws {
    let mark = ReplicaMark([Self.token], Self.file, Self.birth)
    let found = FileIdentity(device: device, number: number)
    #expect(mark.isOf(found, birth, Self.token, isMounted: { _ in false }) == isOf)
    // The original's volume may be mounted beside a copy of it.
    #expect(mark.isOf(found, birth, Self.token, isMounted: { $0 == 3 }) == (isOf && device == 3))
    #expect(!mark.isOf(found, birth, Identifier(1, 3), isMounted: { _ in false }))
    #expect(try #require(ReplicaMark(text: mark.text)).isOf(found, birth, Self.token, isMounted: { _ in false }) == isOf)
  }

  /// Former versions wrote no birth; that they take no notice of it is what any word but a token is to a reader.
  @Test func aMarkWithoutABirthIsRead() throws {
    let mark = try #require(ReplicaMark(text: "3 4 \(Self.token)\n"))
    #expect(mark.tokens == [Self.token])
    #expect(
      mark.isOf(Self.file, Self.birth, Self.token, isMounted: { _ in false })
        && mark.isOf(Self.file, nil, Self.token, isMounted: { _ in false }))
    let moved = FileIdentity(device: 6, number: 4)
    #expect(
      !mark.isOf(moved, Self.birth, Self.token, isMounted: { _ in false })
        && !mark.isOf(moved, nil, Self.token, isMounted: { _ in false }))
    let words = ReplicaMark([Self.token], Self.file, Self.birth).text.split(whereSeparator: \.isWhitespace)
    #expect(words.count == 4 && words.compactMap { Identifier($0) } == [Self.token])
  }

  /// Of two users who may both write to the file, the one would take a fresh id after each turn of the other if the other's
  /// mark were hidden from him.
  @Test(arguments: [0o600, 0o666]) func whoMayReadTheDatabaseMayReadItsMark(mode: Int) async throws {
    let location = DatabaseLocation(folder["a"])
    let id = try await replica("a")
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: location.file.path)
    #expect(try await replica("a") == id)
    let attributes = try FileManager.default.attributesOfItem(atPath: location.mark.path)
    #expect(attributes[.posixPermissions] as? Int == mode)
  }

  private func replica(_ name: String) async throws -> String {
    let magic = try await MagicData(path: folder[name])
    try await magic.update(Cat(name, 4))
    let replica = try await magic.statistics().replica
    try await magic.close()
    return replica
  }

  private func words(_ name: String) throws -> [String] {
    let mark = try Data(contentsOf: folder[name + "/default.sqlite3-replica"])
    return String(decoding: mark, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
  }

  private func setDevice(_ name: String, _ device: String, withBirth: Bool = true) throws {
    var words = try words(name)
    words[0] = device
    if !withBirth { words.removeLast() }
    try Data(words.joined(separator: " ").utf8).write(to: folder[name + "/default.sqlite3-replica"])
  }

  /// Of a stick, an image or a share the device has another number each time it is mounted: else each time would leave a member
  /// that nobody answers for (K-8).
  @Test func aDatabaseOnADeviceOfAnotherNumberIsTheSameReplica() async throws {
    let id = try await replica("a")
    guard FileBirth(of: folder["a/default.sqlite3"]) != nil else { return }
    let device = try words("a")[0]
    for _ in 0..<2 {
      try setDevice("a", "99999")
      #expect(try await replica("a") == id)
      // It is written anew, as the device is now.
      #expect(try words("a")[0] == device)
    }
    // A copy, also one with the first one's file number, was made later.
    for (copy, number) in [("there", "99999"), ("here", device)] {
      try FileManager.default.createDirectory(at: folder[copy], withIntermediateDirectories: false)
      for name in ["default.sqlite3", "default.sqlite3-replica"] {
        try Data(contentsOf: folder["a/" + name]).write(to: folder["\(copy)/\(name)"])
      }
      try claimMark(of: folder[copy], keepsBirth: true)
      try setDevice(copy, number)
      #expect(try await replica(copy) != id)
    }
    try setDevice("a", "99999", withBirth: false)
    #expect(try await replica("a") != id)
  }
}
