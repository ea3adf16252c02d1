internal import ArgumentParser
package import Foundation
package import MagicData
internal import MagicJournal
package import MagicReplication
internal import MagicTransport

/// The database that a command works on.
package struct CommandDatabase: Sendable {
  private let location: DatabaseLocation
  /// Where programs are told of an id that it takes, beside an exchange.
  private let output: OutputOptions?

  package init(_ path: String, _ output: OutputOptions? = nil) throws {
    self.output = output
    location = DatabaseLocation(try CommandDatabase.url(of: path))
    try location.checkIsNoRest()
  }

  /// Where an argument leads: a path, or a `file:` URL.
  package static func url(of argument: String) throws -> URL {
    guard !argument.isEmpty else { throw ValidationError("the database's path is empty.") }
    do {
      let path = try RemoteAddress.databasePath(argument)
      if !argument.lowercased().hasPrefix("file:") { try checkIsNoScheme(argument) }
      return URL(fileURLWithPath: path)
    } catch let error as MagicDataError {
      throw ValidationError(error.message + ".")
    }
  }

  /// Who wrote a URL, or another machine's folder, would get a folder of that name here.
  private static func checkIsNoScheme(_ argument: String) throws {
    let first = String(argument.prefix { $0 != "/" })
    let word = first.prefix { $0.isASCII && $0.isLetter }
    guard word.count > 1, first.dropFirst(word.count).hasPrefix(":"), !FileManager.default.fileExists(atPath: first) else {
      return
    }
    throw ValidationError(
      "there is no \(first) here, and \(word): is no kind of database. A name with a colon is written ./\(argument).")
  }

  package var path: String { location.file.path }

  /// Throws if the path cannot be a database's, whatever is there.
  package func check() throws { try location.check() }

  /// Whether two paths mean one database, as far as names tell.
  package static func areSame(_ path: String, _ other: String) -> Bool {
    // What can be no database's path is no other one's either.
    let files = [path, other].map { path in
      (try? url(of: path)).map { url in DatabaseLocation(url).file.resolvingSymlinksInPath() }
    }
    return files[0] != nil && files[0] == files[1]
  }

  /// Whether there is a file; whether it is a database shows when it is opened.
  package var exists: Bool { location.exists }
  /// Whether nobody has made it yet, or was killed before there was anything in it.
  package var isNew: Bool { !exists || location.isEmpty }

  /// Keeps other commands from making the database until what is returned goes away, and waits for one that makes it just now:
  /// whoever makes it beside another comes too late with the whole of it. `nil` if it is there.
  ///
  /// - Throws: `MagicDataError` with `busy` if somebody is at it for longer than a writer is waited for.
  package func madeAlone() async throws -> FileLock? {
    guard isNew else { return nil }
    let place = location.folder ?? location.file
    // Where no file can be made beside it, who comes too late is told then.
    guard access(place.deletingLastPathComponent().path, W_OK) == 0 else { return nil }
    do {
      let lock = try await FileLock(
        beside: place, "another process is making the database \(path); try again when it is done")
      return isNew ? lock : nil
    } catch let error as MagicDataError where error.code == .notAllowed {
      return nil
    }
  }

  /// Runs `body` on a database that is there, and closes it, so that everything is in its file.
  package func use<Result>(_ body: (MagicData) async throws -> Result) async throws -> Result {
    try await use(mustExist: true, body)
  }

  /// Runs `body`, which only reads. A copy of another database keeps its id, so that the next exchange can say what it became.
  package func look<Result>(_ body: (MagicData) async throws -> Result) async throws -> Result {
    try await use(mustExist: true, isForReading: true, body)
  }

  /// Opens it; one that is not there is made, empty. Tells whether it was.
  ///
  /// - Parameter made: is called with one that was made.
  package func useOrInit(_ made: (MagicData) async throws -> Void = { _ in }) async throws -> Bool {
    let lock = try await madeAlone()
    defer { withExtendedLifetime(lock) {} }
    return try await use(mustExist: false, isForReading: true) { magic in
      if magic.store.isNew { try await made(magic) }
      return magic.store.isNew
    }
  }

  /// Opens it; one that is not there is made of what `body` puts into it, whole or not at all.
  package func useOrBuild<Result>(_ body: (MagicData) async throws -> Result) async throws -> Result {
    // One that somebody was killed at while he made it is made now.
    exists ? try await use(mustExist: false, body) : try await naming { try await MagicData.build(at: location, body) }
  }

  /// Runs `body` as `useOrBuild` does, which fetches what a server has: if the way to it breaks off, what had come stays, and
  /// the next pull goes on from there.
  package func useOrFetch<Result>(_ body: (MagicData) async throws -> Result) async throws -> Result {
    let isNew = !exists
    let outcome: Swift.Result<Result, MagicDataError> = try await useOrBuild { magic in
      do {
        return .success(try await body(magic))
      } catch let error as MagicDataError where isNew && error.code == .unreachable {
        guard try await magic.statistics().entries > 0 else { throw error }
        return .failure(
          MagicDataError(
            error.code, "\(error.message); what had come is in \(path), and a pull goes on from there", cause: error))
      }
    }
    return try outcome.get()
  }

  /// Builds one, and puts it in the place of one that is there.
  package func replace<Result>(_ body: (MagicData) async throws -> Result) async throws -> Result {
    try await naming { try await MagicData.build(inPlaceOf: location, body) }
  }

  /// What people are told of a copy that goes on under another id.
  package static func becameReplica(_ replica: String, _ former: String) -> String {
    """
    the database is a copy, or was put back from a backup: it goes on as a replica of its own, \(replica), and was \(former). Nothing is lost. If no other database goes on as \
    the latter, `magic-sync peers DB --expire \(former)` has nobody wait for it
    """
  }

  /// Tells of an id that the database took; what no exchange has told of nobody would hear of otherwise.
  package static func tellFresh(_ magic: MagicData, _ output: OutputOptions?) {
    guard let change = magic.store.takeReplicaChange() else { return }
    let (replica, former) = (change.fresh.description, change.former.description)
    guard let output, output.json else { return Terminal.say(becameReplica(replica, former), .yellow) }
    // That nobody reads shows with the summary.
    try? output.event("becameReplica", ["replica": replica, "former": former])
  }

  private func use<Result>(
    mustExist: Bool, isForReading: Bool = false, _ body: (MagicData) async throws -> Result
  ) async throws -> Result {
    try await naming {
      let magic = MagicData(store: try Store(.file(location, mustExist: mustExist), isForReading: isForReading))
      defer { CommandDatabase.tellFresh(magic, output) }
      do {
        let result = try await body(magic)
        try await magic.close()
        return result
      } catch let error as MagicDataError where error.cause is DisplacedDatabase {
        do {
          try await magic.close()
        } catch let left as MagicDataError {
          // Where the last commits are.
          throw MagicDataError(error.code, "\(error.message). \(left.message)", cause: error.cause)
        }
        throw error
      } catch {
        try? await magic.close()
        throw error
      }
    }
  }

  /// Which disk is full a message of SQLite's does not say.
  private func naming<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as MagicDataError where error.code == .full && error.message.hasPrefix("the database could not be") {
      throw MagicDataError(.full, "\(path): \(error.message)", cause: error.cause)
    }
  }
}
