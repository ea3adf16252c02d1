import Testing

@testable import MagicData

@Suite struct GateTests {
  /// To look through the line for each who gives up, and to move it up for each who is let in, takes as long as the square of
  /// its length.
  @Test func aLongLineIsLeftAtAnyPlace() async throws {
    let gate = Gate(places: 1)
    try await gate.enter()
    let (came, coming) = AsyncStream<Void>.makeStream()
    let waiting = (0..<60_000).map { _ in
      Task {
        coming.yield()
        try await gate.enter()
        gate.leave()
      }
    }
    var count = 0
    for await _ in came {
      count += 1
      if count == waiting.count { break }
    }
    // From the end on: each is the last of those who wait.
    for task in waiting[30_000...].reversed() { task.cancel() }
    gate.leave()
    for task in waiting[..<30_000] { try await task.value }
    for task in waiting[30_000...] {
      do { try await task.value } catch { #expect(error is CancellationError) }
    }
    #expect(gate.enter(within: 0))
    #expect(!gate.enter(within: 0))
    gate.leave()
    #expect(gate.enter(within: 0))
  }
}
