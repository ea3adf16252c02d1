import Foundation
import MagicData
import TestSupport
import Testing

private struct Count: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var task: Int = 0
  @MagicValue var round: Int = 0
  @MagicValue var text: String = ""
  init() {}
  init(_ task: Int, _ round: Int) {
    (id, self.task, self.round) = ("\(task)-\(round)", task, round)
  }
}

/// Tasks of one process, each with instances of its own, and two openings of one file.
@Suite(.timeLimit(.minutes(15))) struct ConcurrencyTests {
  private static let (tasks, rounds) = (8, 12)

  enum Place: CaseIterable {
    case file, memory, twoOpenings
  }

  @Test(arguments: Place.allCases) func tasksThatWriteAndReadAtOnceLoseNothing(_ place: Place) async throws {
    let folder = try TemporaryFolder()
    let magic = place == .memory ? try await MagicData(type: .memory) : try await MagicData(path: folder["db"])
    let other = place == .twoOpenings ? try await MagicData(path: folder["db"]) : magic
    let shared = Count(-1, 0)
    try await magic.update(shared)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<Self.tasks {
        group.addTask { try await work(task, task % 2 == 0 ? magic : other) }
      }
      try await group.waitForAll()
    }
    for magic in [magic, other] {
      let counts = try await magic.object(of: Count.self)
      #expect(counts.count == Self.tasks * Self.rounds + 1)
      #expect(Set(counts.map(\.id)).count == counts.count)
      for task in 0..<Self.tasks {
        let own = counts.filter { $0.task == task }
        #expect(own.map(\.round) == Array(0..<Self.rounds))
        #expect(own.allSatisfy { $0.text == "changed" })
      }
      // What each read and wrote back in one transaction is not lost to another's.
      #expect(counts.first { $0.task == -1 }?.round == Self.tasks * Self.rounds)
    }
    #expect(try await NaiveFold(journalOf: magic).dump == Dump(magic))
    #expect(try await faultyPlaces(magic) == [])
  }

  /// A query that is not done after two milliseconds is begun anew on another thread, in a database that is written to
  /// meanwhile.
  @Test func queriesThatTakeLongAndQueriesThatTakeLittleFindAllAtOnce() async throws {
    let folder = try TemporaryFolder()
    let magic = try await MagicData(path: folder["db"])
    let words = String(repeating: "word ", count: 40)
    let counts = (0..<20_000).map { Count($0 % 10, $0) }
    for count in counts { count.text = "\(words)\(count.round)" }
    try await magic.update(contentsOf: counts)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<10 {
        group.addTask {
          let long = try await magic.query(of: Count.self).where { $0.text.contains("word 1") && $0.task == task }.all()
          #expect(
            long.map(\.round) == (0..<20_000).filter { $0 % 10 == task && "\($0)".hasPrefix("1") })
          let all = magic.query(of: Count.self).where { $0.task == task }
          #expect(try await all.count() == 2_000)
          let short = try await magic.query(of: Count.self).where { $0.id == "\(task)-\(task)" }.all()
          #expect(short.map(\.round) == [task])
          var streamed = 0
          for try await count in all.stream() where count.text.hasPrefix("word") { streamed += 1 }
          #expect(streamed == 2_000)
        }
      }
      group.addTask {
        for round in 20_000..<20_050 { try await magic.update(Count(-1, round)) }
      }
      try await group.waitForAll()
    }
    #expect(try await magic.query(of: Count.self).count() == 20_050)
    try await magic.close()
    await #expect(throws: MagicDataError.self) { try await magic.query(of: Count.self).where { $0.task == 1 }.all() }
    await #expect(throws: MagicDataError.self) { try await magic.object(of: Count.self, primary: "1-1") }
  }

  private func work(_ task: Int, _ magic: MagicData) async throws {
    for round in 0..<Self.rounds {
      let count = Count(task, round)
      try await magic.update(count)
      count.text = "changed"
      try await magic.transaction { transaction in
        try await transaction.update(count)
        let shared = try await transaction.object(of: Count.self, primary: "-1-0")
        shared.round += 1
        try await transaction.update(shared)
      }
      #expect(try await magic.object(of: Count.self, primary: "\(task)-\(round)").text == "changed")
      switch round % 4 {
      case 0: #expect(try await magic.query(of: Count.self).where { $0.task == task }.count() == round + 1)
      case 1:
        var own = 0
        for try await count in magic.query(of: Count.self).stream() where count.task == task { own += 1 }
        #expect(own == round + 1)
      case 2: #expect(try await magic.object(of: Count.self).count { $0.task == task } == round + 1)
      default: #expect(try await !magic.has(of: Count.self, primary: "\(task)-\(round + 1)"))
      }
    }
  }
}
