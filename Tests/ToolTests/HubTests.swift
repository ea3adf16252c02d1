import Foundation
import MagicData
import TestSupport
import Testing

/// What lies between replicas: several hubs, and ones that were wiped or set back. As folders, and served.
@Suite(.timeLimit(.minutes(15))) struct HubTests {
  let fixture: ReplayFixture

  init() throws {
    fixture = try ReplayFixture()
  }

  private func path(_ name: String) -> String { fixture.path(name) }

  /// Folders, or servers of them.
  private func hubs(_ names: String..., isServed: Bool) throws -> (servers: [ServingProcess], addresses: [String]) {
    let servers = try isServed ? names.map { try ServingProcess([path($0), "--listen", "tcp://127.0.0.1:0"]) } : []
    return (servers, isServed ? servers.map(\.address) : names)
  }

  private func end(_ servers: [ServingProcess]) {
    for server in servers { #expect(server.end() == 0) }
  }

  /// A note and a photo.
  private func write(_ title: String, to name: String) async throws {
    try await fixture.work(name) { magic in
      try await magic.update(Note(title, title))
      try await magic.update(Photo(title, "content of \(title)"))
    }
  }

  private func expectContents(_ name: String, _ titles: String...) async throws {
    #expect(try await fixture.titles(name) == titles.sorted())
    try await fixture.work(name) { magic in
      let photos = try await magic.object(of: Photo.self)
      #expect(photos.map(\.id).sorted() == titles.sorted())
      for photo in photos { #expect(photo.content?.value == "content of \(photo.id)") }
    }
  }

  // MARK: Damaged

  /// H-29: a hub that has found a file damaged says so to each client that lacks what it held, and not to the first one alone.
  @Test(arguments: [(false, 150), (true, 20), (true, -20), (true, -150)])
  func whatAHubCannotReadIsSaidToEveryClient(isCheckpoint: Bool, place: Int) async throws {
    try await write("1", to: "a")
    try Tool.sync.run("push", path("a"), path("hub"))
    if isCheckpoint { try #require(Tool.sync.run("compact", path("a"), path("hub")).status == 0) }
    let folder = fixture.folder["hub/\(isCheckpoint ? "checkpoints" : "segments")"]
    let file = folder.appendingPathComponent(try #require(FileManager.default.contentsOfDirectory(atPath: folder.path).first))
    let whole = try Data(contentsOf: file)
    var damaged = whole
    damaged[place < 0 ? damaged.count + place : place] ^= 1
    try damaged.write(to: file)
    // Also after another start.
    for start in 1...2 {
      let server = try ServingProcess([path("hub"), "--listen", "tcp://127.0.0.1:0"])
      for client in 1...2 {
        let name = "b\(start)\(client)"
        let clone = try Tool.sync.run("clone", server.address, path(name))
        #expect(clone.status == 3 && clone.errors.contains(file.lastPathComponent), "\(name): \(clone)")
        #expect(!clone.errors.contains(folder.path), "\(clone.errors)")
        for command in ["pull", "sync"] {
          let again = try Tool.sync.run(command, path(name), server.address)
          #expect(again.status == 3 && again.errors.contains(file.lastPathComponent), "\(name): \(again)")
        }
        let status = try Tool.sync.run("status", path(name), server.address, "--check")
        #expect(status.status == 4, "\(name): \(status)")
        #expect(try Tool.replay.run("verify", server.address).status == 3)
      }
      guard start == 2 else {
        end([server])
        continue
      }
      // Who has it lacks nothing, and puts it there again.
      let sync = try Tool.sync.run("sync", path("a"), server.address)
      #expect(sync.status == 0, "\(sync)")
      #expect(try Tool.sync.run("pull", path("b11"), server.address).status == 0)
      #expect(try Tool.sync.run("status", path("b11"), server.address, "--check").status == 0)
      try await expectContents("b11", "1")
      end([server])
    }
  }

  /// S-3: the same transactions, compressed otherwise, are no other file.
  @Test func aSegmentThatWasCompressedAnewWhileItIsServedIsWhole() async throws {
    try await write("1", to: "a")
    try Tool.sync.run("push", path("a"), path("hub"))
    let server = try ServingProcess([path("hub"), "--listen", "tcp://127.0.0.1:0"])
    try #require(Tool.sync.run("clone", server.address, path("b")).status == 0)
    let again = """
      import os, struct, sys, zlib
      path = sys.argv[1]
      data = open(path, 'rb').read()
      body = zlib.compress(zlib.decompress(data[124:]), 0)
      head = data[:108] + struct.pack('>QI', len(body), zlib.crc32(body))
      open(path + '.new', 'wb').write(head + struct.pack('>I', zlib.crc32(head)) + body)
      os.rename(path + '.new', path)
      """
    let segment = try #require(fixture.segments("hub").first)
    let before = try Data(contentsOf: URL(fileURLWithPath: segment))
    try #require(Tool.python.run("-c", again, segment).status == 0)
    try #require(try Data(contentsOf: URL(fileURLWithPath: segment)) != before)
    let clone = try Tool.sync.run("clone", server.address, path("c"))
    #expect(clone.status == 0, "\(clone)")
    try await expectContents("c", "1")
    end([server])
  }

  /// K-9: a database that is only served knows of no remote, and of its clients by itself.
  @Test func aServedDatabaseExpiresAReplicaByItself() async throws {
    try await write("1", to: "a")
    let server = try ServingProcess([path("a"), "--listen", "tcp://127.0.0.1:0"])
    try #require(Tool.sync.run("clone", server.address, path("b")).status == 0)
    try await write("2", to: "b")
    try #require(Tool.sync.run("sync", path("b")).status == 0)
    end([server])
    struct Peer: Decodable { let replica: String }
    let other = try #require(Tool.sync.run("peers", path("a"), "--json").lines.first { $0.contains("isOwn\":false") })
    let replica = try JSONDecoder().decode(Peer.self, from: Data(other.utf8)).replica
    let peers = try Tool.sync.run("peers", path("a"))
    #expect(peers.status == 0 && peers.output.contains("\(replica)  here 2, last wrote"), "\(peers)")
    #expect(try Tool.sync.run("peers", path("a"), "--expire", "0000").status == 1)
    let expired = try Tool.sync.run("peers", path("a"), "--expire", String(replica.prefix(8)))
    #expect(expired.status == 0 && expired.output.contains("expired replica \(replica)"), "\(expired)")
    #expect(try Tool.sync.run("peers", path("a")).output.contains(", expired"))
    #expect(try Tool.sync.run("compact", path("a"), "--keep", "0s").status == 0)
    // Who named a remote means that one.
    #expect(try Tool.sync.run("peers", path("a"), path("nothing")).status == 1)
  }

  // MARK: Several

  /// Goes over all links until the hubs stay as they are.
  private func carry(_ links: [(String, String)]) throws {
    func files() throws -> [String: Data] { try fixture.folder.contents().filter { $0.key.hasPrefix("hub") } }
    var (passes, before) = (0, [String: Data]())
    repeat {
      before = try files()
      for (name, address) in links { try fixture.sync(name, address) }
      passes += 1
    } while try files() != before && passes < 9
    #expect(passes < 9, "the hubs do not go quiet")
    // Nothing was written since, so nothing moves.
    for (name, address) in links { #expect(try fixture.sync(name, address).output == ReplayFixture.quiet) }
    #expect(try files() == before)
  }

  /// A, hub 1, B, hub 2, C, and in a ring hub 3 between C and A.
  @Test(arguments: [false, true], [false, true]) func hubsInARowOrARingCarryAll(isRing: Bool, isServed: Bool) async throws {
    let (servers, addresses) = try hubs("hub1", "hub2", "hub3", isServed: isServed)
    var links = [("a", addresses[0]), ("b", addresses[0]), ("b", addresses[1]), ("c", addresses[1])]
    if isRing { links += [("c", addresses[2]), ("a", addresses[2])] }
    for name in ["a", "b", "c"] { try await write("from \(name)", to: name) }
    try carry(links)
    try fixture.expectEqual(["a", "b", "c"])
    for name in ["a", "b", "c"] { try await expectContents(name, "from a", "from b", "from c") }
    // At both ends of the row an hour apart, and in between a remove.
    try await fixture.write("earlier", to: "a", id: "from b")
    try await fixture.remove("from c", from: "b")
    try await fixture.write("later", to: "c", id: "from b")
    try carry(links)
    try fixture.expectEqual(["a", "b", "c"])
    for name in ["a", "b", "c"] { #expect(try await fixture.titles(name) == ["from a", "later"]) }
    end(servers)
  }

  // MARK: Wiped and set back

  /// H-9.
  @Test(arguments: [false, true]) func aWipedHubIsFilledAgain(isServed: Bool) async throws {
    let (servers, addresses) = try hubs("hub", isServed: isServed)
    for name in ["a", "b"] { try await write("from \(name)", to: name) }
    try fixture.settle("a", "b", through: addresses[0])
    try FileManager.default.removeItem(at: fixture.folder["hub"])
    try await write("later", to: "b")
    // Who only looks, or pulls, is told, and has lost nothing.
    #expect(try Tool.sync.run("status", path("a"), fixture.address(addresses[0]), "--check").status != 0)
    if !isServed {
      let pull = try Tool.sync.run("pull", path("a"), path("hub"))
      #expect(pull.status == 5 && pull.errors.contains("is the share mounted?"), "\(pull.errors)")
    }
    // A folder may be one of a share that is not mounted, so it is asked for.
    let anew = isServed ? [] : ["--anew"]
    let filled = try Tool.sync.run(arguments: ["sync", path("b"), fixture.address(addresses[0])] + anew)
    let pushed = filled.output
    #expect(filled.status == 0, "\(filled.errors)")
    #expect(pushed.contains("pushed 6 transactions") && pushed.contains("pushed 3 assets"), "\(pushed)")
    #expect(pushed.contains("made the remote") == !isServed, "\(pushed)")
    try fixture.settle("a", "b", "c", through: addresses[0])
    for name in ["a", "b", "c"] { try await expectContents(name, "from a", "from b", "later") }
    end(servers)
  }

  /// H-9: a hub that was put back from a backup lacks what came later, and whoever has it sends it again.
  @Test(arguments: [false, true]) func aHubThatWasSetBackIsFilledAgain(isServed: Bool) async throws {
    var (servers, addresses) = try hubs("hub", isServed: isServed)
    for name in ["a", "b"] { try await write("from \(name)", to: name) }
    try fixture.settle("a", "b", through: addresses[0])
    let backup = fixture.folder["backup"]
    try FileManager.default.copyItem(at: fixture.folder["hub"], to: backup)
    for name in ["a", "b"] { try await write("later from \(name)", to: name) }
    try fixture.settle("a", "b", through: addresses[0])
    end(servers)
    try FileManager.default.removeItem(at: fixture.folder["hub"])
    try FileManager.default.moveItem(at: backup, to: fixture.folder["hub"])
    (servers, addresses) = try hubs("hub", isServed: isServed)

    let status = try Tool.sync.run("status", path("a"), fixture.address(addresses[0]), "--check")
    let waiting = "4 transactions and the contents of 2 assets wait to be pushed"
    #expect(status.status == 4 && status.output.contains(waiting), "\(status.output)")
    // One who comes before it is filled has the rest later.
    #expect(try Tool.sync.run("clone", fixture.address(addresses[0]), path("early")).status == 0)
    try await expectContents("early", "from a", "from b")
    try await write("early", to: "early")
    try fixture.sync("early", addresses[0])
    let pushed = try fixture.sync("b", addresses[0]).output
    #expect(pushed.contains("pushed 4 transactions") && pushed.contains("pushed 2 assets"), "\(pushed)")
    try fixture.settle("a", "b", "early", "c", through: addresses[0])
    for name in ["a", "b", "early", "c"] {
      try await expectContents(name, "early", "from a", "from b", "later from a", "later from b")
    }
    end(servers)
  }

  // MARK: Copies

  /// H-7, H-8: as in a folder (`SyncTests.copiesAndBackupsGoOn`), so at a hub.
  @Test(arguments: [false, true]) func copiesAndBackupsGoOnAtAHub(unnoticed: Bool) async throws {
    let (servers, addresses) = try hubs("hub", isServed: true)
    let (folder, hub) = (fixture.folder, addresses[0])
    func isToldToBeAnother(_ name: String) throws -> Bool {
      let result = try Tool.sync.run("sync", path(name), hub, "--json")
      #expect(result.status == 0, "\(result.output)")
      return result.output.contains(#""event":"becameReplica""#)
    }
    try await write("sent", to: "a")
    try fixture.settle("a", "b", through: hub)
    if unnoticed {
      try copyUnnoticed(folder["a"], to: folder["copy"])
    } else {
      try FileManager.default.copyItem(at: folder["a"], to: folder["copy"])
    }
    try FileManager.default.copyItem(at: folder["a"], to: folder["backup"])
    try await fixture.write("first", to: "a", id: "first")
    try await fixture.write("second", to: "copy", id: "second")
    #expect(try !isToldToBeAnother("a"))
    // What noticed it when it was written to has said nothing to the tool.
    #expect(try isToldToBeAnother("copy") == unnoticed)
    try putBack(folder["backup"], into: folder["a"], unnoticed: unnoticed)
    #expect(try isToldToBeAnother("a"))
    try await fixture.write("third", to: "a", id: "third")
    for _ in 0..<2 { for name in ["a", "copy", "b"] { try fixture.sync(name, hub) } }
    try fixture.expectEqual(["a", "copy", "b"])
    for name in ["a", "copy", "b"] { #expect(try await fixture.titles(name) == ["first", "second", "sent", "third"]) }
    for name in ["a", "copy", "b"] { #expect(try fixture.sync(name, hub).output == ReplayFixture.quiet) }
    end(servers)
  }
}
