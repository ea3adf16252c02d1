internal import Foundation
internal import MagicData
internal import MagicJournal

/// What all of a checkpoint shows to who has no database to merge it into.
enum CheckpointVerdict: Sendable {
  /// It comes to what its header says (K-14).
  case sound
  /// Its bytes are whole, and it does not.
  case isFalse
  /// It is damaged, gone, or more than a reader takes.
  case unreadable(MagicDataError)

  /// - Throws: `MagicDataError` if there is no room for what is set aside; what `checkCancelled` throws.
  init(at checkpoint: CheckpointFile, _ checkCancelled: () throws -> Void) throws {
    do {
      self = checkpoint.comes(to: try CheckpointFold.digest(of: checkpoint, checkCancelled)) ? .sound : .isFalse
    } catch let unreadable as CheckpointFold.Unreadable {
      self = .unreadable(unreadable.error)
    }
  }
}

/// What was seen of the checkpoints of a folder, of which a program may ask several things in turn: one that has not changed is
/// not folded again.
final class CheckpointLooks: Sendable {
  /// What was found of a file as it is on the disk, under the header that was read of it: another one of the same floor has the
  /// same name.
  private struct Known {
    let state: OpenFile.State
    let digest: Identifier
    let look: CheckpointVerdict
  }

  private let known = Locked<[URL: Known]>([:])

  func look(at checkpoint: CheckpointFile, _ checkCancelled: () throws -> Void) throws -> CheckpointVerdict {
    let (now, state) = (Date(), OpenFile.State(of: checkpoint.url))
    let digest = checkpoint.header.digest
    if let known = known.withLock({ $0[checkpoint.url] }), known.state == state, known.digest == digest { return known.look }
    let look = try CheckpointVerdict(at: checkpoint, checkCancelled)
    if case .isFalse = look {
      do {
        guard try CheckpointFile.header(of: checkpoint.url).digest == digest else {
          throw MagicDataError(.notFound, "\(checkpoint.url.path) was replaced while it was read; try again")
        }
      } catch let error as MagicDataError {
        return .unreadable(error)
      }
    }
    if case .unreadable(let error) = look {
      // It may be on its way, or the reader may be the one who is ill.
      guard error.code == .damaged || error.code == .tooLarge, state?.isOlder(than: now) == true else { return look }
    }
    if let state { known.withLock { $0[checkpoint.url] = Known(state: state, digest: digest, look: look) } }
    return look
  }
}

extension CheckpointFile {
  /// K-14: whether this is what its kept entries have to fold to.
  func comes(to digest: Digest) -> Bool { digest.identifier == header.digest }

  /// What is said of one that does not come to its digest.
  var falsehood: MagicDataError {
    MagicDataError(.damaged, "\(url.path) does not come to what it says: its writer was damaged. Delete it")
  }
}

extension FolderListing {
  /// How often a folder is listed for one reading before what is gone is a gap like any other.
  private static let mostLooks = 8

  /// A folder for who reads its history, with the checkpoints that may be handed out. If something was replaced while these
  /// were looked at, which takes its time, the folder is listed again (F-20), after what was closed and put there by then.
  ///
  /// - Parameter forked: hears of branches that nobody has told apart yet.
  static func taken(
    from remote: FolderRemote, _ checkCancelled: () throws -> Void, _ forked: (MagicDataError) -> Void
  ) throws -> (listing: FolderListing, dataSet: DataSetID, checkpoints: [CheckpointFile]) {
    var looks = 0
    while true {
      let dataSet = try remote.dataSet()
      var listing = try FolderListing(limited: remote, dataSet)
      // What was gone then has been looked for again.
      listing.hasVanished = false
      var fork: MagicDataError?
      do {
        try listing.checkForks()
      } catch let error as MagicDataError where error.code == .fork {
        fork = error
      }
      let checkpoints = try listing.takeNeeded(checkCancelled)
      listing.findUnadopted()
      looks += 1
      if listing.hasVanished, looks < mostLooks { continue }
      if let fork { forked(fork) }
      return (listing, dataSet, checkpoints)
    }
  }

  /// Those of the needed checkpoints that may be handed out. One that does not come to its digest is passed over, as by a pull
  /// (K-14, K-16), and so is one that no database takes; what is needed then is looked at in turn. One that cannot be read to
  /// its end stays: who reads it says so, and shows what its bytes still tell. `hasVanished` tells whether something is gone by
  /// now.
  private mutating func takeNeeded(_ checkCancelled: () throws -> Void) throws -> [CheckpointFile] {
    guard !needed.isEmpty else { return [] }
    let names = Set(files.map(\.name.text) + checkpoints.map(\.url.lastPathComponent))
    while true {
      let (found, count): ([CheckpointFile], Int) = (needed, checkpoints.count)
      for checkpoint in found {
        switch try remote.looks.look(at: checkpoint, checkCancelled) {
        case .sound: break
        case .isFalse: rejectFalse(checkpoint)
        case .unreadable(let error): if error.code == .tooLarge || error.code == .notFound { reject(checkpoint, error) }
        }
      }
      guard checkpoints.count == count else { continue }
      let there = try Set(remote.listing(of: remote.segments) + remote.listing(of: remote.checkpoints))
      if !names.isSubset(of: there) { hasVanished = true }
      return found
    }
  }
}
