import Foundation

/// Runs cases: all sides in turn, round by round, another one first each time. A round before the first one is not counted, as
/// it finds caches cold that later ones find warm.
struct Runner {
  let workspace: Workspace
  let rounds: Int

  func run(_ given: Case) async throws -> Measurement {
    let sides = try await given.sides(workspace)
    var values = sides.map { _ in [Double]() }
    for round in given.isOnce ? 1...1 : 0...rounds {
      var results = sides.map { _ in 0 }
      for turn in sides.indices {
        let index = (turn + round) % sides.count
        let (seconds, result) = try await measure(sides[index])
        if round > 0 { values[index].append(given.unit == .microseconds ? seconds * 1_000_000 : Double(result)) }
        results[index] = result
      }
      precondition(
        given.unit != .microseconds || Set(results).count == 1, "\(given.label): the sides did not do the same: \(results)")
    }
    return Measurement(given, sides.map(\.name), values)
  }

  private func measure(_ side: Side) async throws -> (seconds: Double, result: Int) {
    let folder = try workspace.newFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let work = try await side.prepare(folder)
    let start = ContinuousClock.now
    let result = try await work()
    return ((ContinuousClock.now - start) / .seconds(1), result)
  }

  /// What one side takes of memory: before its work, and at most while it ran. Of a process of its own, as a heap keeps what it
  /// once had.
  func memory(of given: Case, side name: String) async throws -> Memory.Use? {
    guard let side = try await given.sides(workspace).first(where: { $0.name == name }) else { return nil }
    let folder = try workspace.newFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let work = try await side.prepare(folder)
    let before = Memory.resident()
    Memory.forgetPeak()
    _ = try await work()
    guard let before, let peak = Memory.peak() else { return nil }
    return Memory.Use(before: before, peak: peak)
  }
}
