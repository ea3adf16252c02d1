import TestSupport
import Testing

/// `Tools/simulate` runs it for as many seeds as wanted.
@Suite(.timeLimit(.minutes(60))) struct SimulatorTests {
  /// Each has a few databases open, and a process only so many files; and a hub closes on a peer that has not said who it is in
  /// time.
  private static let turns = Turns(8)

  @Test(arguments: seeds(24)) func whatIsWrittenIsEverywhere(seed: UInt64) async throws {
    let simulation = try Simulation(seed: seed)
    await SimulatorTests.turns.enter()
    do {
      try await simulation.run(steps: 90)
    } catch {
      Issue.record("\(error): \(simulation.story)")
    }
    await SimulatorTests.turns.leave()
  }
}
