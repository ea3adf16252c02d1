internal import Foundation
package import MagicData
internal import MagicJournal

/// Whether a folder's files hold what they say.
package struct FolderCheck: Sendable {
  package private(set) var segments = 0
  package private(set) var checkpoints = 0
  package private(set) var transactions = 0
  package private(set) var bytes = 0
  /// Files that are damaged, of another format or cannot be read, each with its reason.
  package private(set) var damaged: [String] = []
  /// Runs that are missing, so that later ones wait, contents that objects name, and what nobody has taken of ids that are
  /// closed.
  package private(set) var gaps: [String] = []

  /// Reads every file, one at a time. One that is gone was replaced by others (F-20), which are read then.
  ///
  /// - Parameter magic: a database whose objects' contents are looked for, as far as the folder has what named them.
  package init(_ remote: FolderRemote, of magic: MagicData? = nil) throws {
    for _ in 0..<FolderCheck.looks {
      self.init()
      if try read(remote, magic) { return }
    }
    throw MagicDataError(
      .busy, "\(remote.text) is being changed all the time, by compactions or a service that carries it; check it again later")
  }

  private static let looks = 10

  private init() {}

  /// - Returns: `false` if a file was taken away meanwhile.
  private mutating func read(_ remote: FolderRemote, _ magic: MagicData?) throws -> Bool {
    var listing = try FolderListing(limited: remote, remote.dataSet())
    // What was gone then has been looked for again.
    listing.hasVanished = false
    if let error = listing.unheard { damaged.append(error.message) } else { try listing.checkForks() }
    guard !listing.hasVanished, try readSegments(listing), try readCheckpoints(listing) else { return false }
    let frontier = listing.frontier
    try readContents(remote, frontier, magic)
    listing.findUnadopted()
    gaps += listing.unadopted.map { MagicDataError.unadopted($0).message }
    findGaps(listing, after: frontier)
    return true
  }

  /// - Returns: as `read`.
  private mutating func readSegments(_ listing: FolderListing) throws -> Bool {
    damaged += listing.rejected.map(\.error.message)
    for file in listing.files {
      try Task.checkCancellation()
      do {
        transactions += try FolderListing.segment(file).transactions.count
        segments += 1
        bytes += SegmentHeader.length + file.header.storedLength
      } catch let error as MagicDataError {
        guard error.code != .notFound else { return false }
        damaged.append(error.message)
      }
    }
    return true
  }

  /// - Returns: as `read`.
  private mutating func readCheckpoints(_ listing: FolderListing) throws -> Bool {
    damaged += listing.rejectedCheckpoints.map(\.error.message)
    for checkpoint in listing.checkpoints {
      switch try CheckpointVerdict(at: checkpoint, Task.checkCancellation) {
      case .sound:
        checkpoints += 1
        bytes += checkpoint.bytes
      case .isFalse:
        damaged.append(checkpoint.falsehood.message)
      case .unreadable(let error):
        guard error.code != .notFound else { return false }
        damaged.append(error.message)
      }
    }
    return true
  }

  /// Contents of assets: those that are there, and those that the database's objects name.
  private mutating func readContents(_ remote: FolderRemote, _ frontier: Frontier, _ magic: MagicData?) throws {
    var (named, contents): (Set<String>, [String]) = ([], [])
    do {
      if let magic { named = try magic.store.readBlocking { db in try FolderCheck.named(db, in: frontier) } }
    } catch  where error is MagicDataError || error is JournalError {
      // Of a database that is damaged its own check tells.
    }
    do {
      contents = try remote.contents()
      for digits in named.subtracting(contents).sorted() where ChunkReader.length(of: remote.content(digits)) == nil {
        gaps.append("\(remote.content(digits).path), the content of an asset that objects name, is missing")
      }
    } catch let error as MagicDataError {
      damaged.append(error.message)
    }
    for digits in contents {
      let file = remote.content(digits)
      // A compaction may have taken it away.
      if let fault = try AssetContent.check(file, digits, Task.checkCancellation), fault.code != .notFound {
        damaged.append(fault.message)
      }
    }
  }

  private mutating func findGaps(_ listing: FolderListing, after frontier: Frontier) {
    for replica in Set(listing.replicas + listing.put.replicas).sorted() {
      let missing =
        listing.hole(after: frontier[replica], of: replica)
        ?? listing.gap(to: listing.put[replica], of: replica, beyond: frontier[replica])?.sequences
      guard let missing else { continue }
      gaps.append("of replica \(replica) the transactions \(missing.lowerBound) to \(missing.upperBound) are missing")
    }
  }

  /// The digits of the contents that rows name, but for those that changes name which a folder up to a frontier has not got
  /// yet.
  private static func named(_ db: Connection, in frontier: Frontier) throws -> Set<String> {
    let journal = try JournalReader(db)
    let (floor, held) = (try journal.floor().frontier, try journal.frontier())
    // Of what is kept nothing tells which transaction it was.
    guard floor.replicas.allSatisfy({ floor[$0] <= frontier[$0] }) else { return [] }
    var names = try journal.schema.assetNames(db)
    for replica in held.replicas where held[replica] > frontier[replica] {
      try journal.forEachTransaction(of: replica, after: frontier[replica]) { transaction in
        for entry in transaction.entries {
          for field in entry.fields { if case .asset(let name) = field.value { names.remove(name) } }
        }
      }
    }
    return Set(names.map(AssetContent.digits))
  }
}
