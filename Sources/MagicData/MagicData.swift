public import Foundation

/// A database of objects in one SQLite file, with a journal of every change.
///
/// Each write is durable against a crash of the program once it has returned, together with its journal entry; the operating
/// system may lose the last ones when the machine loses power, and loses none that were published. Several `MagicData` and
/// several processes may use one file at once.
public final class MagicData: Sendable {
  /// A database that goes away with its `MagicData`.
  public enum Volatile: Sendable {
    /// In memory alone.
    case memory
    /// In a temporary folder.
    case temporary
  }

  /// How a database's pages are read.
  public enum Reads: Sendable {
    /// Each page is copied out of the file when it is needed, and some are kept: 2 MB for each connection. A read that fails is
    /// an error.
    case copied
    /// Pages are read where the system has them in memory: up to 2 GB of the file are mapped. Look-ups in large databases take
    /// two thirds of the time. Of a file in an encrypted or removable volume that goes away, on a failing disk, or cut by
    /// somebody, a read that fails ends the process (`SIGBUS`) where it would be an error else; nothing that was stored is lost
    /// by that. What a transaction reads is copied.
    case mapped
  }

  package let store: Store

  package init(store: Store) {
    self.store = store
  }

  /// Opens the program's own database, or makes it: on iOS in the app's Documents folder, elsewhere in the user's folder for
  /// application data, under the program's name.
  /// - Throws: ``MagicDataError`` with `notFound` if this user has no such folder, `notAllowed` if it cannot be made; else as
  ///   ``init(path:reads:)-(URL,_)``.
  public convenience init(reads: Reads = .copied) async throws {
    self.init(store: try Store(.file(try DatabaseLocation.ofProgram(), mustExist: false), reads: reads))
  }

  /// Opens the database at a path, or makes it.
  ///
  /// A path that ends in `.sqlite`, `.sqlite3` or `.db`, and is no folder, is the database file itself, with its assets in a
  /// folder beside it. Any other path is a folder that holds `default.sqlite3` and `files/`; it is made if the folder above is
  /// there.
  /// - Throws: ``MagicDataError`` with `notFound` (no folder above, or no `file:` URL), `notADatabase` (a file of something
  ///   else, a damaged one, or the folder of a remote), `incompatible` (of a format that this version does not know),
  ///   `notAllowed`, `busy` or `full`. A file of somebody else's keeps what is in it.
  public convenience init(path: URL, reads: Reads = .copied) async throws {
    self.init(store: try Store(.file(DatabaseLocation(checking: path), mustExist: false), reads: reads))
  }

  /// Opens the database at a path, or makes it; see ``init(path:reads:)-(URL,_)``.
  /// - Throws: ``MagicDataError`` with `notFound` if the path is empty; else as ``init(path:reads:)-(URL,_)``.
  public convenience init(path: String, reads: Reads = .copied) async throws {
    guard !path.isEmpty else { throw MagicDataError(.notFound, "the database's path is empty") }
    try await self.init(path: URL(fileURLWithPath: path), reads: reads)
  }

  /// Closes the database, when the reads, writes and transactions that are on their way have ended. Other calls throw from then
  /// on; all that was stored is in the database file then, and none of it in SQLite's WAL beside it alone, unless it is open
  /// elsewhere, in this process or another.
  ///
  /// A database closes by itself with its last reference; an object that may ask it for more, by a reverse or an
  /// ``AsyncMagical``, holds one.
  /// - Throws: ``MagicDataError`` with `transaction` in the body of one, which it would wait for; with `busy` or `failed` if
  ///   SQLite cannot close the file; with `busy`, and closed, if the file was moved while it was open, and the last commits
  ///   stay in the log at its former name since it is open elsewhere; with `full` or `failed`, and closed, if they stay in the
  ///   log since the disk takes no more: the next opening finds them there. Calls to a database that is closed throw `failed`.
  public func close() async throws {
    do {
      try await store.close()
    } catch {
      throw MagicDataError(error, "the database could not be closed")
    }
  }

  /// Makes an empty database that goes away with this instance.
  /// - Throws: ``MagicDataError`` with `notAllowed`, `notFound` or `full` if there can be no folder for it in the system's
  ///   temporary folder.
  public convenience init(type: Volatile) async throws {
    switch type {
    case .memory: self.init(store: try Store(.memory))
    case .temporary: self.init(store: try Store(.temporary))
    }
  }
}
