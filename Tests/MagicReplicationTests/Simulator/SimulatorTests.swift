import TestSupport
import Testing

/// `Tools/simulate` runs it for as many seeds as wanted.
@Suite(.timeLimit(.minutes(60))) struct SimulatorTests {
  @Test(arguments: seeds(24)) func whatIsWrittenIsEverywhere(seed: UInt64) async throws {
    let simulation = try Simulation(seed: seed)
    do {
      try await simulation.run(steps: 90)
    } catch {
      Issue.record("\(error): \(simulation.story)")
    }
  }
}
