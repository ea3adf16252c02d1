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
  @ReverseMagicValue(\Album.$one) var ones: AsyncReverseMagicSet<Album>
  @ReverseMagicValue(\Album.$set) var sets: AsyncReverseMagicSet<Album>
  @ReverseMagicValue(\Album.$names) var names: AsyncReverseMagicSet<Album>
  @ReverseMagicValue(\Postcard.$front) var postcards: AsyncReverseMagicSet<Postcard>
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

/// Cannot do without its photo, and asks for it later.
private struct Postcard: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var front: AsyncMagical<Photo>
  init() {}

  init(_ id: String, _ front: Photo) {
    self.id = id
    self.front = AsyncMagical(value: front)
  }
}

private struct Ring: MagicObject {
  @MagicValue var number: Int
  @OptionMagicValue var next: AsyncMagical<Ring>?
  @OptionMagicValue var more: AsyncMagical<[Ring]>?
  init() {}
  init(_ number: Int) { self.number = number }
}

@Suite struct AsyncRelationTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func album(_ id: String = "a") async throws -> Album { try await magic.object(of: Album.self, primary: id) }

  private func photo(_ name: String) async throws -> Photo {
    try #require(try await magic.object(of: Photo.self).first { $0.name == name })
  }

  private func owners(_ set: AsyncReverseMagicSet<Album>) async throws -> [String] {
    var owners: [String] = []
    for try await album in set { owners.append(album.id) }
    return owners
  }

  /// J-9, L-7: what a removed object held is told from the journal, since it has no row.
  @Test(arguments: [false, true]) func whatIsSetInARemovedObjectStandsAlone(isOneTransaction: Bool) async throws {
    let first = Album("a")
    let (one, two, hidden) = (Photo("one"), Photo("two"), Photo("hidden"))
    first.set = AsyncMagical(value: [one, two])
    first.names = AsyncMagical(value: [1: one, 2: two])
    first.later = AsyncMagical(value: [one, hidden, two])
    first.photos = [one]
    try await magic.update(first)
    let seen = try await photo("hidden")
    try await magic.remove(hidden)
    let (stale, other) = (try await album(), try await album())
    stale.set = AsyncMagical(value: [try await photo("two"), Photo("new")])
    stale.names = AsyncMagical(value: [2: try await photo("one")])
    stale.later = AsyncMagical(value: [try await photo("two"), try await photo("one")])
    if isOneTransaction {
      try await magic.transaction { [other, stale] transaction in
        try await transaction.remove(other)
        try await transaction.update(stale)
      }
    } else {
      try await magic.remove(other)
      try await magic.update(stale)
    }
    seen.note = "back"
    try await magic.update(seen)
    let found = try await album()
    #expect(Set(try #require(try await found.set?.get()).map(\.name)) == ["two", "new"])
    #expect(try await found.names?.get().mapValues(\.name) == [2: "one"])
    #expect(try await found.later.get().map(\.name) == ["two", "one", "hidden"])
    #expect(found.photos.map(\.name) == ["one"])
  }

  /// The z index of an object that a rolled back transaction made may be the next one's.
  @Test func whatWasNeverStoredHoldsNothingOfAnother() async throws {
    var ghost: Album?
    await #expect(throws: CancellationError.self) {
      try await magic.transaction { transaction in
        try await transaction.update(Album("a"))
        ghost = try await transaction.object(of: Album.self, primary: "a")
        throw CancellationError()
      }
    }
    let other = Album("b")
    other.later = AsyncMagical(value: [Photo("sea")])
    try await magic.update(other)
    let later = try #require(ghost).later
    #expect(try later.count == 0)
    #expect(try await later.get().isEmpty)
    #expect(try await later.randomValue() == nil)
    #expect(try await album("b").later.get().map(\.name) == ["sea"])
  }

  @Test func aReverseOfWhatWasNeverStoredHoldsNoOwnerOfAnother() async throws {
    var owners: AsyncReverseMagicSet<Album>?
    await #expect(throws: CancellationError.self) {
      try await magic.transaction { transaction in
        let ghost = Photo("ghost")
        try await transaction.update(ghost)
        owners = ghost.albums
        throw CancellationError()
      }
    }
    let album = Album("a")
    album.photos = [Photo("sea")]
    try await magic.update(album)
    #expect(try #require(owners).count == 0)
    #expect(try await self.owners(try #require(owners)).isEmpty)
  }

  /// Of one with a primary value as well.
  private struct Track: MagicObject {
    @PrimaryMagicValue var id: String
    @ReverseMagicValue(\Mix.$tracks) var mixes: AsyncReverseMagicSet<Mix>
    init() {}
    init(_ id: String) { self.id = id }
  }

  private struct Mix: MagicObject {
    @MagicValue var tracks: MagicalSet<Track>
    init() {}
    init(_ tracks: MagicalSet<Track>) { self.tracks = tracks }
  }

  @Test(arguments: [false, true]) func aReverseOfWhatWasRolledBackHoldsNoOwnerOfAnother(isFetched: Bool) async throws {
    try await magic.update(Mix([Track("before")]))
    var owners: AsyncReverseMagicSet<Mix>?
    await #expect(throws: CancellationError.self) {
      try await magic.transaction { transaction in
        var ghost = Track("ghost")
        try await transaction.update(ghost)
        if isFetched { ghost = try await transaction.object(of: Track.self, primary: "ghost") }
        owners = ghost.mixes
        throw CancellationError()
      }
    }
    try await magic.update(Mix([Track("sea")]))
    let none = try #require(owners)
    #expect(none.count == 0)
    for try await mix in none { Issue.record("\(mix) holds what was never stored") }
    #expect(try await magic.object(of: Track.self, primary: "sea").mixes.count == 1)
  }

  private struct Video: MagicObject {
    @PrimaryMagicValue var id: String
    @ReverseMagicValue(\Mix.$tracks) var mixes: AsyncReverseMagicSet<Mix>
    init() {}
  }

  /// Another view of the same objects.
  private struct Heard: MagicObject {
    @PrimaryMagicValue var id: String
    @ReverseMagicValue(\Mix.$tracks) var mixes: AsyncReverseMagicSet<Mix>
    static var magicName: String { Track.magicName }
    init() {}
  }

  @Test func aReverseOfARelationToAnotherTypeIsRefused() async throws {
    try await magic.update(Mix([Track("sea")]))
    let other = try await MagicData(path: folder["db"])
    #expect(try await other.object(of: Heard.self, primary: "sea").mixes.count == 1)
    await #expect {
      try await magic.update(Video())
    } throws: { error in
      (error as? MagicDataError)?.code == .model && "\(error)".contains("mixes") && "\(error)".contains("Track")
    }
  }

  /// The memory of a member that has given way may be the next object's.
  @Test func whatComesAfterAMemberGaveWayIsAdded() async throws {
    try await magic.update(contentsOf: (0..<50).map { Photo("old \($0)") })
    var set = MagicalSet(try await magic.object(of: Photo.self))
    var added = 0
    for photo in try await magic.object(of: Photo.self) where set.insert(photo) { added += 1 }
    #expect(added == 0)
    for number in 0..<200 where set.insert(Photo("new \(number)")) { added += 1 }
    #expect(added == 200)
    #expect(set.count == 250)
    #expect(Set(set.map(\.name)).count == 250)
    for photo in try await magic.object(of: Photo.self) { #expect(set.contains(photo)) }
  }

  /// What another object has not fetched cannot be given away, and is not dropped without a word.
  @Test func whatAnotherObjectAsksForIsRefused() async throws {
    let a = Album("a")
    a.later = AsyncMagical(value: [Photo("one")])
    try await magic.update(a)
    try await magic.update(Album("b"))
    let (first, second, new) = (try await album("a"), try await album("b"), Album("c"))
    for other in [second, new] {
      other.later = first.later
      await #expect { try await magic.update(other) } throws: {
        ($0 as? MagicDataError)?.code == .value && "\($0)".contains("get()")
      }
      other.later = AsyncMagical(value: try await first.later.get())
      try await magic.update(other)
    }
    // Its own is what it was.
    first.later = first.later
    try await magic.update(first)
    for id in ["a", "b", "c"] { #expect(try await album(id).later.get().map(\.name) == ["one"]) }
  }

  /// L-8: of a dictionary an older app reads what it can.
  @Test func aKeyThatOnlyANewerAppKnowsHidesNoOwner() async throws {
    enum Level: String, Codable { case low, high }
    struct Newer: MagicObject {
      static var magicName: String { "Shelf" }
      @PrimaryMagicValue var id: String
      @MagicValue var byLevel: [String: Photo] = [:]
      @OptionMagicValue var later: AsyncMagical<[String: Photo]>?
      init() {}
    }
    struct Older: MagicObject {
      static var magicName: String { "Shelf" }
      @PrimaryMagicValue var id: String
      @MagicValue var byLevel: [Level: Photo] = [:]
      @OptionMagicValue var later: AsyncMagical<[Level: Photo]>?
      init() {}
    }
    let newer = Newer()
    newer.id = "s"
    newer.byLevel = ["low": Photo("low"), "unheard of": Photo("new")]
    newer.later = AsyncMagical(value: newer.byLevel)
    try await magic.update(newer)
    try await magic.close()
    let older = try await MagicData(path: folder["db"])
    let shelf = try await older.object(of: Older.self, primary: "s")
    #expect(shelf.byLevel.mapValues(\.name) == [.low: "low"])
    let later = try #require(shelf.later)
    #expect(try await later.get().mapValues(\.name) == [.low: "low"])
    var streamed: [String] = []
    for try await (level, photo) in try later.createAsyncStream() { streamed.append("\(level) \(photo.name)") }
    #expect(streamed == ["low low"])
    for _ in 0..<20 { _ = try await later.randomValue() }
    // What `get()` did not show is not taken out.
    var levels = try await later.get()
    levels[.high] = Photo("higher")
    shelf.later?.set(levels)
    shelf.byLevel[.high] = Photo("high")
    try await older.update(shelf)
    try await older.close()
    let again = try await MagicData(path: folder["db"]).object(of: Newer.self, primary: "s")
    #expect(again.byLevel.mapValues(\.name) == ["low": "low", "high": "high", "unheard of": "new"])
    #expect(try await again.later?.get().mapValues(\.name) == ["low": "low", "high": "higher", "unheard of": "new"])
  }

  /// Of two databases nothing is the same, and what was not saved is nothing yet.
  @Test func reversesOfTwoDatabasesDiffer() async throws {
    let other = try await MagicData(path: folder["other"])
    var photos: [Photo] = []
    for database in [magic, other] {
      let album = Album()
      album.id = "a"
      album.photos = [Photo("one")]
      try await database.update(album)
      photos.append(try #require(await database.object(of: Photo.self).first))
    }
    #expect(photos.map(\.albums.count) == [1, 1])
    #expect(photos[0].albums != photos[1].albums)
    #expect(photos[0].albums == [try await album("a")])
    #expect(photos[1].albums != [try await album("a")])
    #expect(photos[0].covers == photos[1].covers)
    #expect(photos[0].covers != [Album()])
  }

  /// L-8: members that this version cannot show, and those that came since, stay where they are.
  @Test func whatGetDidNotShowStays() async throws {
    enum Newer {
      enum Colour: String, MagicalCodable { case red, blue, green }
      struct Leaf: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var colour: Colour
        init() {}
        init(_ id: String, _ colour: Colour) { (self.id, self.colour) = (id, colour) }
      }
      struct Branch: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var leaves: AsyncMagical<MagicalSet<Leaf>> = AsyncMagical(value: [])
        @MagicValue var order: AsyncMagical<[Leaf]> = AsyncMagical(value: [])
        init() {}
      }
    }
    enum Older {
      enum Colour: String, MagicalCodable { case red }
      struct Leaf: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var colour: Colour
        init() {}
        init(_ id: String) { (self.id, colour) = (id, .red) }
      }
      struct Branch: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var leaves: AsyncMagical<MagicalSet<Leaf>> = AsyncMagical(value: [])
        @MagicValue var order: AsyncMagical<[Leaf]> = AsyncMagical(value: [])
        init() {}
      }
    }
    let branch = Newer.Branch()
    branch.id = "b"
    let leaves = [Newer.Leaf("1", .red), Newer.Leaf("2", .blue), Newer.Leaf("3", .red)]
    (branch.leaves, branch.order) = (AsyncMagical(value: MagicalSet(leaves)), AsyncMagical(value: leaves))
    try await magic.update(branch)
    let older = try await MagicData(path: folder["db"])
    let fetched = try await older.object(of: Older.Branch.self, primary: "b")
    var (set, list) = (try await fetched.leaves.get(), try await fetched.order.get())
    let came = try await magic.object(of: Newer.Branch.self, primary: "b")
    var more = try await came.leaves.get()
    more.insert(Newer.Leaf("4", .green))
    came.leaves.set(more)
    try await magic.update(came)
    set.removeAll { $0.id == "1" }
    list.append(Older.Leaf("5"))
    fetched.leaves.set(set)
    fetched.order.set(list)
    try await older.update(fetched)
    let now = try await magic.object(of: Newer.Branch.self, primary: "b")
    #expect(try await now.leaves.get().map(\.id).sorted() == ["2", "3", "4"])
    #expect(try await now.order.get().map(\.id) == ["1", "2", "3", "5"])
    list.append(Older.Leaf("6"))
    fetched.order.set(list)
    try await older.update(fetched)
    let last = try await magic.object(of: Newer.Branch.self, primary: "b")
    #expect(try await last.order.get().map(\.id) == ["1", "2", "3", "5", "6"])
  }

  /// J-9: what is set brings an object back that somebody removed, if it is no more than that one holds nothing.
  @Test func anObjectThatHoldsNothingNowIsMadeAgain() async throws {
    let album = Album()
    album.id = "a"
    album.one = AsyncMagical(value: Photo("one"))
    try await magic.update(album)
    let fetched = try await self.album("a")
    try await magic.removeAll(of: Album.self)
    fetched.one = nil
    try await magic.update(fetched)
    #expect(try await self.album("a").one == nil)
  }

  /// A removed object is held by nobody, whatever its instance knew.
  @Test func aReverseOfARemovedObjectIsEmpty() async throws {
    let album = Album()
    album.id = "a"
    album.photos = [Photo("one")]
    album.cover = album.photos.first
    try await magic.update(album)
    let photo = try #require(await magic.object(of: Photo.self).first)
    #expect(photo.albums.count == 1 && photo.covers.count == 1)
    try await magic.removeAll(of: Photo.self)
    #expect(photo.albums.count == 0 && photo.covers.count == 0)
    for try await album in photo.albums { Issue.record("\(album.id)") }
  }

  /// Owners that cannot be shown do not end a reverse.
  @Test func aReverseGoesOnBehindOwnersThatCannotBeShown() async throws {
    enum Colour: String, MagicalCodable { case red }
    struct Frame: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var colour: Colour
      @OptionMagicValue var picture: Picture?
      init() {}
    }
    struct Picture: MagicObject {
      @MagicValue var name: String
      @ReverseMagicValue(\Frame.$picture) var frames: AsyncReverseMagicSet<Frame>
      init() {}
    }
    let picture = Picture()
    picture.name = "one"
    try await magic.update(picture)
    try await magic.update(
      contentsOf: (0..<600).map { number in
        let frame = Frame()
        (frame.id, frame.colour, frame.picture) = ("\(number)", .red, picture)
        return frame
      })
    // As a newer app would have written it.
    try await magic.store.write { db in
      try db.execute(sql: "UPDATE Frame SET colour = CAST('\"mauve\"' AS BLOB) WHERE z_index <= 550")
    }
    let fetched = try #require(try await magic.object(of: Picture.self).first)
    var owners = 0
    for try await _ in fetched.frames { owners += 1 }
    #expect(owners == 50)
  }

  /// Whether they were saved or not.
  @Test func aListToCompareWithCountsWhatItGives() async throws {
    let saved = Album("a")
    try await magic.update(saved)
    let albums: AsyncReverseMagicSet<Album> = [saved, Album("b")]
    #expect(albums.count == 2)
    #expect(try await owners(albums) == ["a", "b"])
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
    a.one = AsyncMagical(value: two)
    b.set = AsyncMagical(value: [one, two])
    a.names = AsyncMagical(value: [1: one, 2: two, 3: one])
    try await magic.update(a)
    try await magic.update(b)
    try await magic.update(Postcard("p", two))
    #expect(one.albums.count == 2)
    #expect(try await owners(one.albums) == ["a", "b"])
    #expect(try await owners(one.covers) == ["b"])
    #expect(try await owners(two.ordered) == ["a"])
    #expect(try await owners(one.named) == ["a"])
    #expect(try await owners(two.later) == ["b"])
    #expect(try await owners(two.ones) == ["a"])
    #expect(one.ones.count == 0)
    for photo in [one, two] {
      #expect(try await owners(photo.sets) == ["b"])
      #expect(try await owners(photo.names) == ["a"])
    }
    var postcards: [String] = []
    for try await postcard in two.postcards { postcards.append(postcard.id) }
    #expect(postcards == ["p"])
    #expect(one.postcards.count == 0)
    let fetched = try #require(try await magic.object(of: Photo.self).first { $0.name == "two" })
    #expect(try await owners(fetched.albums) == ["a"])
    #expect(fetched.albums == [a])
    #expect(fetched.covers.count == 0)
    #expect(fetched.names == [a])
    #expect(fetched.sets == [b])
    try await magic.remove(a)
    #expect(fetched.albums == [])
    #expect(fetched.ones == [])
    #expect(fetched.names == [])
    #expect(fetched.sets == [b])
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

  /// The owner is there all the same, and its object again once it comes back.
  @Test func aRequiredObjectThatIsGoneIsAnErrorWhenAskedFor() async throws {
    let photo = Photo("one")
    try await magic.update(Postcard("p", photo))
    let stale = try #require(try await magic.object(of: Photo.self).first)
    try await magic.remove(photo)
    let fetched = try await magic.object(of: Postcard.self, primary: "p")
    await #expect { _ = try await fetched.front.get() } throws: { error in
      (error as? MagicDataError)?.code == .notFound && "\(error)".contains("Postcard.front")
    }
    // What was not asked for is not written either.
    try await magic.update(fetched)
    stale.name = "back"
    try await magic.update(stale)
    #expect(try await fetched.front.get().name == "back")
    #expect(try await magic.object(of: Postcard.self, primary: "p").front.get().name == "back")
  }

  /// L-8: who is told that it was removed sets another one, which takes it away from all.
  @Test func anObjectThatOnlyANewerAppCanReadIsNotToldAsRemoved() async throws {
    enum New {
      enum Rank: String, Magical { case low, high }
      struct Person: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var rank: Rank
        init() {}
      }
      struct Book: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var author: AsyncMagical<Person>
        @OptionMagicValue var editor: Person?
        init() {}
      }
    }
    enum Old {
      enum Rank: String, Magical { case low }
      struct Person: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var rank: Rank
        init() {}
      }
      struct Book: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var author: AsyncMagical<Person>
        @OptionMagicValue var editor: Person?
        @OptionMagicValue var title: String?
        init() {}
      }
    }
    let (book, person) = (New.Book(), New.Person())
    (person.id, person.rank, book.id) = ("p", .high, "b")
    book.author = AsyncMagical(value: person)
    book.editor = person
    try await magic.update(book)
    let older = try await MagicData(path: folder["db"])
    let seen = try await older.object(of: Old.Book.self, primary: "b")
    await #expect { _ = try await seen.author.get() } throws: { error in
      (error as? MagicDataError)?.code == .value && "\(error)".contains("Book.author")
    }
    #expect(seen.editor == nil)
    seen.title = "x"
    try await older.update(seen)
    let found = try await magic.object(of: New.Book.self, primary: "b")
    #expect(found.editor?.rank == .high)
    #expect(try await found.author.get().rank == .high)
  }

  /// As a query's stream: nothing runs and nothing is held between two objects, so others write and the database closes.
  @Test func whoLeavesAStreamEarlyHasFetchedOneBatch() async throws {
    let album = Album("a")
    album.later = AsyncMagical(value: (0..<1_000).map { Photo("\($0)") })
    try await magic.update(album)
    let fetched = try await self.album()
    for try await photo in try fetched.later.createAsyncStream() where photo.name == "3" { break }
    try await magic.update(Photo("another"))
    var iterator = try fetched.later.createAsyncStream().makeAsyncIterator()
    var count = try await iterator.next() == nil ? 0 : 1
    try await magic.close()
    // What was loaded is still given.
    do {
      while try await iterator.next() != nil { count += 1 }
      Issue.record("the database is closed")
    } catch is MagicDataError {}
    #expect(count == 256)
    let last = try await iterator.next()
    #expect(last == nil)
  }

  @Test func whoLeavesAReverseEarlyHasFetchedOneBatch() async throws {
    let photo = Photo("one")
    try await magic.update(photo)
    try await magic.update(
      contentsOf: (0..<1_000).map { number in
        let album = Album("\(number)")
        album.cover = photo
        return album
      })
    for try await album in photo.covers where album.id == "3" { break }
    try await magic.update(Album("another"))
    var iterator = photo.covers.makeAsyncIterator()
    var count = try await iterator.next() == nil ? 0 : 1
    try await magic.close()
    // What was loaded is still given, and nothing behind an error.
    do {
      while try await iterator.next() != nil { count += 1 }
      Issue.record("the database is closed")
    } catch is MagicDataError {}
    #expect(count == 256)
    let last = try await iterator.next()
    #expect(last == nil)
  }

  private struct Held {
    weak var store: Store?

    init(_ store: Store) {
      self.store = store
    }
  }

  @Test func nothingIsLeftRunningByWhoStopsEarly() async throws {
    func use() async throws -> Held {
      let magic = try await MagicData(type: .temporary)
      let (album, cover) = (Album("a"), Photo("cover"))
      album.later = AsyncMagical(value: (0..<600).map { Photo("\($0)") })
      album.cover = cover
      try await magic.update(album)
      let fetched = try await magic.object(of: Album.self, primary: "a")
      for try await _ in try fetched.later.createAsyncStream() { break }
      for try await _ in cover.covers { break }
      return Held(magic.store)
    }
    // What runs for a sequence holds the store.
    let held = try await use()
    #expect(held.store == nil)
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

extension AsyncRelationTests {
  @Test func anOptionalOneThatIsNotThereIsNil() async throws {
    let empty = Album("empty")
    try await magic.update(empty)
    let full = Album("full")
    full.one = AsyncMagical(value: Photo("p"))
    try await magic.update(full)
    #expect(try await magic.object(of: Album.self, primary: "empty").one == nil)
    let photo = try await magic.object(of: Album.self, primary: "full").one?.get()
    #expect(photo?.name == "p")
  }

  /// J-22: none are no value.
  @Test func anOptionalPropertyOfSeveralObjectsDoesNotTellNilFromNone() async throws {
    struct Crate: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var list: [Photo]?
      @OptionMagicValue var set: MagicalSet<Photo>?
      @OptionMagicValue var named: [String: Photo]?
      @OptionMagicValue var later: AsyncMagical<[Photo]>?
      init() {}
    }
    let (none, empty) = (Crate(), Crate())
    empty.list = []
    empty.set = []
    empty.named = [:]
    empty.later = AsyncMagical(value: [])
    try await magic.update(contentsOf: [none, empty])
    let crates = try await magic.object(of: Crate.self)
    #expect(crates.count == 2)
    for crate in crates {
      #expect(crate.list == nil && crate.set == nil && crate.named == nil)
      #expect(try crate.later?.count == 0)
    }
  }

  /// What was never asked for is as it was when the object comes back.
  @Test func whatWasNotFetchedComesBackWithItsObject() async throws {
    let album = Album("a")
    album.later = AsyncMagical(value: [Photo("p"), Photo("q")])
    album.set = AsyncMagical(value: [Photo("r")])
    try await magic.update(album)
    let fetched = try await magic.object(of: Album.self, primary: "a")
    try await magic.remove(fetched)
    try await magic.update(fetched)
    let back = try await magic.object(of: Album.self, primary: "a")
    #expect(try await back.later.get().map(\.name) == ["p", "q"])
    #expect(try back.set?.count == 1)
  }

  /// What an instance never asked for is no other object's.
  @Test func whatWasNotFetchedIsNotTakenFromAnother() async throws {
    for (id, name) in [("a", "of a"), ("b", "of b")] {
      let album = Album(id)
      album.later = AsyncMagical(value: [Photo(name)])
      try await magic.update(album)
    }
    try await magic.remove(try await magic.object(of: Album.self, primary: "b"))
    let renamed = try await magic.object(of: Album.self, primary: "a")
    renamed.id = "b"
    await #expect { try await magic.update(renamed) } throws: { ($0 as? MagicDataError)?.code == .unsetValue }
    // Nor is it what a transaction made and took away.
    await #expect {
      try await magic.transaction { tx in
        try await tx.update(Album("c"))
        let made = try await tx.object(of: Album.self, primary: "c")
        try await tx.remove(made)
        try await tx.update(made)
      }
    } throws: { ($0 as? MagicDataError)?.code == .unsetValue }
    #expect(try await magic.object(of: Album.self).map(\.id) == ["a"])
  }

  private func albums() async throws -> Album {
    for (id, name) in [("a", "of a"), ("b", "of b")] {
      let album = Album(id)
      (album.later, album.one) = (AsyncMagical(value: [Photo(name)]), AsyncMagical(value: Photo(name)))
      (album.photos, album.ordered, album.named) = ([Photo(name)], [Photo(name)], ["x": Photo(name)])
      album.cover = Photo(name)
      try await magic.update(album)
    }
    return try await magic.object(of: Album.self, primary: "a")
  }

  /// An instance that is another object by now, which was there already, asks for that one's objects.
  @Test func whatIsAskedForIsOfTheObjectThatTheInstanceIs() async throws {
    let album = try await albums()
    album.id = "b"
    try await magic.update(album)
    #expect(try await album.later.get().map(\.name) == ["of b"])
    #expect(try await album.one?.get().name == "of b")
    let first = try await magic.object(of: Album.self, primary: "a")
    album.later.set(try await first.later.get())
    album.one = AsyncMagical(value: try await #require(first.one).get())
    try await magic.update(album)
    let stored = try await magic.object(of: Album.self, primary: "b")
    #expect(try await stored.later.get().map(\.name) == ["of a"])
    #expect(try await stored.one?.get().name == "of a")
    // The one that it was is as it was.
    #expect(try await magic.object(of: Album.self, primary: "a").later.get().map(\.name) == ["of a"])
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
  }

  /// Nor is an object that the first one lacks taken for one that the other holds.
  @Test func whatIsMissingOfOneObjectIsSetOnAnother() async throws {
    struct Frame: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var photo: Photo
      @OptionMagicValue var later: AsyncMagical<[Photo]>?
      init() {}
      init(_ id: String, _ photo: Photo) { (self.id, self.photo, later) = (id, photo, AsyncMagical(value: [])) }
    }
    let (photo, kept) = (Photo("gone"), Photo("kept"))
    try await magic.update(contentsOf: [Frame("a", photo), Frame("b", kept)])
    try await magic.remove(photo)
    let frame = try await magic.object(of: Frame.self, primary: "a")
    frame.id = "b"
    try await magic.update(frame)
    #expect(try await magic.object(of: Frame.self, primary: "b").photo.name == "kept")
    try await magic.update(photo)
    frame.photo = photo
    try await magic.update(frame)
    #expect(try await magic.object(of: Frame.self, primary: "b").photo.name == "gone")
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
  }

  /// A rollback takes the meeting back.
  @Test func aMeetingThatIsRolledBackLeavesTheInstanceWhatItWas() async throws {
    struct Stop: Error {}
    let album = try await albums()
    await #expect(throws: (any Error).self) {
      try await magic.transaction { tx in
        album.id = "b"
        try await tx.update(album)
        throw Stop()
      }
    }
    #expect(try await album.later.get().map(\.name) == ["of a"])
    album.id = "a"
    album.ordered = album.ordered
    try await magic.update(album)
    #expect(try await magic.object(of: Album.self, primary: "a").ordered.map(\.name) == ["of a"])
    #expect(try await magic.object(of: Album.self, primary: "b").ordered.map(\.name) == ["of b"])
  }

  /// The same in another database, in which the z indexes are the same by chance.
  @Test func whatIsAskedForIsOfTheDatabaseThatTheInstanceWasSavedIn() async throws {
    _ = try await albums()
    let other = try await MagicData(path: folder["other"])
    let held = Album("a")
    held.later = AsyncMagical(value: [Photo("of the other")])
    try await other.update(held)
    let album = try await magic.object(of: Album.self, primary: "a")
    try await other.update(album)
    #expect(try await album.later.get().map(\.name) == ["of the other"])
    album.later = AsyncMagical(value: try await magic.object(of: Album.self, primary: "a").later.get())
    try await other.update(album)
    #expect(try await other.object(of: Album.self, primary: "a").later.get().map(\.name) == ["of a"])
  }

  /// H-5: in whatever way an object is held.
  @Test func anUnsetValueInAnyRelationStoresNothing() async throws {
    let ways: [(Album, Photo) -> Void] = [
      { $0.photos = [Photo("set"), $1] }, { $0.cover = $1 }, { $0.ordered = [$1] },
      { $0.named = ["a": Photo("set"), "b": $1] },
      { $0.later = AsyncMagical(value: [$1]) }, { $0.one = AsyncMagical(value: $1) }, { $0.set = AsyncMagical(value: [$1]) },
      { $0.names = AsyncMagical(value: [1: $1]) },
    ]
    for (number, hold) in ways.enumerated() {
      let album = Album("a")
      hold(album, Photo())
      await #expect("\(number)") { try await magic.update(album) } throws: { error in
        (error as? MagicDataError)?.code == .unsetValue && "\(error)".contains("Photo.name")
      }
    }
    #expect(try await magic.count(of: Album.self) == 0)
    #expect(try await magic.count(of: Photo.self) == 0)
    #expect(try await magic.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM magic_journal") } == 0)
  }

  /// Of objects that are fetched later too: neither to save nor to let go of a chain needs a deep stack, and a circle ends.
  @Test func aChainOfTenThousandIsNoDeeperThanOne() async throws {
    func save() async throws {
      let last = Ring(0)
      var first = last
      for number in 1..<10_000 {
        let ring = Ring(number)
        if number % 2 == 0 { ring.next = AsyncMagical(value: first) } else { ring.more = AsyncMagical(value: [first]) }
        first = ring
      }
      last.next = AsyncMagical(value: first)
      #expect(try await magic.update(first) == 10_000)
      // Instances that hold each other would stay.
      last.next = nil
    }
    try await save()
    #expect(try await magic.count(of: Ring.self) == 10_000)
    let last = try #require(try await magic.query(of: Ring.self).where { $0.number == 0 }.first())
    let first = try #require(try await last.next?.get())
    #expect(first.number == 9_999)
    let second = try #require(try await first.more?.get().first)
    #expect(try await (second.number, second.next?.get().number) == (9_998, 9_997))
  }
}
