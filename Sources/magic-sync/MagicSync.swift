import ArgumentParser
import Console
import MagicReplication

@main
struct MagicSync: Program {
  static let configuration = CommandConfiguration(
    commandName: "magic-sync",
    abstract: "Keeps MagicData databases on several machines in step.",
    discussion: """
      DB is a folder that holds a database, or a database file whose name ends in .sqlite, .sqlite3 or .db, as a path or a file: URL.
      REMOTE is a folder that all replicas reach, as a path or a file: URL; a server, as tcp://host:port, tls://host:port, unix:/path or ssh://host/path; a \
      .magicbundle file; - for a pipe; or a name that `remote add` gave.

      Examples:
        magic-sync clone /mnt/share/notes notes
        magic-sync sync notes --watch

      Options have twins in the environment: MAGIC_SYNC_JSON=1 stands for --json. Colours honour NO_COLOR.

      Exit codes: 0 done, 1 failed, 3 partly done, 4 not in step, 5 try again, 6 not allowed, 7 incompatible, 8 a fork needs a person, \
      9 no space, 64 usage, 129 the terminal was closed, 130 interrupted, 141 who read the output has gone, 143 ended by a signal.
      """,
    version: "0.1.0",
    subcommands: [
      Init.self, Clone.self, Push.self, Pull.self, Sync.self, Remote.self, Status.self, LogCommand.self, Peers.self,
      Compact.self,
      DigestCommand.self,
      Verify.self, Backup.self, Serve.self, Demo.self,
    ])

  static let variables = EnvironmentVariable.Names(
    flags: ["WATCH", "CHECK", "CONFLICTS", "STDIO", "INSECURE", "DRY_RUN", "ANEW"], integers: ["LIMIT", "COMMITS"],
    numbers: ["INTERVAL"])

  static let other = (
    name: "magic-replay",
    commands: ["stats", "history", "blame", "state", "diff", "apply", "undo", "export", "import", "bisect"]
  )

  static func main() { begin() }
}

extension PullReport {
  var status: ExitCode { isComplete ? .success : .partlyDone }
}

extension PushReport {
  var status: ExitCode { unread.isEmpty && missingAssets == 0 ? .success : .partlyDone }
}
