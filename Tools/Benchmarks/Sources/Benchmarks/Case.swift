import Foundation

/// One thing that is measured, done by several sides on the same rows. The first side is ours; the others are what it is
/// compared with.
struct Case {
  enum Unit: String, Codable {
    /// The time that a side's work takes.
    case microseconds
    /// What a side's work returns.
    case bytes
    /// Microseconds that a side's work has measured and returns.
    case delay
  }

  /// What is asked of the first side.
  enum Target {
    /// Times the second side's.
    case ratio(Double)
    /// For each thing, by itself.
    case each(Double)
    /// For each thing, on top of the second side's.
    case over(Double)
  }

  /// What is done; cases of one name and several sizes make a plot.
  let name: String
  /// Objects in the database, or made by it.
  let size: Int
  /// Things done in a round, by which times and bytes are divided.
  let count: Int
  var unit = Unit.microseconds
  var target: Target?
  /// Measured once and not round by round: it takes long, or is an extreme already.
  var isOnce = false
  /// Makes what all rounds share.
  let sides: (Workspace) async throws -> [Side]

  var label: String { "\(name) · \(size.grouped)" }
}

/// One way to do it.
struct Side {
  /// What is timed. It returns the bytes, or a number that all sides have to agree on: that they did the same.
  typealias Work = () async throws -> Int

  let name: String
  /// Makes what a round needs, in a folder of its own; not timed.
  let prepare: (URL) async throws -> Work

  init(_ name: String, prepare: @escaping (URL) async throws -> Work) {
    self.name = name
    self.prepare = prepare
  }
}

/// How many objects the cases have.
struct Sizes {
  let objects: Int
  let isLarge: Bool

  /// For cases that show how a cost grows.
  var steps: [Int] { Set([1_000, objects] + (isLarge ? [1_000_000] : [])).sorted() }
  /// For cases that are about a large database.
  var most: Int { isLarge ? max(1_000_000, objects) : objects }
  /// For cases of one transaction each.
  func few(of size: Int) -> Int { min(size, 5_000) }

  /// A target holds for the size that was asked for.
  func target(_ limit: Double, at size: Int) -> Case.Target? {
    size == objects ? .ratio(limit) : nil
  }
}

extension Int {
  /// 1,000,000.
  var grouped: String {
    var digits = String(self)
    var end = digits.count - 3
    while end > 0 {
      digits.insert(",", at: digits.index(digits.startIndex, offsetBy: end))
      end -= 3
    }
    return digits
  }
}
