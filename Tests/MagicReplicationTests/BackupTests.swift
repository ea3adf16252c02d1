import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct BackupTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func replica(_ name: String) throws -> Replica {
    try Replica(folder[name], folder["remote"], world)
  }

  /// H-7, H-8: what is restored from a backup is no fork of the original, also when both write on.
  @Test(arguments: [false, true]) func aCopyAndItsOriginalWriteOnAndAreEqualInTheEnd(isSyncedBefore: Bool) async throws {
    let original = try replica("original")
    for number in 0..<10 { try await original.magic.update(Note("\(number)", "before")) }
    if isSyncedBefore { try await original.replicator.sync() }
    try await original.magic.backup(to: folder["copy"])
    let copy = try replica("copy")
    #expect(try await copy.magic.digest() == original.magic.digest())
    for number in 5..<15 {
      world.advance(1)
      let (one, two) = (Note("\(number)", "original"), Note("\(number)", "copy"))
      try await original.magic.update(one)
      try await copy.magic.update(two)
      try await copy.magic.update(Event("of the copy"))
    }
    try await original.magic.remove(Note("0", "before"))
    try await settle([original, copy])
    try await expectEqual([original, copy])
    #expect(try await copy.notes().count == 14)
    let third = try replica("third")
    try await third.replicator.pull()
    #expect(try await third.magic.digest() == original.magic.digest())
  }

  /// A restore: the original is gone, and the remote knows more of it than the copy does.
  @Test func aCopyTakesThePlaceOfWhatIsLost() async throws {
    let original = try replica("original")
    try await original.magic.update(Note("a", "before"))
    try await original.magic.backup(to: folder["copy"])
    try await original.magic.update(Note("b", "after"))
    try await original.replicator.sync()
    try await original.magic.close()
    let copy = try replica("copy")
    try await copy.magic.update(Note("c", "restored"))
    try await copy.replicator.sync()
    #expect(try await copy.notes().keys.sorted() == ["a", "b", "c"])
  }

  @Test func aDigestIsThatOfTheMomentWhileAWriterWrites() async throws {
    let original = try replica("original")
    let writer = Task {
      for number in 0..<300 { try await original.magic.update(Note("\(number)", "x")) }
    }
    try await original.magic.backup(to: folder["copy"])
    try await writer.value
    let copy = try replica("copy")
    #expect(try await copy.naiveDump() == Dump(copy.magic))
    try await settle([original, copy])
    try await expectEqual([original, copy])
    #expect(try await copy.notes().count == 300)
  }
}
