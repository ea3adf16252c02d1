import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Verify: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks a database against its journal, its assets, and a remote's files.",
    discussion: """
      Reads everything and changes nothing: SQLite's file, each object's row against the fold of its entries, each asset's content against its name, each \
      segment's checksums, each content of an asset that the remote has, and whether it has those of the objects that it has. Without REMOTE, and without a folder or bundle as the remote that has a name, the database alone. What of a remote cannot be looked \
      at keeps nothing of the database back. Exit code 4: the database is not what its journal folds to, as after a change by SQL (`magic-replay verify --repair` settles it), or is damaged; 3: files are damaged or \
      missing, the rest is whole; 1: there is no such remote; 5: the remote was there before and is gone, or cannot be reached.

      Examples:
        magic-sync verify notes
        magic-sync verify notes /mnt/share/notes
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path)
    let check = try await database.look { magic in try await DatabaseCheck(magic) }
    var folder: FolderCheck?
    var failure: MagicDataError?
    do {
      folder = try await checkRemote(of: database)
    } catch let error as MagicDataError {
      // What was found of the database is said all the same.
      failure = error
      Terminal.say("the remote was not looked at: \(error.message)", .red)
    }
    let content = VerificationSummary(check, folder, failure: failure)
    return Outcome(
      text: content.text, content: content,
      status: content.hasFaults ? .differs : content.isPartial ? .partlyDone : failure.map(Verify.status) ?? .success)
  }

  /// A remote that is damaged as a whole is files that are.
  private static func status(_ failure: MagicDataError) -> ExitCode {
    failure.code == .damaged ? .partlyDone : failure.code.exitCode
  }

  /// `nil` if no remote is meant whose files are to be seen from here.
  private func checkRemote(of database: CommandDatabase) async throws -> FolderCheck? {
    if remote.address == nil {
      guard try await !database.look({ magic in try await magic.remotes() }).isEmpty else { return nil }
    }
    let place = try await remote.place(in: database, connection)
    // A server's files are verified there.
    guard remote.address != nil || !place.isServer else { return nil }
    do {
      return try await place.useFolder(.pull) { folder in
        try await database.look { magic in try FolderCheck(folder, of: magic) }
      }
    } catch let error as MagicDataError where error.code == .notFound {
      guard case .folder(let remote) = place else { throw error }
      throw try await database.look { magic in try await MagicReplicator(magic, over: remote).remembering().said(of: error) }
    }
  }
}
