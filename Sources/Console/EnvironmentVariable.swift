internal import ArgumentParser
internal import Foundation
internal import MagicData

/// Options have twins in the environment: `--limit 5` of magic-sync is `MAGIC_SYNC_LIMIT=5`. What stands on the command line
/// goes before.
package enum EnvironmentVariable {
  /// By the kind of value that they take; of texts there is nothing to check.
  package struct Names: Sendable {
    let flags, integers, numbers: [String]
    /// With what they may be.
    let choices: [String: [String]]

    package init(
      flags: [String] = [], integers: [String] = [], numbers: [String] = [], choices: [String: [String]] = [:]
    ) {
      self.flags = ["JSON", "QUIET"] + flags
      (self.integers, self.numbers, self.choices) = (integers, numbers, choices)
    }
  }

  private struct Program {
    let name: String
    let names: Names
    /// What the names of the tool's variables begin with.
    let prefix: String
    var overruled: Set<String> = []

    init(_ name: String, _ names: Names) {
      (self.name, self.names) = (name, names)
      prefix = name.uppercased().replacing("-", with: "_") + "_"
    }
  }

  private static let program = Locked(Program("magic", Names()))

  static func begin(of name: String, _ names: Names) {
    program.withLock { $0 = Program(name, names) }
  }

  /// Has a variable ignored that an option of the command line contradicts.
  package static func overrule(_ name: String) {
    program.withLock { _ = $0.overruled.insert(name) }
  }

  /// The name of the running tool.
  static var programName: String { program.withLock { $0.name } }

  package static func flag(_ name: String) -> Bool { isOn(value(name)) ?? false }
  package static func int(_ name: String) -> Int? { value(name).flatMap { Int($0) } }
  package static func double(_ name: String) -> Double? { value(name).flatMap { Double($0) } }
  package static func text(_ name: String) -> String? { value(name) }
  package static func choice<Choice: RawRepresentable<String>>(_ name: String) -> Choice? {
    value(name).flatMap(Choice.init)
  }

  /// Refuses values that cannot be read: to pass over one would drop a setting silently.
  static func check() throws {
    let names = program.withLock { $0.names }
    for name in names.flags {
      if let value = value(name), isOn(value) == nil { throw refusal(name, value, "1 or 0") }
    }
    for name in names.integers {
      if let value = value(name), Int(value) == nil { throw refusal(name, value, "a whole number") }
    }
    for name in names.numbers {
      if let value = value(name), Double(value) == nil { throw refusal(name, value, "a number") }
    }
    for (name, values) in names.choices.sorted(by: { $0.key < $1.key }) {
      if let value = value(name), !values.contains(value) { throw refusal(name, value, values.joined(separator: " or ")) }
    }
  }

  /// What an option's twin is called.
  package static func fullName(_ name: String) -> String { program.withLock { $0.prefix } + name }

  private static func refusal(_ name: String, _ value: String, _ wanted: String) -> ValidationError {
    ValidationError("the environment's \(fullName(name)) is '\(value)', and takes \(wanted).")
  }

  /// An empty one counts as not there.
  private static func value(_ name: String) -> String? {
    guard !program.withLock({ $0.overruled.contains(name) }) else { return nil }
    return ProcessInfo.processInfo.environment[fullName(name)].flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func isOn(_ value: String?) -> Bool? {
    switch value?.lowercased() {
    case "1", "true", "yes", "on": true
    case "0", "false", "no", "off": false
    default: nil
    }
  }
}
