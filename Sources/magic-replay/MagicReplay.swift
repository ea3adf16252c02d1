import ArgumentParser
import Console
import MagicReplication

@main
struct MagicReplay: Program {
  static let configuration = CommandConfiguration(
    commandName: "magic-replay",
    abstract: "Reads, rebuilds and explains the journals of MagicData.",
    discussion: """
      SOURCE is a database, a folder remote, a segment file, a bundle or an export, as a path or a file: URL, \
      - for one of these files that comes through a pipe, or a server, as tcp://host:port, tls://host:port, unix:/path or ssh://host/path.
      TIME is 2026-01-31T12:00:00Z or less of it, down to the month 2026-01 (without a zone: local time), \
      12:00, today or yesterday (its beginning), 2h ago (s, m, h, d or w), a sequence as 17, or 1a2b3c4d:17 as log prints it.

      Examples:
        magic-replay log notes --since "2h ago"
        magic-replay state notes --at 2026-01-31 --type Note
        magic-replay apply /mnt/share/notes --into rebuilt

      Options have twins in the environment: MAGIC_REPLAY_JSON=1 stands for --json. Colours honour NO_COLOR.

      Exit codes: 0 done, 1 failed, 3 partly done (damaged or missing parts are named), 4 differs, 5 try again, 6 not allowed, 7 incompatible, 8 a fork needs a \
      person, 9 no space, 64 usage, 129 the terminal was closed, 130 interrupted, 141 who read the output has gone, 143 ended by a signal.
      """,
    version: "0.1.0",
    subcommands: [
      Log.self, Stats.self, History.self, Blame.self, State.self, Diff.self, Apply.self, Verify.self, Undo.self, Export.self,
      Import.self,
      Bisect.self,
    ])

  static let variables = EnvironmentVariable.Names(
    flags: ["FOLLOW", "CSV", "CHECK", "SHUFFLE", "FORCE", "DRY_RUN", "YES", "INSECURE"], integers: ["LIMIT", "SEED"],
    choices: ["OP": Log.Operation.allCases.map(\.rawValue)])

  static let other = (
    name: "magic-sync",
    commands: [
      "init", "clone", "push", "pull", "sync", "remote", "status", "peers", "compact", "digest", "backup", "serve",
      "demo",
    ]
  )

  static func main() { begin() }
}
