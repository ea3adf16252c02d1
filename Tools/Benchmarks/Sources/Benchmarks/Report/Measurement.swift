/// What was measured of one case.
struct Measurement: Codable {
  struct Side: Codable {
    let name: String
    /// Of each round, for each thing: microseconds or bytes.
    let values: [Double]
    var memory: Memory.Use?

    var median: Double { values.median }
  }

  /// How the first side compares with another.
  struct Comparison: Codable {
    let with: String
    let ratio: Double
    let least: Double
    let most: Double
  }

  struct Verdict: Codable {
    let limit: Double
    let value: Double
    /// What the value is.
    let what: String
    var isMet: Bool { value <= limit }
  }

  let name: String
  let size: Int
  let count: Int
  let unit: Case.Unit
  var sides: [Side]
  let comparisons: [Comparison]
  let verdict: Verdict?

  var label: String { "\(name) · \(size.grouped)" }

  init(_ given: Case, _ names: [String], _ values: [[Double]]) {
    name = given.name
    size = given.size
    count = given.count
    unit = given.unit
    let sides = zip(names, values).map { name, values in
      Side(name: name, values: values.map { $0 / Double(given.count) })
    }
    self.sides = sides
    let comparisons = sides.dropFirst().map { Comparison(sides[0], $0) }
    self.comparisons = comparisons
    verdict = given.target.map { target in
      switch target {
      case .ratio(let limit): Verdict(limit: limit, value: comparisons[0].ratio, what: "times \(sides[1].name)")
      case .each(let limit): Verdict(limit: limit, value: sides[0].median, what: "\(given.unit.rawValue) each")
      case .over(let limit):
        Verdict(
          limit: limit, value: sides[0].median - sides[1].median, what: "\(given.unit.rawValue) each over \(sides[1].name)")
      }
    }
  }
}

extension Measurement.Comparison {
  /// Ratios are of one round's values, which were measured one after the other.
  fileprivate init(_ ours: Measurement.Side, _ other: Measurement.Side) {
    with = other.name
    let ratios = zip(ours.values, other.values).map { $0 / $1 }
    ratio = ratios.median
    least = ratios.min() ?? 0
    most = ratios.max() ?? 0
  }
}

extension [Double] {
  fileprivate var median: Double {
    let sorted = sorted()
    return isEmpty ? 0 : (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
  }
}
