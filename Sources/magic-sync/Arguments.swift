import ArgumentParser
import Console
import Foundation
import MagicData
import MagicReplication

struct RemoteArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      """
      The remote: a name of `remote list`, a folder's path or file: URL, a server's tcp:, tls:, unix: or ssh: URL, a \
      .magicbundle file, or - for a pipe. Without it the only remote that has a \
      name is meant, or the one named origin.
      """, valueName: "REMOTE"), completion: .file())
  var address: String?

  var isPipe: Bool { address == "-" }

  /// - Parameter isMade: whether the database is made if it is not there.
  func place(
    in database: CommandDatabase, _ connection: ConnectionOptions, isMade: Bool = false
  ) async throws -> RemoteLocation {
    try await RemoteLocation.meant(by: address, in: database, connection, isMade: isMade)
  }

  /// The remote that is meant; `nil` if none is named, and the database knows none.
  func placeIfAny(in database: CommandDatabase, _ connection: ConnectionOptions) async throws -> RemoteLocation? {
    try await RemoteLocation.ifAny(meantBy: address, in: database, connection)
  }

  /// Runs `body` with the remote, if there is one, and once more where that could not be asked: for an offline store this is no
  /// reason to say nothing.
  ///
  /// - Parameter body: gets the remote, and why it could not be asked; then it asks the database alone.
  /// - Throws: why the remote could not be asked, if the database cannot be either.
  func askedIfItCanBe<Result>(
    in database: CommandDatabase, _ connection: ConnectionOptions,
    _ body: (RemoteLocation?, MagicDataError?) async throws -> Result
  ) async throws -> Result {
    var place: RemoteLocation?
    do {
      place = try await placeIfAny(in: database, connection)
      if let place { return try await body(place, nil) }
    } catch let failure as MagicDataError where !Task.isCancelled {
      do {
        return try await body(place, failure)
      } catch is MagicDataError {
        throw failure
      }
    }
    return try await body(nil, nil)
  }
}

extension AcceptOption {
  /// Throws where exchanges follow each other.
  func checkIsForOne() throws {
    guard replicas.isEmpty else { throw ValidationError("--accept is for one exchange, without --watch.") }
  }
}

struct NameOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Give the replica a name, for people: peers shows it everywhere. It is said here alone.", valueName: "NAME"))
  var name: String?

  func validate() throws {
    guard name.map(ReplicaName.isValid) ?? true else { throw ValidationError("\(ReplicaName.rule).") }
  }
}

struct AnewOption: ParsableArguments {
  @Flag(
    name: .customLong("anew"),
    help: """
      Make the remote's folder anew where the database has exchanged with one before, and it is gone; put its magicdata.json back where that is lost or \
      damaged, and the rest is there. (MAGIC_SYNC_ANEW)
      """)
  private var isGiven = false

  var isOn: Bool { isGiven || EnvironmentVariable.flag("ANEW") }

  /// Puts back what makes a folder the remote of a database, if that is asked for, and says so.
  func putBack(_ place: RemoteLocation, _ magic: MagicData, _ output: OutputOptions) async throws {
    guard isOn, case .folder(let folder) = place, try await folder.putBackMarker(of: magic) else { return }
    if !output.quiet { Terminal.say("put magicdata.json back in \(place.text)") }
  }

  /// What else is gone is made whenever somebody pushes to it.
  func check(_ place: RemoteLocation) throws {
    guard !isGiven || place.isFolder else { throw ValidationError("--anew is for a remote that is a folder.") }
  }
}

struct DryRunOption: ParsableArguments {
  @Flag(name: .customLong("dry-run"), help: "Say what it would do, and change nothing. (MAGIC_SYNC_DRY_RUN)")
  private var isGiven = false

  var isOn: Bool { isGiven || EnvironmentVariable.flag("DRY_RUN") }
}

/// For a command that goes on with what comes.
struct WatchOptions: ParsableArguments {
  @Flag(help: "Go on until interrupted. (MAGIC_SYNC_WATCH)")
  private var watch = false

  @Option(
    help: ArgumentHelp(
      """
      With --watch: look at the remote every so many seconds, and exchange no more often than that; each second if nothing is said. (MAGIC_SYNC_INTERVAL)
      """,
      valueName: "seconds"))
  private var interval: Double?

  var isOn: Bool { watch || EnvironmentVariable.flag("WATCH") }
  var pause: Double { interval ?? EnvironmentVariable.double("INTERVAL") ?? 1 }

  func validate() throws {
    guard pause >= 0.01, pause <= 86_400 else { throw ValidationError("--interval takes 0.01 to 86400 seconds.") }
    guard interval == nil || isOn else { throw ValidationError("--interval is for --watch.") }
  }
}

extension RemoteLocation {
  /// A name means what the database calls so; anything else is an address.
  static func meant(
    by address: String?, in database: CommandDatabase, _ connection: ConnectionOptions? = nil, isMade: Bool = false
  ) async throws -> RemoteLocation {
    guard let place = try await ifAny(meantBy: address, in: database, connection, isMade: isMade) else {
      throw RemoteLocation.noneIsNamed
    }
    return place
  }

  static var noneIsNamed: MagicDataError {
    MagicDataError(
      .notFound, "no remote is named, and the database knows none; name one, or add it: magic-sync remote add DB origin URL")
  }

  fileprivate static func ifAny(
    meantBy address: String?, in database: CommandDatabase, _ connection: ConnectionOptions?, isMade: Bool = false
  ) async throws -> RemoteLocation? {
    // What has a part above it, or a scheme, is no name.
    if let address, address == "-" || address.contains(where: { "/:".contains($0) }) {
      return try RemoteLocation(address, connection)
    }
    // One that has to be there says so itself.
    if isMade, database.isNew {
      try database.check()
      guard let address else {
        throw MagicDataError(
          .notFound,
          "there is no database at \(database.path); check the path, or name the remote that one is to be made of")
      }
      return try RemoteLocation(address, connection)
    }
    let remotes = try await database.look { magic in try await magic.remotes() }
    if let address {
      if let remote = remotes.first(where: { $0.name == address }) {
        return try RemoteLocation(remote.address, connection, keeping: remote.options)
      }
      let place = try RemoteLocation(address, connection)
      // A name that was mistyped is no folder to be made.
      if case .folder(let folder) = place, !remotes.isEmpty, !FileManager.default.fileExists(atPath: folder.folder.path) {
        throw MagicDataError(
          .notFound,
          """
          there is no remote \(address), and no such folder; the database knows \
          \(remotes.map(\.name).joined(separator: ", ")). Write ./\(address) to mean a folder
          """)
      }
      return place
    }
    if remotes.isEmpty { return nil }
    guard let remote = remotes.count == 1 ? remotes[0] : remotes.first(where: { $0.name == NamedRemote.defaultName }) else {
      throw MagicDataError(
        .notFound,
        "the database knows several remotes (\(remotes.map(\.name).joined(separator: ", "))) and none of them is origin; name one"
      )
    }
    return try RemoteLocation(remote.address, connection, keeping: remote.options)
  }
}
