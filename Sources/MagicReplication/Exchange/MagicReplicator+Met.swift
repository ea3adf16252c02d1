package import MagicData
internal import MagicJournal

/// A folder that was there once is not made again by itself: where a share is not mounted is an empty folder, or none, and what
/// was written there would be seen by nobody (F-8).
extension MagicReplicator {
  /// What is known of a folder from one replicator to the next.
  enum Memory {
    case off
    case on
    /// As `on`, but one that is gone is made anew.
    case makingAnew
  }

  /// A replicator that remembers in the database that a folder was there, and asks that before it makes one; for a program that
  /// ends with each exchange.
  ///
  /// - Parameter makingAnew: whether it makes one all the same.
  package func remembering(makingAnew: Bool = false) -> MagicReplicator {
    remembering(makingAnew ? .makingAnew : .on)
  }

  /// The path by which the remote is remembered; `nil` for what is here for the time, which is another one each time.
  private var rememberedPath: String? {
    guard memory != .off, let folder = remote as? FolderRemote, !folder.isForTheTime else { return nil }
    return folder.text
  }

  /// Whether the remote is a folder that was there before, and so is not made.
  package func hasMet() async throws -> Bool {
    guard memory == .on, let path = rememberedPath else { return false }
    return try await magic.store.readBriefly { db in try VisitedFolders(db).has(path) }
  }

  /// Remembers that the remote was there, when an exchange with it is over.
  func remember() async throws {
    guard let path = rememberedPath else { return }
    let isKnown = try await magic.store.readBriefly { db in try VisitedFolders(db).has(path) }
    guard !isKnown else { return }
    do {
      try await magic.store.write { db in try VisitedFolders(db).add(path) }
    } catch let error as MagicDataError where [.busy, .full, .notAllowed].contains(error.code) {
      // What was exchanged stays exchanged, and the next exchange remembers it.
    }
  }

  /// The data set of a remote that has to be there.
  ///
  /// - Parameter wasThere: whether it is known to have been; else the database is asked.
  func found(_ remote: any OpenRemote, wasThere: Bool = false) async throws -> DataSetID {
    do {
      return try await agreed(remote.dataSet())
    } catch let error as MagicDataError where error.code == .notFound {
      throw try await wasThere ? gone(error) : said(of: error)
    }
  }

  /// What is said of a remote that is not there, as `error` has it: another thing if it was there before.
  package func said(of error: MagicDataError) async throws -> MagicDataError {
    guard error.code == .notFound, try await hasMet() else { return error }
    return gone(error)
  }

  private func gone(_ error: MagicDataError) -> MagicDataError {
    let anew = memory == .off ? "sync once beside this" : "push or sync once with --anew"
    let moved = memory == .off ? "" : " (for one that has a name: magic-sync remote set)"
    return MagicDataError(
      .unreachable,
      """
      there is no remote at \(remote.text) any more, where the database has exchanged with one: is the share mounted? Nothing was made there. Mount it and try \
      again; if the folder was moved, name where it is\(moved); if it is to be made anew, \(anew)
      """, cause: error)
  }
}
