import Foundation
import MagicData
import Synchronization
import TestSupport
import Testing

@testable import MagicData

/// What a memberwise `init` makes, whose wrappers come in another order than they are declared in, is as much one instance as
/// any other.
@Suite(.timeLimit(.minutes(15)), .serialized) struct MemberwiseTests {
  struct Album: MagicObject {
    @MagicValue var title: String
    @MagicValue var photos: MagicalSet<Photo> = []
  }

  struct Photo: MagicObject {
    @MagicValue var name: String = ""
    @ReverseMagicValue(\Album.$photos) var albums: AsyncReverseMagicSet<Album>
  }

  struct Job: MagicObject {
    @MagicValue var isDone: Bool = false
    @MagicValue var title: String
    @OptionMagicValue var note: String?
    @MagicValue var rank: Int = 3
  }

  struct Pair: MagicObject {
    @MagicValue var name: String
    @MagicValue var title: String
  }

  final class Scene: MagicObject {
    @ReverseMagicValue(\Film.$scenes) var films: AsyncReverseMagicSet<Film>
    @MagicValue var name: String = ""
    @MagicValue var rank: Int = 3

    init() {}
    init(rank: Int) { _rank = MagicValue(wrappedValue: rank) }
  }

  struct Film: MagicObject {
    @MagicValue var scenes: [Scene] = []
  }

  /// A value that says when it is gone.
  final class Box: MagicalCodable {
    static let gone = Atomic(0)

    init() {}
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws { try "box".encode(to: encoder) }
    deinit { Box.gone.add(1, ordering: .relaxed) }
  }

  struct Holder: MagicObject {
    @MagicValue var box: Box
    @MagicValue var title: String
  }

  private let folder: TemporaryFolder
  private let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  @Test func twoAreTwoObjects() async throws {
    try await magic.update(Photo(name: "known"))
    let (first, second) = (Photo(name: "a"), Photo(name: "b"))
    let album = Album()
    album.title = "one"
    album.photos = [first]
    try await magic.update(album)
    #expect(first.albums.count == 1 && second.albums.count == 0)
    try await magic.update(second)
    #expect(album.photos.contains(first) && !album.photos.contains(second))
    first.name = "c"
    try await magic.update(first)
    second.name = "d"
    try await magic.update(second)
    #expect(try await magic.query(of: Photo.self).sorted(by: \.name).all().map(\.name) == ["c", "d", "known"])
    #expect(first.albums.count == 1 && second.albums.count == 0)
    try await magic.remove(first)
    #expect(first.albums.count == 0)
    #expect(try await magic.query(of: Photo.self).sorted(by: \.name).all().map(\.name) == ["d", "known"])
  }

  @Test func itsWrappersShareTheirMemory() async throws {
    try await magic.update(contentsOf: [Photo(name: "known")])
    let known = Job()
    known.title = "known"
    try await magic.update(known)
    func isShared(_ object: some MagicObject) throws -> Bool {
      if case .shared = try Instance(of: object).places { true } else { false }
    }
    for _ in 0..<3 {
      #expect(try isShared(Photo(name: "a")) && isShared(Photo()))
      #expect(try isShared(Job(isDone: true)) && isShared(Job()) && isShared(Job(rank: 4)))
      // A wrapper that the app has made stands alone, and puts no other one at another instance's side.
      #expect(try !isShared(Job(isDone: true, title: MagicValue(wrappedValue: "own"))))
      #expect(try !isShared(Job(title: MagicValue(wrappedValue: "own"), note: OptionMagicValue(wrappedValue: "n"))))
    }
    let job = Job(isDone: true, title: MagicValue(wrappedValue: "own"), rank: 9)
    try await magic.update(job)
    let stored = try #require(try await magic.query(of: Job.self).where { $0.rank == 9 }.first())
    #expect(stored.isDone && stored.title == "own" && stored.note == nil)
  }

  /// Two instances that share memory, since each was given a wrapper that the other one was not, may belong to two threads.
  @Test func whatIsAlongsideAnotherIsItsOwnersAlone() async throws {
    let known = Pair()
    (known.name, known.title) = ("known", "known")
    try await magic.update(known)
    nonisolated(unsafe) let first = Pair(title: MagicValue(wrappedValue: "title"))
    nonisolated(unsafe) let second = Pair(name: MagicValue(wrappedValue: "name"))
    (first.name, second.title) = ("0", "0")
    try await magic.update(first)
    try await magic.update(second)
    let magic = magic
    await withTaskGroup(of: Void.self) { group in
      for isFirst in [true, false] {
        group.addTask {
          for number in 1...2_000 {
            if isFirst { first.name = "\(number)" } else { second.title = "\(number)" }
            if number % 500 == 0 {
              do { try await magic.update(isFirst ? first : second) } catch { Issue.record(error) }
            }
          }
        }
      }
    }
    let stored = try await magic.query(of: Pair.self).all().map { "\($0.name) \($0.title)" }
    #expect(stored.sorted() == ["2000 title", "known known", "name 2000"])
  }

  @Test func aThreadTakesWhatWaitedWithIt() async throws {
    let known = Holder()
    (known.box, known.title) = (Box(), "known")
    try await magic.update(known)
    let before = Box.gone.load(ordering: .relaxed)
    let thread = Thread {
      let holder = Holder(title: MagicValue(wrappedValue: "own"))
      holder.box = Box()
    }
    thread.start()
    for _ in 0..<6_000 where Box.gone.load(ordering: .relaxed) == before { try await Task.sleep(for: .milliseconds(10)) }
    #expect(Box.gone.load(ordering: .relaxed) == before + 1)
  }

  @Test func aReverseMayStandFirst() async throws {
    try await magic.update(Scene())
    let scene = Scene(rank: 7)
    let film = Film()
    film.scenes = [scene]
    try await magic.update(film)
    scene.name = "again"
    try await magic.update(scene)
    #expect(try await magic.query(of: Scene.self).sorted(by: \.rank).all().map(\.rank) == [3, 7])
    #expect(scene.films.count == 1 && Scene().films.count == 0)
    try await magic.remove(scene)
    #expect(scene.films.count == 0)
    #expect(try await magic.count(of: Scene.self) == 1)
  }
}
