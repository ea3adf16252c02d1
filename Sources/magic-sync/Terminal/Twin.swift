import ArgumentParser
import Foundation

/// Options have twins in the environment: `--limit 5` is `MAGIC_SYNC_LIMIT=5`. What stands on the command line goes before.
enum Twin {
  static let prefix = "MAGIC_SYNC_"

  static func flag(_ name: String) -> Bool { isOn(value(name)) ?? false }
  static func int(_ name: String) -> Int? { value(name).flatMap { Int($0) } }
  static func double(_ name: String) -> Double? { value(name).flatMap { Double($0) } }
  static func text(_ name: String) -> String? { value(name) }

  private static let flags = ["JSON", "QUIET", "WATCH", "CHECK", "CONFLICTS", "DRY_RUN"]
  private static let integers = ["LIMIT", "COMMITS"]
  private static let numbers = ["INTERVAL"]

  /// A value that says nothing is refused, or it would be a setting that silently does not hold.
  static func check() throws {
    for name in flags {
      if let value = value(name), isOn(value) == nil { throw refusal(name, value, "1 or 0") }
    }
    for name in integers {
      if let value = value(name), Int(value) == nil { throw refusal(name, value, "a whole number") }
    }
    for name in numbers {
      if let value = value(name), Double(value) == nil { throw refusal(name, value, "a number") }
    }
  }

  private static func refusal(_ name: String, _ value: String, _ wanted: String) -> ValidationError {
    ValidationError("the environment's \(prefix)\(name) is '\(value)', and takes \(wanted).")
  }

  /// An empty one counts as not there.
  private static func value(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[prefix + name].flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func isOn(_ value: String?) -> Bool? {
    switch value?.lowercased() {
    case "1", "true", "yes", "on": true
    case "0", "false", "no", "off": false
    default: nil
    }
  }
}
