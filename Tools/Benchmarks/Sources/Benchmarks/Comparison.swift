import Foundation

/// Two ways to do one thing, timed in turn within one run.
struct Comparison {
  let name: String
  /// What is asked of the ratio; `nil` if nothing is.
  let target: Double?
  private(set) var ours: [Double] = []
  private(set) var raw: [Double] = []

  init(_ name: String, target: Double?) {
    self.name = name
    self.target = target
  }

  nonisolated(unsafe) static var words: [String] = []

  /// One round: the other side goes first every second time.
  mutating func round(
    _ number: Int, isNeeded: Bool = false, ours: () async throws -> Void, raw: () async throws -> Void
  ) async throws {
    guard Comparison.words.isEmpty || Comparison.words.contains(where: name.contains) else {
      if isNeeded {
        try await ours()
        try await raw()
      }
      return
    }
    if number.isMultiple(of: 2) {
      self.raw.append(try await Comparison.seconds(raw))
      self.ours.append(try await Comparison.seconds(ours))
    } else {
      self.ours.append(try await Comparison.seconds(ours))
      self.raw.append(try await Comparison.seconds(raw))
    }
  }

  private static func seconds(_ body: () async throws -> Void) async throws -> Double {
    let start = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - start) / .seconds(1)
  }

  var ratio: Double { median(zip(ours, raw).map { $0 / $1 }) }

  /// A line of the table; `count` is the number of things done in a round.
  func line(_ count: Int) -> String {
    let ratios = zip(ours, raw).map { $0 / $1 }.sorted()
    let cells = [
      name.padding(toLength: 44, withPad: " ", startingAt: 0), micros(median(ours), count), micros(median(raw), count),
      String(format: "%.2f", ratio), String(format: "%.2f-%.2f", ratios.first ?? 0, ratios.last ?? 0),
      target.map { String(format: "%.2f %@", $0, ratio <= $0 ? "met" : "missed") } ?? "",
    ]
    return "| " + cells.joined(separator: " | ") + " |"
  }

  private func micros(_ seconds: Double, _ count: Int) -> String {
    String(format: "%8.2f", seconds / Double(count) * 1_000_000)
  }

  private func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }
}
