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

  init(_ id: String, _ content: String, _ pathExtension: String? = nil) {
    self.id = id
    self.content = .init(value: content, pathExtension: pathExtension)
  }
}

/// Contents of assets on their way through folders (F-12 to F-16).
@Suite(.timeLimit(.minutes(15))) struct AssetTests {
  let (folder, world, a, b): (TemporaryFolder, World, Replica, Replica)

  init() throws {
    (folder, world, a, b) = try twoReplicas()
  }

  private func photo(_ replica: Replica, _ id: String = "p") async throws -> Photo {
    try await replica.magic.object(of: Photo.self, primary: id)
  }

  private func giveContent(_ content: String, in replica: Replica) async throws {
    let edited = try await photo(replica)
    edited.content = .init(value: content)
    try await replica.magic.update(edited)
  }

  /// One removes the object, which others hear of, and another that has not heard of it yet edits it later.
  private func removeAndBringBack(in replica: Replica, _ other: Replica) async throws {
    world.advance(1)
    try await replica.magic.remove(try await photo(replica))
    try await replica.replicator.sync()
    world.advance(1)
    let wanted = try await photo(other)
    wanted.title = "still wanted"
    try await other.magic.update(wanted)
  }

  /// Of the second database nothing is left but a copy.
  private func moveToCopy() async throws {
    try await b.magic.close()
    try FileManager.default.copyItem(at: folder["b"], to: folder["copy"])
    try FileManager.default.removeItem(at: folder["b"])
    world.advance(1)
  }

  /// The copy hears that its only object was removed, and sends its content all the same.
  private func mergeIntoCopy() async throws -> Replica {
    let copy = try Replica(folder["copy"], folder["remote"], world)
    let path = try #require(try await photo(copy).content?.path)
    try await copy.replicator.pull()
    #expect(try await copy.magic.object(of: Photo.self).isEmpty)
    try await copy.magic.update(Photo("other", "other"))
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(try await copy.replicator.sync().push.assets == 2)
    #expect(!FileManager.default.fileExists(atPath: path))
    return copy
  }

  /// The contents in a remote.
  private func contents(_ remote: String = "remote") throws -> [URL] {
    let assets = folder[remote].appendingPathComponent("assets")
    guard FileManager.default.fileExists(atPath: assets.path) else { return [] }
    return try FileManager.default.subpathsOfDirectory(atPath: assets.path).filter { $0.count > 2 }.sorted()
      .map { assets.appendingPathComponent($0) }
  }

  private func doubts() throws -> [String] {
    let path = folder["remote/doubts"].path
    return FileManager.default.fileExists(atPath: path) ? try FileManager.default.contentsOfDirectory(atPath: path) : []
  }

  @Test func aContentComesWithItsRow() async throws {
    try await a.magic.update(Photo("p", "x", "txt"))
    let pushed = try await a.replicator.push()
    #expect((pushed.assets, pushed.assetBytes, pushed.missingAssets) == (1, 1, 0))
    let digits = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    #expect(try contents().map(\.path) == [folder["remote/assets/2d/\(digits)"].path])
    let pulled = try await b.replicator.pull()
    #expect((pulled.assets, pulled.assetBytes, pulled.isComplete) == (1, 1, true))
    let content = try #require(try await photo(b).content)
    #expect(try content.load() == "x")
    #expect(content.path == folder["b/files/\(digits).txt"].path)
    // Then nothing more moves.
    #expect(try await a.replicator.sync() == (PullReport(), PushReport()))
    #expect(try await b.replicator.sync() == (PullReport(), PushReport()))
  }

  /// H-38: a row whose content is not there says so, is as good as any other, and is given its content later.
  @Test func aRowMayComeBeforeItsContent() async throws {
    try await a.magic.update(Photo("p", "x"))
    try await a.replicator.push()
    try FileManager.default.removeItem(at: folder["remote/assets"])
    let report = try await b.replicator.pull()
    #expect((report.transactions, report.missingAssets, report.isComplete) == (1, 1, false))
    let photo = try await photo(b)
    let content = try #require(photo.content)
    #expect(content.value == nil)
    #expect { try content.load() } throws: { error in
      (error as? MagicDataError)?.code == .notFound && "\(error)".contains("has not arrived")
    }
    photo.title = "t"
    try await b.magic.update(photo)
    // What it has not got, it cannot send.
    let sync = try await b.replicator.sync()
    #expect((sync.push.transactions, sync.push.assets, sync.push.missingAssets) == (1, 0, 1))
    #expect(try await a.replicator.sync().push.assets == 1)
    #expect(try await b.replicator.pull().assets == 1)
    #expect(content.value == "x")
    try await expectEqual([a, b])
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
    #expect(try await self.photo(a).content?.value == "new")

    let other = try #require(try await a.magic.object(of: Photo.self, primary: "q").content?.path)
    try await b.magic.remove(try await b.magic.object(of: Photo.self, primary: "q"))
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(!FileManager.default.fileExists(atPath: other))
  }

  /// H-38, F-15: the only copy of a content that nobody else has got yet outlasts a merge that lets go of it.
  @Test func whatAMergeLetsGoOfBeforeItWasSentIsSent() async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await a.magic.update(Photo("p", "first"))
    try await settle([a, b, c])
    try await giveContent("only here", in: b)
    let path = try #require(try await photo(b).content?.path)
    try await removeAndBringBack(in: a, c)
    // A pull alone takes nothing away, whatever is written after it.
    try await b.replicator.pull()
    try await b.magic.update(Photo("other", "other"))
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(try await DatabaseCheck(b.magic).assets.orphans == [])
    #expect(try await b.replicator.sync().push.assets == 2)
    #expect(!FileManager.default.fileExists(atPath: path))
    try await settle([a, b, c])
    for replica in [a, b, c] {
      #expect(try await photo(replica).content?.value == "only here")
      #expect(try await photo(replica).title == "still wanted")
    }
    try await expectEqual([a, b, c])
  }

  /// H-38, F-15: also if the database has left the id under which it wrote that.
  @Test func aCopyKeepsWhatItsOriginalHasNotSent() async throws {
    try await a.magic.update(Photo("p", "first"))
    try await settle([a, b])
    try await giveContent("only here", in: b)
    try await moveToCopy()
    let late = try await photo(a)
    try await a.magic.remove(late)
    try await a.replicator.sync()
    _ = try await mergeIntoCopy()
    #expect(try contents().count == 3)
  }

  /// H-38, F-15: also if its original has sent all but the content.
  @Test func aCopyKeepsTheContentThatItsOriginalCouldNotSend() async throws {
    try await a.magic.update(Photo("p", "first"))
    try await settle([a, b])
    try await giveContent("only here", in: b)
    try FileManager.default.moveItem(at: folder["b/files"], to: folder["away"])
    #expect(try await b.replicator.push().missingAssets == 1)
    try FileManager.default.moveItem(at: folder["away"], to: folder["b/files"])
    try await moveToCopy()
    try await a.replicator.pull()
    try await a.magic.remove(try await photo(a))
    try await a.replicator.sync()
    let copy = try await mergeIntoCopy()
    // What was sent once is not looked for again.
    try await copy.magic.remove(try await copy.magic.object(of: Photo.self, primary: "other"))
    #expect(try await DatabaseCheck(copy.magic).assets.orphans == [])
  }

  /// H-38, F-15: also if the folder that it is in was away when it should have been sent.
  @Test func whatWasAwayWhenItShouldHaveBeenSentIsSentLater() async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await a.magic.update(Photo("p", "first"))
    try await settle([a, b, c])
    try await giveContent("only here", in: b)
    try FileManager.default.moveItem(at: folder["b/files"], to: folder["away"])
    #expect(try await b.replicator.push().missingAssets == 1)
    try FileManager.default.moveItem(at: folder["away"], to: folder["b/files"])
    try await removeAndBringBack(in: a, c)
    try await settle([b, c, a])
    #expect(try await photo(a).content?.value == "only here")
  }

  /// H-38, F-15: also if another asset has brought its folder back before.
  @Test func whatWasMissedIsSentLater() async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await a.magic.update(Photo("p", "first"))
    try await settle([a, b, c])
    try await giveContent("only here", in: b)
    try FileManager.default.moveItem(at: folder["b/files"], to: folder["away"])
    try await b.magic.update(Photo("q", "another"))
    #expect(try await b.replicator.push().missingAssets == 1)
    try FileManager.default.removeItem(at: folder["b/files"])
    try FileManager.default.moveItem(at: folder["away"], to: folder["b/files"])
    try await removeAndBringBack(in: a, c)
    try await settle([b, c, a])
    #expect(try await photo(a).content?.value == "only here")
  }

  /// H-38, F-15: what is gone for good is told of while an object names it.
  @Test func whatIsGoneHoldsNothingBack() async throws {
    try await a.magic.update(Photo("p", "gone"))
    try await a.magic.update(Photo("q", "here"))
    try FileManager.default.removeItem(atPath: try #require(try await photo(a).content?.path))
    #expect(try await a.replicator.push().missingAssets == 1)
    try await a.magic.remove(try await photo(a))
    for _ in 0..<2 { #expect(try await a.replicator.push().missingAssets == 0) }
    #expect(try await DatabaseCheck(a.magic).assets.orphans == [])
  }

  /// H-38, F-15: also if nobody may look for it when it should be sent.
  @Test(.enabled(if: geteuid() != 0)) func whatNobodyMayLookForIsSentLater() async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await a.magic.update(Photo("p", "first"))
    try await settle([a, b, c])
    try await giveContent("only here", in: b)
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: folder["b/files"].path)
    let pushed = try await b.replicator.push()
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder["b/files"].path)
    #expect(pushed.unread.map(\.code) == [.notAllowed])
    try await removeAndBringBack(in: a, c)
    try await settle([b, c, a])
    #expect(try await photo(a).content?.value == "only here")
  }

  /// H-38, F-15: also if its history was given up before it was ever sent.
  @Test func whatWasCompactedBeforeItWasSentIsSent() async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await b.magic.update(Photo("p", "first"))
    try await settle([b, c])
    world.advance(1)
    try await a.magic.update(Photo("p", "only here"))
    try await a.magic.compact()
    try await removeAndBringBack(in: b, c)
    try await settle([a, b, c])
    #expect(try await photo(a).content?.value == "only here")
  }

  /// H-38: a database that is built anew takes what nobody else has from the one whose place it gets.
  @Test func whatIsBuiltInADatabasesPlaceKeepsItsContents() async throws {
    try await a.magic.update(Photo("p", "only here"))
    try await a.replicator.push()
    try await a.magic.close()
    try FileManager.default.removeItem(at: folder["remote/assets"])
    let report = try await MagicData.build(inPlaceOf: DatabaseLocation(folder["a"])) {
      try await $0.rebuild(from: [.folder(FolderRemote(folder["remote"]))], RebuildPlan())
    }
    #expect((report.pull.assets, report.pull.missingAssets) == (1, 0))
    let rebuilt = try await MagicData(path: folder["a"])
    #expect(try await rebuilt.object(of: Photo.self, primary: "p").content?.load() == "only here")
  }

  /// H-38, F-15: and what that one had let go of before it was sent.
  @Test func whatIsBuiltInADatabasesPlaceSendsWhatThatOneHadNot() async throws {
    let c = try Replica(folder["c"], folder["remote"], world)
    try await a.magic.update(Photo("p", "first"))
    try await settle([a, b, c])
    try await giveContent("only here", in: b)
    try await removeAndBringBack(in: a, c)
    try await b.replicator.pull()
    try await b.magic.close()
    _ = try await MagicData.build(inPlaceOf: DatabaseLocation(folder["b"])) {
      try await $0.rebuild(from: [.folder(FolderRemote(folder["remote"]))], RebuildPlan())
    }
    let rebuilt = try Replica(folder["b"], folder["remote"], world)
    #expect(try await rebuilt.magic.object(of: Photo.self).isEmpty)
    #expect(try await rebuilt.replicator.push().assets == 1)
  }

  /// F-15: what no row names is neither sent nor fetched.
  @Test func whatOnlyHistoryNamesStaysWhereItIs() async throws {
    for content in ["first", "second", "third"] {
      try await a.magic.update(Photo("p", content))
      world.advance(1)
    }
    try await a.magic.update(Photo("gone", "gone"))
    try await a.magic.remove(try await photo(a, "gone"))
    #expect(try await a.replicator.push().assets == 1)
    #expect(try await b.replicator.pull().assets == 1)
    #expect(try await photo(b).content?.value == "third")
  }

  /// As if all contents had been written so long ago.
  private func age(days: Double) throws {
    for content in try contents() {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -days * 86_400)], ofItemAtPath: content.path)
    }
  }

  private func hasNothingAside() throws -> Bool {
    try FileManager.default.subpathsOfDirectory(atPath: folder["remote/assets"].path).allSatisfy { !$0.hasSuffix(".tmp") }
  }

  private func collected(_ replica: Replica, isDryRun: Bool = false) async throws -> Int {
    try await replica.replicator.compact(isDryRun: isDryRun).folder.contents
  }

  /// F-22: what was replaced is named by nobody once everybody has acknowledged that.
  @Test func whatNothingNamesGoesFromTheFolder() async throws {
    try await a.magic.update(Photo("p", "old"))
    try await a.magic.update(Photo("q", "shared"))
    try await settle([a, b])
    world.advance(1)
    let photo = try await photo(b)
    photo.content = .init(value: "new")
    try await b.magic.update(photo)
    try await b.magic.update(Photo("r", "shared", "txt"))
    try await b.magic.remove(try await self.photo(b, "q"))
    try await b.replicator.sync()
    try await a.replicator.pull()
    #expect(try contents().count == 3)
    try age(days: 20)
    #expect(try await collected(a) == 0)
    try age(days: 40)
    // Of b the journal names it still.
    #expect(try await collected(b, isDryRun: true) == 0)
    #expect(try await collected(a, isDryRun: true) == 1)
    #expect(try contents().count == 3)
    let report = try await a.replicator.compact()
    #expect((report.folder.contents, report.folder.contentBytes) == (1, 3))
    #expect(try contents().count == 2)
    #expect(try hasNothingAside())
    #expect(try await collected(a) == 0)
    try await settle([a, b])
    try await expectEqual([a, b])
    let c = try Replica(folder["c"], folder["remote"], world)
    #expect(try await c.replicator.sync().pull.isComplete)
    #expect(try await self.photo(c).content?.load() == "new")
    #expect(try await self.photo(c, "r").content?.load() == "shared")
    // Named again it is sent again.
    try await c.magic.update(Photo("s", "old"))
    #expect(try await c.replicator.push().assets == 1)
  }

  /// F-21, F-22: what one compaction has set aside, and may put back, no other one takes for what somebody killed has left.
  @Test func whatIsSetAsideIsNoLeftover() async throws {
    try await a.magic.update(Photo("p", "old"))
    try await a.replicator.push()
    try age(days: 40)
    let aside = try DurableFile.setAside(try #require(try contents().first))
    #expect(try await FolderRemote(folder["remote"]).compact().leftovers == 0)
    #expect(FileManager.default.fileExists(atPath: aside.path))
  }

  /// F-22: who does not know all that the folder has deletes nothing, however old it is.
  @Test func whatSomebodyMayNameStaysInTheFolder() async throws {
    try await a.magic.update(Photo("p", "old"))
    try await settle([a, b])
    world.advance(1)
    let photo = try await photo(a)
    photo.content = nil
    try await a.magic.update(photo)
    try await settle([a, b])
    try await a.magic.compact()
    try await settle([a, b])
    // Its content is there, so none is sent.
    try await b.magic.update(Photo("q", "old"))
    #expect(try await b.replicator.push().assets == 0)
    try age(days: 40)
    #expect(try await collected(a) == 0)
    try await a.replicator.pull()
    #expect(try await collected(a) == 0)
    #expect(try await self.photo(a, "q").content?.load() == "old")
    // Nor who cannot read what is there.
    try await b.magic.remove(try await self.photo(b, "q"))
    try await settle([a, b])
    for _ in 0..<3 {
      try await a.magic.compact()
      try await b.magic.compact()
      try await settle([a, b])
    }
    let (id, one) = (String(repeating: "ab", count: 16), "0000000000000001")
    let strange = folder["remote/segments/\(id).\(one).\(one).\(id).segment"]
    try Data("strange".utf8).write(to: strange)
    #expect(try await collected(a) == 0)
    try FileManager.default.removeItem(at: strange)
    #expect(try await collected(a) == 1)
    #expect(try contents() == [])
  }

  /// F-22: an edit that brings a name back may be on its way, for as long as the object was not purged.
  @Test func whatARemovedObjectHeldStaysInTheFolder() async throws {
    try await a.magic.update(Photo("p", "old"))
    try await settle([a, b])
    let late = try await photo(b)
    late.title = "still wanted"
    try await b.magic.update(late)
    world.advance(1)
    try await a.magic.remove(try await photo(a))
    try await a.replicator.sync()
    try age(days: 40)
    #expect(try await collected(a) == 0)
    #expect(try contents().count == 1)
    // It was later than that.
    world.advance(1)
    late.title = "wanted"
    try await b.magic.update(late)
    try await settle([b, a])
    try await expectEqual([a, b])
    #expect(try await photo(a).content?.value == "old")
  }

  /// F-22, K-24: until nobody holds what was purged, somebody may write it anew.
  @Test func whatIsKeptOfARemovedObjectKeepsItsContent() async throws {
    try await a.magic.update(Photo("p", "old"))
    try await settle([a, b])
    world.advance(1)
    try await a.magic.remove(try await photo(a))
    try await settle([a, b])
    try age(days: 40)
    // It is purged now, and what it held is given up by a later compaction.
    let report = try await a.replicator.compact()
    #expect((report.database.purged, report.folder.contents) == (1, 0))
    #expect(try contents().count == 1)
    try await settle([a, b])
    #expect(try await collected(a) == 1)
    #expect(try contents() == [])
  }

  /// F-22, F-13: of two at once, who names a content and who deletes it, the one who names it sends it if it is not there.
  @Test func whatIsNamedAnewWhileItGoesIsThereInTheEnd() async throws {
    try await a.magic.update(Photo("p", "old"))
    try await settle([a, b])
    for round in 0..<12 {
      world.advance(1)
      for id in try await a.magic.object(of: Photo.self).map(\.id) { try await a.magic.remove(try await photo(a, id)) }
      for _ in 0..<3 {
        try await settle([a, b])
        try await a.magic.compact()
        try await b.magic.compact()
      }
      try await settle([a, b])
      try age(days: 40)
      world.advance(1)
      try await b.magic.update(Photo("round \(round)", "old"))
      async let deleted = collected(a)
      async let pushed = b.replicator.push()
      _ = try await (deleted, pushed)
      #expect(try hasNothingAside())
      try await settle([b, a])
      #expect(try await photo(a, "round \(round)").content?.load() == "old")
    }
  }

  @Test func assetsOfOneContentShareAFileOnTheWay() async throws {
    try await a.magic.update(Photo("p", "x", "JPG"))
    try await a.magic.update(Photo("q", "x", "jpg"))
    try await a.magic.update(Photo("r", "x"))
    #expect(try await a.replicator.push().assets == 1)
    try await b.replicator.pull()
    for id in ["p", "q", "r"] { #expect(try await photo(b, id).content?.value == "x") }
  }

  /// M-9 for contents; H-9: through two folders, and from whoever has it.
  @Test func contentsAreForwardedAndAWipedFolderHeals() async throws {
    let far = try Replica(folder["far"], folder["hub2"], world)
    let between = MagicReplicator(b.magic, remote: FolderRemote(folder["hub2"]))
    for number in 0..<20 { try await a.magic.update(Photo("\(number)", "content \(number)")) }
    try await a.replicator.sync()
    try await b.replicator.sync()
    #expect(try await between.push().assets == 20)
    #expect(try await far.replicator.pull().assets == 20)
    #expect(try await photo(far, "7").content?.value == "content 7")
    try await a.magic.close()

    for remote in ["remote", "hub2"] { try FileManager.default.removeItem(at: folder[remote]) }
    #expect(try await far.replicator.push().assets == 20)
    #expect(try await b.replicator.push().assets == 20)
    let late = try Replica(folder["late"], folder["remote"], world)
    #expect(try await late.replicator.pull().assets == 20)
    #expect(try await photo(late, "19").content?.value == "content 19")
    // A backup has them, and is a source like any other.
    try await late.magic.backup(to: folder["backup"])
    let backup = try Replica(folder["backup"], folder["third"], world)
    #expect(try await backup.replicator.push().assets == 20)
  }

  enum Damage: CaseIterable { case flipped, cut, emptied, grown, swapped, link, pipe, missing }

  /// H-29, H-38, H-42: it is said, nothing of it is taken, all else is; whoever has the content writes it anew.
  @Test(arguments: Damage.allCases) func aDamagedContentIsWrittenAnew(damage: Damage) async throws {
    try await a.magic.update(Photo("p", "the content of p"))
    try await a.magic.update(Photo("q", "the content of q"))
    try await a.replicator.push()
    let (file, other) = (try contents()[0], try contents()[1])
    let good = try Data(contentsOf: file)
    var bytes = good
    switch damage {
    case .flipped: bytes[3] ^= 1
    case .cut: bytes.removeLast(2)
    case .emptied: bytes = Data()
    case .grown: bytes += Data([0])
    case .swapped: bytes = try Data(contentsOf: other)
    case .link, .pipe, .missing: try FileManager.default.removeItem(at: file)
    }
    switch damage {
    case .link:
      try good.write(to: folder["outside"])
      try FileManager.default.createSymbolicLink(at: file, withDestinationURL: folder["outside"])
    case .pipe: try #require(mkfifo(file.path, 0o600) == 0)
    case .missing: break
    default: try bytes.write(to: file)
    }
    let isChanged = ![.link, .pipe, .missing].contains(damage)
    #expect(try FolderCheck(FolderRemote(folder["remote"])).damaged.count == (isChanged ? 1 : 0))
    let report = try await b.replicator.pull()
    #expect((report.transactions, report.assets, report.missingAssets) == (2, 1, 1))
    #expect(report.unread.map(\.path) == (damage == .missing ? [] : [file.path]))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["b/files"].path).count == 1)
    #expect(try await b.replicator.pull().unread == report.unread)

    #expect(try await a.replicator.push().assets == 1)
    #expect(try Data(contentsOf: file) == good)
    #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.type] as? FileAttributeType == .typeRegular)
    #expect(try doubts().isEmpty)
    #expect(try await b.replicator.pull().isComplete)
    #expect(try await photo(b).content?.value == "the content of p")
    #expect(try await photo(b, "q").content?.value == "the content of q")
    #expect(try await a.replicator.push() == PushReport())
  }

  @Test func anOwnContentThatIsDamagedIsNotSent() async throws {
    try await a.magic.update(Photo("p", "content"))
    let path = try #require(try await photo(a).content?.path)
    try Data("connect".utf8).write(to: URL(fileURLWithPath: path))
    let report = try await a.replicator.push()
    #expect((report.transactions, report.assets, report.missingAssets) == (1, 0, 1))
    #expect(report.unread.map(\.path) == [path])
    #expect(try contents().isEmpty)
  }

  /// H-42: nothing is written through a link, or read through one.
  @Test(arguments: ["assets", "assets/2d"]) func aLinkInTheWayIsNotFollowed(place: String) async throws {
    try await a.magic.update(Photo("p", "x"))
    try await a.replicator.push()
    try FileManager.default.createDirectory(at: folder["outside"], withIntermediateDirectories: false)
    try FileManager.default.removeItem(at: folder["remote/assets"])
    if place != "assets" {
      try FileManager.default.createDirectory(at: folder["remote/assets"], withIntermediateDirectories: false)
    }
    try FileManager.default.createSymbolicLink(at: folder["remote/\(place)"], withDestinationURL: folder["outside"])
    await #expect { try await a.replicator.push() } throws: { ($0 as? MagicDataError)?.code == .notAllowed }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["outside"].path).isEmpty)
    let report = try await b.replicator.pull()
    #expect((report.transactions, report.missingAssets) == (1, 1))
    #expect(report.unread.map(\.code) == [.notAllowed])

    try FileManager.default.removeItem(at: folder["remote/\(place)"])
    #expect(try await a.replicator.push().assets == 1)
    #expect(try await b.replicator.pull().isComplete)
  }

  /// F-13: what an error has ended is taken up where it ended.
  @Test func aPushThatWasBrokenOffGoesOn() async throws {
    for number in 0..<40 { try await a.magic.update(Photo("\(number)", "content \(number)")) }
    try await a.replicator.push()
    let blocked = try contents()[25].deletingLastPathComponent()
    try FileManager.default.removeItem(at: folder["remote/assets"])
    try FileManager.default.createDirectory(at: folder["remote/assets"], withIntermediateDirectories: false)
    try Data().write(to: blocked)
    await #expect(throws: MagicDataError.self) { try await a.replicator.push() }
    let sent = try contents().count
    #expect(sent > 0 && sent < 40)
    let first = try await b.replicator.pull()
    #expect(first.assets == sent)
    #expect(first.missingAssets == 40 - sent)
    try FileManager.default.removeItem(at: blocked)
    #expect(try await a.replicator.push().assets == 40 - sent)
    #expect(try await b.replicator.pull().assets == 40 - sent)
    #expect(try await photo(b, "31").content?.value == "content 31")
  }

  /// A content of several pieces, and more than are named at once.
  @Test func manyAndLargeContentsArrive() async throws {
    let large = String(repeating: "0123456789abcde\n", count: 150_000)
    try await a.magic.update(contentsOf: [Photo("large", large)] + (0..<450).map { Photo("\($0)", "content \($0)") })
    #expect(try await a.replicator.push().assets == 451)
    let report = try await b.replicator.pull()
    #expect((report.assets, report.missingAssets) == (451, 0))
    #expect(try await photo(b, "large").content?.value == large)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["b/files"].path).count == 451)
    #expect(try await b.replicator.pull() == PullReport())
  }

  /// What is cancelled leaves whole contents, and no others.
  @Test func aCancelledExchangeLeavesNothingHalfDone() async throws {
    try await a.magic.update(contentsOf: (0..<120).map { Photo("\($0)", "content \($0)") })
    let replicator = a.replicator
    for number in [1, 30, 60] {
      let task = Task { try await replicator.push() }
      while try contents().count < number { await Task.yield() }
      task.cancel()
      _ = await task.result
    }
    try await a.replicator.push()
    #expect(try contents().count == 120)
    #expect(try contents().allSatisfy { $0.lastPathComponent.count == 64 })
    #expect(try await b.replicator.pull().assets == 120)
  }
}
