import Foundation
import MagicData
import TestSupport
import Testing

struct Photo: MagicObject {
  @PrimaryMagicValue var id: String
  @OptionMagicValue var content: MagicAsset<String>?

  init() {}

  init(_ id: String, _ content: String) {
    self.id = id
    self.content = .init(value: content)
  }
}

@Suite(.timeLimit(.minutes(15))) struct AssetTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }

  private func write(_ count: Int) async throws {
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(contentsOf: (0..<count).map { Photo("\($0)", "content \($0)") })
    try await magic.close()
  }

  /// The files of a folder, at any depth.
  private func files(_ name: String) throws -> [String] {
    guard FileManager.default.fileExists(atPath: path(name)) else { return [] }
    return try FileManager.default.subpathsOfDirectory(atPath: path(name)).filter { $0.count >= 64 }
  }

  /// A content that is neither here nor there is said by who pushes alone, too.
  @Test func aPushSaysWhatNobodyHas() async throws {
    try await write(1)
    for name in try files("a") { try FileManager.default.removeItem(atPath: path("a/\(name)")) }
    let push = try Tool.sync.run("push", path("a"), path("remote"))
    #expect(push.status == 3 && push.errors.contains("1 asset is neither here"), "\(push)")
  }

  private func expectContents(_ name: String, _ count: Int) async throws {
    let magic = try await MagicData(path: folder[name])
    let photos = try await magic.object(of: Photo.self)
    #expect(photos.count == count)
    for photo in photos { #expect(photo.content?.value == "content \(photo.id)") }
    try await magic.close()
  }

  /// H-7, H-8, H-38: a backup has the assets, is a replica of its own, and is put back by a copy to its place; what was written
  /// since comes from others.
  @Test func aBackupIsMadeAndPutBack() async throws {
    try await write(3)
    try Tool.sync.run("remote", "add", path("a"), "origin", path("remote"))
    try #require(Tool.sync.run("sync", path("a")).status == 0)
    let made = try Tool.sync.run("backup", path("a"), path("backup"), "--json")
    #expect(made.status == 0 && made.errors.isEmpty, "\(made)")
    #expect(made.lines.count == 1 && made.output.contains("/backup/default.sqlite3\""), "\(made)")
    let again = try Tool.sync.run("backup", path("a"), path("backup"))
    #expect(again.status == 1 && again.errors.contains("is there already"), "\(again)")
    try await expectContents("backup", 3)
    try await write(4)
    try #require(Tool.sync.run("sync", path("a")).status == 0)
    try FileManager.default.removeItem(at: folder["a"])
    let back = try Tool.sync.run("backup", path("backup"), path("a"), "-q")
    #expect(back.status == 0 && back.output.isEmpty && back.errors.isEmpty, "\(back)")
    try await expectContents("a", 3)
    let sync = try Tool.sync.run("sync", path("a"))
    #expect(sync.status == 0 && sync.errors.isEmpty, "\(sync)")
    try await expectContents("a", 4)
    for name in ["a", "backup"] { #expect(try Tool.sync.run("verify", path(name)).status == 0) }
    for (database, copy, status) in [
      ("a", "tcp://127.0.0.1:1", 64), ("a", "", 64), ("a", path("remote"), 1), ("nothing", path("x"), 1),
    ] as [(String, String, Int32)] {
      let refused = try Tool.sync.run("backup", path(database), copy)
      #expect(refused.status == status, "\(refused)")
    }
    #expect(!FileManager.default.fileExists(atPath: path("x")))
  }

  @Test func aCloneHasItsAssetsOrSaysWhatIsMissing() async throws {
    try await write(3)
    #expect(try Tool.sync.run("push", path("a"), path("remote")).output.contains("pushed 3 assets: 27 bytes"))
    #expect(try Tool.sync.run("clone", path("remote"), path("b")).output.contains("pulled 3 assets: 27 bytes"))
    try await expectContents("b", 3)
    #expect(try Tool.sync.run("sync", path("b"), path("remote")).status == 0)

    let lost = folder["remote/assets/\(try #require(try files("remote/assets").sorted().first))"]
    try FileManager.default.removeItem(at: lost)
    let partly = try Tool.sync.run("clone", path("remote"), path("c.sqlite"))
    #expect(partly.status == 3)
    #expect(partly.errors.contains("1 asset of objects could not be had"), "\(partly.errors)")
    #expect(try Tool.sync.run("push", path("b"), path("remote")).output.contains("pushed 1 asset"))
    #expect(try Tool.sync.run("pull", path("c.sqlite"), path("remote")).output == "pulled 1 asset: 9 bytes\n")
    try await expectContents("c.sqlite", 3)
  }

  #if os(Linux)
    /// H-33: who is killed between the assets and the database's file is completed by the next one; assets whose database was
    /// taken away are told of.
    @Test(arguments: [("b.db", "b.db.files"), ("b/default.sqlite3", "b/files")])
    func whatAKilledCloneLeftOfAssetsIsTaken(file: String, assets: String) async throws {
      try await write(3)
      try Tool.sync.run("push", path("a"), path("remote"))
      try compile(
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <signal.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>

        int link(const char *from, const char *to) {
          const char *path = getenv("KILL_AT_LINK");
          if (path && !strcmp(to, path)) kill(getpid(), SIGKILL);
          return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link"))(from, to);
        }
        """, to: folder["kill-at-link.so"])
      let database = file.hasPrefix("b/") ? "b" : file
      let killed = try Tool.sync.run(
        "clone", path("remote"), path(database),
        environment: ["LD_PRELOAD": path("kill-at-link.so"), "KILL_AT_LINK": path(file)])
      #expect(killed.status == 128 + SIGKILL, "\(killed)")
      #expect(try files(assets).count == 3)
      #expect(!FileManager.default.fileExists(atPath: path(file)))
      let cloned = try Tool.sync.run("clone", path("remote"), path(database))
      #expect(cloned.status == 0, "\(cloned)")
      try await expectContents(database, 3)
      #expect(try FileManager.default.contentsOfDirectory(atPath: path(assets)).count == 3)
      #expect(try Tool.sync.run("verify", path(database), path("remote")).status == 0)
      try FileManager.default.removeItem(at: folder[file])
      let refused = try Tool.sync.run("clone", path("remote"), path(database))
      #expect(refused.status == 1 && refused.errors.contains("\(path(assets)) is left of"), "\(refused)")
      #expect(try files(assets).count == 3)
    }
  #endif

  /// B-1, B-2.
  @Test func aBundleCarriesContents() async throws {
    try await write(3)
    let file = path("photos.magicbundle")
    #expect(try Tool.sync.run("push", path("a"), file).output.contains("pushed 3 assets: 27 bytes"))
    #expect(try Tool.sync.run("clone", file, path("b")).output.contains("pulled 3 assets: 27 bytes"))
    try await expectContents("b", 3)
    #expect(try Tool.python.digest(of: file) == Tool.sync.run("digest", path("b")).output)

    // What is not what its hash says is not taken, and nor is the rest.
    let whole = try Data(contentsOf: folder["photos.magicbundle"])
    let content = try #require(whole.range(of: Data("content 1".utf8)))
    for place in [
      content.lowerBound - 48, content.lowerBound - 40, content.lowerBound - 1, content.lowerBound, whole.count - 6,
    ] {
      var damaged = whole
      damaged[place] ^= 0x21
      try damaged.write(to: folder["damaged.magicbundle"])
      let result = try Tool.sync.run("clone", path("damaged.magicbundle"), path("c"))
      #expect(result.status == 1, "byte \(place): \(result.errors)")
      #expect(result.errors.contains("damaged.magicbundle"), "\(result.errors)")
      #expect(try Tool.python.digest(of: path("damaged.magicbundle")) == "", "byte \(place)")
    }
    #expect(!FileManager.default.fileExists(atPath: path("c/default.sqlite3")))

    // A content alone is reason enough to write the bundle anew.
    let asset = folder["a/files/\(try #require(try files("a/files").sorted().first))"]
    let moved = folder["moved"]
    try FileManager.default.moveItem(at: asset, to: moved)
    #expect(try Tool.sync.run("push", path("a"), path("less.magicbundle")).status == 3)
    try FileManager.default.moveItem(at: moved, to: asset)
    #expect(try Tool.sync.run("push", path("a"), path("less.magicbundle")).output.contains("pushed 1 asset"))
    try Tool.sync.run("clone", path("less.magicbundle"), path("d"))
    try await expectContents("d", 3)
  }

  /// H-26, H-29: whoever is killed leaves whole contents; the next run does the rest.
  @Test func whoIsKilledLeavesWholeContents() async throws {
    let count = 150
    try await write(count)
    func killed(_ verb: String, _ database: String, at files: Int, in place: String) throws {
      let process = try Tool.sync.start(
        [verb, path(database), path("remote")], output: FileHandle.nullDevice, errors: FileHandle.nullDevice)
      while try process.isRunning && self.files(place).count < files {}
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    for number in [1, 40, 90] { try killed("push", "a", at: number, in: "remote/assets") }
    #expect(try Tool.sync.run("push", path("a"), path("remote")).status == 0)
    #expect(try files("remote/assets").count { !$0.contains("/.") } == count)
    try Tool.sync.run("init", path("b"))
    // Contents get their names in batches, so it is a moment's work that is cut off.
    for _ in 0..<3 { try killed("pull", "b", at: 1, in: "b/files") }
    #expect(try Tool.sync.run("pull", path("b"), path("remote")).status == 0)
    try await expectContents("b", count)
    #expect(try Tool.sync.run("digest", path("b")).output == Tool.sync.run("digest", path("a")).output)
  }

  /// H-38: it is said where it is asked for, and the rest of the row is there.
  @Test func whatIsMissingIsAnErrorUntilItComes() async throws {
    try await write(3)
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    let lost = folder["remote/assets/\(try #require(try files("remote/assets").sorted().first))"]
    try FileManager.default.removeItem(at: lost)
    let partly = try Tool.sync.run("sync", path("b"), path("remote"))
    #expect(partly.status == 3 && partly.errors.contains("1 asset of objects could not be had"), "\(partly.errors)")
    let magic = try await MagicData(path: folder["b"])
    let photos = try await magic.object(of: Photo.self)
    #expect(photos.count == 3)
    let missing = photos.filter { $0.content?.value == nil }
    #expect(missing.count == 1)
    let content = try #require(missing.first?.content)
    #expect { try content.load() } throws: { error in
      (error as? MagicDataError)?.code == .notFound && "\(error)".contains("has not arrived")
    }
    try await magic.close()
    // Again and again, until somebody has sent it.
    #expect(try Tool.sync.run("sync", path("b"), path("remote")).status == 3)
    #expect(try Tool.sync.run("sync", path("a"), path("remote")).output.contains("pushed 1 asset"))
    #expect(try Tool.sync.run("sync", path("b"), path("remote")).output.contains("pulled 1 asset: 9 bytes"))
    try await expectContents("b", 3)
    #expect(try Tool.sync.run("digest", path("b")).output == Tool.sync.run("digest", path("a")).output)
  }

  /// H-29, H-38: what is not what its name says is not taken, and is sent anew by who has it.
  @Test(arguments: ["flipped", "cut"]) func aDamagedContentIsNotTaken(damage: String) async throws {
    try await write(3)
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    let name = try #require(try files("remote/assets").sorted().first)
    let file = folder["remote/assets/\(name)"]
    let whole = try Data(contentsOf: file)
    var bytes = whole
    if damage == "cut" { bytes.removeLast() } else { bytes[3] ^= 1 }
    try bytes.write(to: file)
    let partly = try Tool.sync.run("clone", path("remote"), path("b"))
    #expect(partly.status == 3 && partly.errors.contains(name), "\(partly.errors)")
    #expect(partly.output.contains("pulled 2 assets"), "\(partly.output)")
    #expect(try files("b/files").count == 2)
    #expect(try Tool.sync.run("push", path("a"), path("remote")).output.contains("pushed 1 asset"))
    #expect(try Data(contentsOf: file) == whole)
    #expect(try Tool.sync.run("sync", path("b"), path("remote")).status == 0)
    try await expectContents("b", 3)
    #expect(try Tool.sync.run("verify", path("b"), path("remote")).status == 0)
  }

  /// H-38: a content that objects name and that the remote has lost is missing there; one that is not pushed yet is not.
  @Test func aContentThatTheRemoteHasLostIsFound() async throws {
    try await write(3)
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    #expect(try Tool.sync.run("verify", path("a"), path("remote")).status == 0)
    let name = try #require(try files("remote/assets").sorted().first)
    try FileManager.default.removeItem(at: folder["remote/assets/\(name)"])
    let found = try Tool.sync.run("verify", path("a"), path("remote"))
    #expect(found.status == 3 && found.output.contains("gap: ") && found.output.contains(name), "\(found)")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    #expect(try Tool.sync.run("verify", path("a"), path("remote")).status == 0)
    try await write(4)
    #expect(try Tool.sync.run("verify", path("a"), path("remote")).status == 0)
  }

  /// H-26: a server goes away while contents come. What came whole stays, and the next pull brings the rest.
  @Test func aPullThatBreaksOffGoesOn() async throws {
    let count = 150
    try await write(count)
    let first = try ServingProcess([path("hub"), "--listen", "tcp://127.0.0.1:0"])
    try #require(Tool.sync.run("push", path("a"), first.address).status == 0)
    try Tool.sync.run("init", path("b"))
    let pull = try Tool.sync.start(["pull", path("b"), first.address])
    while try pull.isRunning && files("b/files").count < 40 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(first.end(SIGKILL) == 128 + SIGKILL)
    #expect([0, 5].contains(pull.terminationStatus))
    #expect(try files("b/files").count >= 40)
    let second = try ServingProcess([path("hub"), "--listen", "tcp://127.0.0.1:0"])
    #expect(try Tool.sync.run("pull", path("b"), second.address).status == 0)
    try await expectContents("b", count)
    #expect(try files("b/files").count == count)
    #expect(try Tool.sync.run("digest", path("b")).output == Tool.sync.run("digest", path("a")).output)
    #expect(second.end() == 0)
  }
}
