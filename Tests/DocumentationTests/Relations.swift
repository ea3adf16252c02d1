import Foundation
import MagicData
import TestSupport
import Testing

struct Photo: MagicObject {
  @MagicValue var name: String
  @ReverseMagicValue(\Album.$photos) var albums: AsyncReverseMagicSet<Album>

  init() {}

  init(_ name: String) {
    self.name = name
  }
}

struct Album: MagicObject {
  @PrimaryMagicValue var title: String
  @OptionMagicValue var cover: Photo?
  @MagicValue var photos: MagicalSet<Photo> = []
  @MagicValue var order: [Photo] = []
  @MagicValue var tagged: [String: Photo] = [:]
  @MagicValue var originals: AsyncMagical<[Photo]> = AsyncMagical(value: [])

  init() {}
}

@Suite struct Relations {
  @Test func objectsHoldObjects() async throws {
    let magic = try await MagicData(type: .memory)

    let sea = Photo("sea")
    let album = Album()
    album.title = "Summer"
    album.cover = sea
    album.photos = [sea, Photo("beach")]
    album.tagged["best"] = sea
    album.originals.set([sea])
    try await magic.update(album)

    let summer = try await magic.object(of: Album.self, primary: "Summer")
    summer.photos.insert(Photo("sunset"))
    try await magic.update(summer)
    for try await album in sea.albums { print(album.title, try album.originals.count) }
    for try await photo in try summer.originals.createAsyncStream() { print(photo.name) }
    let sunny = try await magic.query(of: Album.self)
      .where { $0.cover.name == "sea" && $0.photos.contains { $0.name.hasPrefix("sun") } }
      .all()
    let bare = try await magic.query(of: Album.self).where { $0.cover == nil || $0.photos.count < 2 }.count()
    let withSea = try await magic.query(of: Album.self).where { $0.photos.contains(sea) }.sorted(by: \.cover?.name).all()
    #expect(sunny.map(\.title) == ["Summer"])
    #expect(bare == 0)
    #expect(withSea.count == 1)
    let last = try await magic.object(of: Album.self, primary: "Summer")
    #expect(last.photos.count == 3)
    #expect(last.tagged["best"]?.name == "sea")
    #expect(sea.albums.count == 1)
  }

  @Test func objectsAreFetchedLater() async throws {
    let magic = try await MagicData(type: .memory)
    let (sea, summer) = (Photo("sea"), Album())
    summer.title = "Summer"
    summer.photos = [sea, Photo("sunset")]
    try await magic.update(summer)

    summer.photos.removeAll { $0.name.hasPrefix("sun") }
    summer.originals.set([sea, Photo("pier")])
    try await magic.update(summer)

    let album = try await magic.object(of: Album.self, primary: "Summer")
    let one = try await album.originals.randomValue()
    let first = try await album.originals.randomValue(in: 0..<1)
    print(try album.originals.count, "originals:", one?.name ?? "none", "and", first?.name ?? "none")
    let originals = try await album.originals.get()

    #expect(album.photos.map(\.name) == ["sea"])
    #expect(one != nil)
    #expect(first?.name == "sea")
    #expect(originals.map(\.name) == ["sea", "pier"])
  }
}
