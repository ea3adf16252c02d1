import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

/// Random edits of assets on three replicas and two folders whose files are damaged and lost all the while. Afterwards the
/// replicas are equal, and a content that somebody has everybody has.
@Suite(.timeLimit(.minutes(15))) struct AssetSimulationTests {
  @Test(arguments: seeds(8)) func contentsEndEverywhere(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    let world = World(seed: seed)
    var chance = Seeded(seed)
    let replicas = try (0..<3).map { number in
      try Replica(folder["db\(number)"], folder["hub0"], world, skew: Int64(number) * 40)
    }
    let exchanges = replicas.flatMap { replica in
      (0..<2).map { MagicReplicator(replica.magic, remote: FolderRemote(folder["hub\($0)"])) }
    }
    // Before that, two databases are two data sets.
    for exchange in exchanges { try await exchange.sync() }
    for _ in 0..<70 {
      world.advance(Int64(chance.pick([0, 1, 40])))
      switch chance.below(9) {
      case 0..<4: try await edit(chance.pick(replicas), &chance)
      case 4: try await chance.pick(exchanges).push()
      case 5: try await chance.pick(exchanges).pull()
      case 6: try damage(folder, &chance)
      default: try await chance.pick(exchanges).sync()
      }
    }
    var reports: [PullReport] = []
    for _ in 0..<10 {
      var moved = 0
      reports = []
      for exchange in exchanges {
        let (pull, push) = try await exchange.sync()
        moved += pull.transactions + push.transactions + pull.assets + push.assets
        reports.append(pull)
      }
      if moved == 0 { break }
    }
    #expect(reports.allSatisfy { $0.unread.isEmpty && $0.gaps.isEmpty }, "MAGIC_SEED=\(seed)")
    try await expectEqual(replicas, "MAGIC_SEED=\(seed)")
    // An edit may bring an object back whose content everybody had let go of.
    let contents = try await replicas[0].magic.object(of: Photo.self).map(\.id).asyncMap { id in
      try await replicas.asyncMap { try await $0.magic.object(of: Photo.self, primary: id).content?.value }
    }
    for ofOne in contents { #expect(Set(ofOne).count == 1, "MAGIC_SEED=\(seed)") }
    #expect(contents.contains { $0[0] != nil }, "MAGIC_SEED=\(seed)")
  }

  private func edit(_ replica: Replica, _ chance: inout Seeded) async throws {
    let id = "p\(chance.below(5))"
    let photo = try await replica.magic.object(of: Photo.self).first { $0.id == id }
    switch (photo, chance.below(5)) {
    case (let photo?, 0): try await replica.magic.remove(photo)
    case (let photo?, 1):
      photo.title = "title \(chance.below(100))"
      try await replica.magic.update(photo)
    case (let photo?, _):
      photo.content = .init(value: "content \(chance.below(6))", pathExtension: chance.pick([nil, "txt", "TXT"]))
      try await replica.magic.update(photo)
    case (nil, _): try await replica.magic.update(Photo(id, "content \(chance.below(6))"))
    }
  }

  /// Something happens to a segment or a content.
  private func damage(_ folder: TemporaryFolder, _ chance: inout Seeded) throws {
    let hub = folder["hub\(chance.below(2))"]
    let files = try ["segments", "assets"].flatMap { name -> [URL] in
      let place = hub.appendingPathComponent(name)
      guard FileManager.default.fileExists(atPath: place.path) else { return [] }
      return try FileManager.default.subpathsOfDirectory(atPath: place.path).filter { $0.count >= 64 }.sorted()
        .map { place.appendingPathComponent($0) }
    }
    guard !files.isEmpty else { return }
    let file = chance.pick(files)
    var bytes = [UInt8](try Data(contentsOf: file))
    switch chance.below(4) {
    case 0: return try FileManager.default.removeItem(at: file)
    case 1: bytes.removeLast(min(bytes.count, 1 + chance.below(9)))
    case 2: bytes += [1, 2]
    default: if !bytes.isEmpty { bytes[chance.below(bytes.count)] ^= 1 << UInt8(chance.below(8)) }
    }
    try Data(bytes).write(to: file)
  }
}

extension Sequence {
  fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}
