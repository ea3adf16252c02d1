import Foundation

/// What a run found.
struct Report: Codable {
  var objects: Int
  var rounds: Int
  var cases: [Measurement] = []
  /// The names of cases that could not be measured.
  var failed: [String] = []

  /// What a table in Markdown begins with.
  func heading(withMemory: Bool) -> String {
    [
      "Times are microseconds for each thing done, or bytes; medians of \(rounds) rounds in turn. The ratio is ours to the other's.",
      "",
      line("case", "ours", "other", "", "ratio", "spread", "target") + (withMemory ? " peak MB, ours and other |" : ""),
      "|---|---|---|---|---|---|---|" + (withMemory ? "---|" : ""),
    ].joined(separator: "\n")
  }

  /// The table's lines for one case: one for each side that ours is compared with.
  func lines(of measured: Measurement) -> String {
    let ours = measured.sides[0]
    if measured.comparisons.isEmpty {
      return line(measured.label, figure(ours.median), ours.name, "", "", "", verdict(measured)) + memory(ours)
    }
    return measured.comparisons.enumerated().map { index, comparison in
      let other = measured.sides[index + 1]
      return line(
        index == 0 ? measured.label : "", index == 0 ? figure(ours.median) : "", other.name, figure(other.median),
        String(format: "%.2f", comparison.ratio), String(format: "%.2f-%.2f", comparison.least, comparison.most),
        index == 0 ? verdict(measured) : "") + (index == 0 ? memory(ours, other) : memory(other))
    }.joined(separator: "\n")
  }

  /// The targets alone, one a line.
  var verdicts: String {
    cases.compactMap { measured in
      measured.verdict.map { verdict in
        let name = measured.label.padding(toLength: 64, withPad: " ", startingAt: 0)
        return
          "\(verdict.isMet ? "met   " : "missed") \(name) \(figure(verdict.value)) of \(figure(verdict.limit)) \(verdict.what)"
      }
    }.joined(separator: "\n")
  }

  var isMet: Bool { cases.allSatisfy { $0.verdict?.isMet ?? true } }

  private func line(_ cells: String...) -> String {
    let widths = [62, 9, 26, 9, 6, 11, 12]
    return "| "
      + zip(cells, widths).map { $0.count < $1 ? $0.padding(toLength: $1, withPad: " ", startingAt: 0) : $0 }
      .joined(separator: " | ") + " |"
  }

  private func verdict(_ measured: Measurement) -> String {
    measured.verdict.map { "\(figure($0.limit)) \($0.isMet ? "met" : "missed")" } ?? ""
  }

  private func figure(_ value: Double) -> String { String(format: value < 1_000 ? "%.2f" : "%.0f", value) }

  /// Empty where memory was not measured.
  private func memory(_ sides: Measurement.Side...) -> String {
    let parts = sides.compactMap(\.memory).map { use in
      String(format: "%.0f (%.0f before)", Double(use.peak) / 1_048_576, Double(use.before) / 1_048_576)
    }
    return parts.isEmpty ? "" : " " + parts.joined(separator: ", ") + " |"
  }
}
