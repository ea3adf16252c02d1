internal import ArgumentParser
internal import Foundation

/// Which replicas are merged though their clocks are ahead.
package struct AcceptOption: ParsableArguments {
  @Option(
    name: .customLong("accept"),
    help: ArgumentHelp(
      """
      Merge what this replica wrote with a clock that is ahead: its id, or how that begins. The database's own clock goes on from there. May be given several \
      times; its twin in the environment (MAGIC_SYNC_ACCEPT, MAGIC_REPLAY_ACCEPT) takes several with commas between them.
      """, valueName: "id"))
  private var ids: [String] = []

  package init() {}

  package mutating func validate() throws {
    for id in replicas where !(4...32 ~= id.utf8.count && id.allSatisfy { $0.isASCII && $0.isHexDigit }) {
      throw ValidationError("--accept takes a replica's id, or at least the first four digits of it, and not '\(id)'.")
    }
  }

  /// How their ids begin.
  package var replicas: Set<String> {
    let given = ids.isEmpty ? (EnvironmentVariable.text("ACCEPT") ?? "").split(separator: ",").map(String.init) : ids
    return Set(given.map { $0.trimmingCharacters(in: .whitespaces).lowercased() })
  }
}
