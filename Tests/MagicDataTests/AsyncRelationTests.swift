import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

private struct Photo: MagicObject {
  @MagicValue var name: String
  @ReverseMagicValue(\Album.$photos) var albums: AsyncReverseMagicSet<Album>
  @ReverseMagicValue(\Album.$cover) var covers: AsyncReverseMagicSet<Album>
  @OptionMagicValue var note: String?
  @ReverseMagicValue(\Album.$ordered) var ordered: AsyncReverseMagicSet<Album>
  @ReverseMagicValue(\Album.$named) var named: AsyncReverseMagicSet<Album>
  @ReverseMagicValue(\Album.$later) var later: AsyncReverseMagicSet<Album>
  init() {}
  init(_ name: String) { self.name = name }
}

private struct Album: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var photos: MagicalSet<Photo>
  @OptionMagicValue var cover: Photo?
  @MagicValue var ordered: [Photo]
  @MagicValue var named: [String: Photo]
  @MagicValue var later: AsyncMagical<[Photo]>
  @OptionMagicValue var one: AsyncMagical<Photo>?
  @OptionMagicValue var set: AsyncMagical<MagicalSet<Photo>>?
  @OptionMagicValue var names: AsyncMagical<[Int: Photo]>?

  init() {
    photos = []
    ordered = []
    named = [:]
    later = AsyncMagical(value: [])
  }

  init(_ id: String) {
    self.init()
    _id.wrappedValue = id
  }
}

@Suite struct AsyncRelationTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func album(_ id: String = "a") async throws -> Album { try await magic.object(of: Album.self, primary: id) }

  private func owners(_ set: AsyncReverseMagicSet<Album>) async throws -> [String] {
    var owners: [String] = []
    for try await album in set { owners.append(album.id) }
    return owners
  }

  @Test func aReverseFindsEveryKindOfOwner() async throws {
    let (one, two) = (Photo("one"), Photo("two"))
    #expect(one.albums == [])
    #expect(one.albums.count == 0)
    let (a, b) = (Album("a"), Album("b"))
    a.photos = [one, two]
    b.photos = [one]
    b.cover = one
    a.ordered = [two, two]
    a.named = ["x": one, "y": one]
    b.later = AsyncMagical(value: [two])
    try await magic.update(a)
    try await magic.update(b)
    #expect(one.albums.count == 2)
    #expect(try await owners(one.albums) == ["a", "b"])
    #expect(try await owners(one.covers) == ["b"])
    #expect(try await owners(two.ordered) == ["a"])
    #expect(try await owners(one.named) == ["a"])
    #expect(try await owners(two.later) == ["b"])
    let fetched = try #require(try await magic.object(of: Photo.self).first { $0.name == "two" })
    #expect(try await owners(fetched.albums) == ["a"])
    #expect(fetched.albums == [a])
    #expect(fetched.covers.count == 0)
    try await magic.remove(a)
    #expect(fetched.albums == [])
    a.note(in: magic)
  }

  @Test func aReverseOfManyOwnersComesInBatches() async throws {
    let photo = Photo("one")
    try await magic.update(photo)
    try await magic.update(
      contentsOf: (0..<600).map { number in
        let album = Album("\(number)")
        album.cover = photo
        return album
      })
    #expect(photo.covers.count == 600)
    #expect(try await owners(photo.covers) == (0..<600).map(String.init))
    let plan = try await magic.store.read { db in
      try Row.fetchAll(
        db, sql: "EXPLAIN QUERY PLAN SELECT o.z_index FROM Album o WHERE o.cover = ? AND o.z_index > ? ORDER BY o.z_index",
        arguments: [1, 0]
      ).map { $0["detail"] as String }
    }
    #expect(plan.allSatisfy { $0.contains("SEARCH") && $0.contains("Album.cover") })
  }

  @Test func whatIsAskedForLaterIsNotFetchedBefore() async throws {
    let album = Album("a")
    let photos = (0..<600).map { Photo("\($0)") }
    album.later = AsyncMagical(value: photos)
    album.one = AsyncMagical(value: photos[7])
    album.set = AsyncMagical(value: [photos[1], photos[2]])
    album.names = AsyncMagical(value: [3: photos[3], 4: photos[4]])
    try await magic.update(album)
    let fetched = try await self.album()
    #expect(try fetched.later.count == 600)
    #expect(try await fetched.later.get().map(\.name) == photos.map(\.name))
    #expect(try await fetched.one?.get().name == "7")
    #expect(Set(try await fetched.set?.get().map(\.name) ?? []) == ["1", "2"])
    #expect(try await fetched.names?.get().mapValues(\.name) == [3: "3", 4: "4"])
    var streamed: [String] = []
    for try await photo in try fetched.later.createAsyncStream() { streamed.append(photo.name) }
    #expect(streamed == photos.map(\.name))
    var keys: [Int: String] = [:]
    for try await (key, photo) in try #require(fetched.names).createAsyncStream() { keys[key] = photo.name }
    #expect(keys == [3: "3", 4: "4"])
    let random = try await fetched.later.randomValue()
    #expect(random != nil)
    #expect(try await fetched.later.randomValue(in: 5..<6)?.name == "5")
    let none = try await fetched.later.randomValue(in: 900..<901)
    #expect(none == nil)
    let named = try await fetched.names?.randomValue()
    #expect(named != nil)
    // The value in memory is asked in memory.
    #expect(try await album.later.get().count == 600)
    #expect(try album.later.count == 600)
    let first = try await album.set?.randomValue(in: 0..<1)
    #expect(first != nil)
  }

  @Test func whatWasNotFetchedIsNotWritten() async throws {
    let album = Album("a")
    album.later = AsyncMagical(value: [Photo("one"), Photo("two")])
    album.set = AsyncMagical(value: [Photo("three")])
    try await magic.update(album)
    let fetched = try await self.album()
    fetched.photos.insert(Photo("other"))
    try await magic.update(fetched)
    #expect(try await self.album().later.get().map(\.name) == ["one", "two"])
    fetched.later.set([Photo("new")])
    fetched.set?.set([])
    try await magic.update(fetched)
    #expect(try await self.album().later.get().map(\.name) == ["new"])
    #expect(try await self.album().set?.get().isEmpty ?? true)
  }

  @Test func anObjectThatIsGoneIsAnErrorWhenAskedFor() async throws {
    let album = Album("a")
    let photo = Photo("one")
    album.one = AsyncMagical(value: photo)
    try await magic.update(album)
    try await magic.remove(photo)
    let fetched = try await self.album()
    await #expect { _ = try await fetched.one?.get() } throws: { error in
      (error as? MagicDataError)?.code == .notFound && "\(error)".contains("Album.one")
    }
  }

  @Test @MainActor func streamsRunWhereTheirConsumerIs() async throws {
    let album = Album("a")
    album.later = AsyncMagical(value: (0..<300).map { Photo("\($0)") })
    try await magic.update(album)
    let fetched = try await self.album()
    var count = 0
    for try await photo in try fetched.later.createAsyncStream() {
      MainActor.assertIsolated()
      count += photo.name.isEmpty ? 0 : 1
      if count == 3 { break }
    }
    #expect(count == 3)
  }
}

extension Album {
  /// Keeps the database open until here: a reverse asks it.
  fileprivate func note(in magic: MagicData) {}
}
