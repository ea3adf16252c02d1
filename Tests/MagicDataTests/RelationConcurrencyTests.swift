import Foundation
import MagicData
import TestSupport
import Testing

private struct Knot: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var count: Int = 0
  @OptionMagicValue var next: Knot?
  @MagicValue var knots: MagicalSet<Knot> = []
  @MagicValue var threads: [Strand] = []
  @MagicValue var byName: [String: Strand] = [:]
  init() {}
  init(_ id: String) { self.id = id }
}

private struct Strand: MagicObject {
  @MagicValue var text: String
  @OptionMagicValue var end: Knot?
  init() {}
  init(_ text: String) { self.text = text }
}

/// Many tasks at once, each with instances of its own: instances are made, read and let go of on all threads.
@Suite struct RelationConcurrencyTests {
  @Test(arguments: [true, false]) func tasksThatWriteAndReadAtOnceLoseNothing(inMemory: Bool) async throws {
    let folder = try TemporaryFolder()
    let magic = inMemory ? try await MagicData(type: .memory) : try await MagicData(path: folder["db"])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask { try await work(task, magic) }
      }
      try await group.waitForAll()
    }
    let knots = try await magic.object(of: Knot.self)
    let shared = try #require(knots.first { $0.id == "shared" })
    // Each task's changes of one set are its own.
    #expect(shared.knots.count == 8)
    #expect(Set(shared.byName.keys) == Set((0..<8).map { "t\($0)" }))
    #expect(knots.count == 9)
    for knot in knots where knot.id != "shared" {
      #expect(knot.threads.count == 6)
      #expect(knot.count == 6)
      #expect(knot.next?.id == "shared")
    }
    #expect(try await faultyPlaces(magic) == [])
  }

  private func work(_ task: Int, _ magic: MagicData) async throws {
    for round in 1...6 {
      let own = try await magic.object(of: Knot.self).first { $0.id == "t\(task)" } ?? Knot("t\(task)")
      let shared =
        try await magic.has(of: Knot.self, primary: "shared") ? magic.object(of: Knot.self, primary: "shared") : Knot("shared")
      let strand = Strand("\(task) \(round)")
      strand.end = own
      own.next = shared
      own.threads.append(strand)
      own.count = round
      shared.knots.insert(own)
      shared.byName["t\(task)"] = strand
      if round % 2 == 0 {
        try await magic.transaction { transaction in
          try await transaction.update(shared)
          _ = try await transaction.object(of: Strand.self)
        }
      } else {
        try await magic.update(shared)
      }
      // A cycle is nobody's to keep.
      for knot in shared.knots { knot.next = nil }
    }
  }
}
