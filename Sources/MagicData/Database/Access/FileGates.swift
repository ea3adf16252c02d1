internal import Foundation

/// The gates of the files that this process has open. All openings of a file share one, so that its writers take turns:
/// SQLite's own lock goes to whoever asks at the right moment, and others may wait until they give up.
enum FileGates {
  private struct Entry {
    weak var gate: Gate?
  }

  private static let entries = Locked<[FileIdentity: Entry]>([:])

  /// Does something with a file of which nobody in this process has the gate, nor gets it meanwhile.
  ///
  /// - Returns: `nil` if somebody has it.
  static func ifNotOpen<Result>(_ file: URL, _ body: () throws -> Result) rethrows -> Result? {
    guard let identity = FileIdentity(of: file) else { return try body() }
    return try entries.withLock { entries in entries[identity]?.gate == nil ? try body() : nil }
  }

  /// The gate of an existing file; a new one if the file cannot be identified.
  static func gate(of file: URL) -> Gate {
    guard let identity = FileIdentity(of: file) else { return Gate(places: 1) }
    return entries.withLock { entries in
      if let gate = entries[identity]?.gate { return gate }
      entries = entries.filter { $0.value.gate != nil }
      let gate = Gate(places: 1)
      entries[identity] = Entry(gate: gate)
      return gate
    }
  }
}
