import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

struct Photo: MagicObject {
  @PrimaryMagicValue var id: String
  @OptionMagicValue var content: MagicAsset<String>?
  @OptionMagicValue var title: String?

  init() {}

  init(_ id: String, _ content: String) {
    self.id = id
    self.content = .init(value: content)
  }
}

/// The name of an asset travels; its content does not yet.
@Suite struct AssetTests {
  let folder: TemporaryFolder
  let a: Replica
  let b: Replica

  init() throws {
    folder = try TemporaryFolder()
    let world = World()
    a = try Replica(folder["a"], folder["remote"], world)
    b = try Replica(folder["b"], folder["remote"], world)
  }

  private func photo(_ replica: Replica) async throws -> Photo {
    try await replica.magic.object(of: Photo.self, primary: "p")
  }

  /// H-38.
  @Test func aRowComesBeforeItsContentAndSaysSo() async throws {
    try await a.magic.update(Photo("p", "x"))
    try await settle([a, b])
    let photo = try await photo(b)
    let content = try #require(photo.content)
    #expect(content.value == nil)
    #expect { try content.load() } throws: { error in
      (error as? MagicDataError)?.code == .notFound && "\(error)".contains("has not arrived")
    }
    photo.title = "t"
    try await b.magic.update(photo)
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await self.photo(a).content?.value == "x")
    #expect(try await self.photo(a).title == "t")
  }

  @Test func aMergeLetsGoOfFiles() async throws {
    let old = Photo("p", "old")
    try await a.magic.update(old)
    try await a.magic.update(Photo("q", "other"))
    try await settle([a, b])
    let path = try #require(try await photo(a).content?.path)
    let photo = try await photo(b)
    photo.content = .init(value: "new")
    try await b.magic.update(photo)
    try await settle([a, b])
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try await self.photo(a).content?.value == nil)

    let other = try #require(try await a.magic.object(of: Photo.self, primary: "q").content?.path)
    try await b.magic.remove(try await b.magic.object(of: Photo.self, primary: "q"))
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(!FileManager.default.fileExists(atPath: other))
  }
}
