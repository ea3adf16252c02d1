internal import Foundation
public import MagicData
package import MagicJournal

/// What a push did.
public struct PushReport: Sendable, Equatable {
  /// Files written.
  public package(set) var segments = 0
  /// Checkpoints written: of a database that gave up its history, to a remote that lacks it.
  public package(set) var checkpoints = 0
  /// Transactions that the remote lacked and has now, but for those that a checkpoint stands for.
  public package(set) var transactions = 0
  /// Entries: one for each object that a transaction touched.
  public package(set) var changes = 0
  /// Bytes of the files.
  public package(set) var bytes = 0
  /// Bytes of the same before compression.
  public package(set) var inflatedBytes = 0
  /// Contents of assets written.
  public package(set) var assets = 0
  /// Bytes of these contents.
  public package(set) var assetBytes = 0
  /// Assets that objects name and that neither the remote nor this database has.
  public package(set) var missingAssets = 0
  /// What was not sent or not taken: files of this database's own assets that do not hold what they should or cannot be read,
  /// transactions that a server's database does not take yet, since by its clock they are from the future, what a server did
  /// not keep, and what was to be acknowledged in a folder.
  public package(set) var unread: [UnreadFile] = []
  /// Names of assets of which neither the remote nor this database has a file.
  package var lacking: Set<String> = []

  package init() {}
}

/// A push, but for the contents of assets.
package struct Delivery: Sendable {
  package var report = PushReport()
  /// What the database held, which the remote has now.
  package var pushed = NamedFrontier()

  package init() {}
}

/// What a pull did.
public struct PullReport: Sendable, Equatable {
  /// Files read.
  public package(set) var segments = 0
  /// Checkpoints taken: of a remote that has no history, or has it in more bytes.
  public package(set) var checkpoints = 0
  /// Transactions that were merged; of a checkpoint, what it has kept.
  public package(set) var transactions = 0
  /// Entries: one for each object that a transaction touched.
  public package(set) var changes = 0
  /// Bytes of the files.
  public package(set) var bytes = 0
  /// Bytes of the same before compression.
  public package(set) var inflatedBytes = 0
  /// Values of this replica that lost to others', and others' that lost to this one's, written without knowing of each other:
  /// see ``MagicConflict``.
  public package(set) var conflicts = 0
  /// Replicas whose clocks are more than an hour ahead. What they wrote waits in the remote.
  public package(set) var heldBack: [HeldBack] = []
  /// Files that are damaged, cut short, of a newer format or cannot be read, and whose content nothing else gave. All else was
  /// merged.
  public package(set) var unread: [UnreadFile] = []
  /// Transactions that are missing in the remote: before others, which wait there, or after all, as who put them there has
  /// said; of the latter no more once there are 1,000.
  public package(set) var gaps: [Gap] = []
  static let mostGaps = 1_000
  /// Contents of assets fetched.
  public package(set) var assets = 0
  /// Bytes of these contents.
  public package(set) var assetBytes = 0
  /// Assets that objects name and that are not here: the remote lacks them, or has them damaged. The next pull looks for them
  /// again.
  public package(set) var missingAssets = 0

  /// Whether everything that the remote holds, and all that objects name, is here.
  public var isComplete: Bool { heldBack.isEmpty && unread.isEmpty && gaps.isEmpty && missingAssets == 0 }

  package init() {}

  /// A replica of which transactions wait, since its clock is too far ahead (C-5); ``MagicReplicationEvent/parked(_:)`` tells
  /// it.
  public struct HeldBack: Sendable, Equatable {
    /// The replica id, 32 hexadecimal digits.
    public let replica: String
    /// How far its clock is ahead, in milliseconds.
    public let aheadMilliseconds: Int64
  }

  /// Transactions of one replica that are missing in the remote, and are not held here.
  public struct Gap: Sendable, Equatable {
    /// The replica id, 32 hexadecimal digits.
    public let replica: String
    /// The sequences of the transactions that are missing.
    public let sequences: ClosedRange<UInt64>

    func overlaps(_ other: Gap) -> Bool { replica == other.replica && sequences.overlaps(other.sequences) }
  }
}

/// A file of which nothing was taken.
public struct UnreadFile: Sendable, Equatable {
  /// Its path.
  public let path: String
  /// `damaged`, `incompatible` (a newer format, another data set), `notAllowed`, …
  public let code: MagicDataError.Code
  /// What is the matter, and what remedies it.
  public let message: String

  package init(path: String, code: MagicDataError.Code, message: String) {
    self.path = path
    self.code = code
    self.message = message
  }

  /// This file as one of a remote, where it was read in a folder for the time.
  func of(_ remote: String, insteadOf folder: String) -> UnreadFile {
    UnreadFile(
      path: path.replacingOccurrences(of: folder, with: remote), code: code,
      message: message.replacingOccurrences(of: folder, with: remote))
  }
}

extension PushReport {
  /// Another segment is on its way.
  package mutating func count(_ cut: SegmentCutter.Cut) {
    segments += 1
    transactions += cut.run.count
    changes += cut.changes
    bytes += cut.bytes.count
    inflatedBytes += cut.inflatedBytes
  }
}

extension PullReport {
  /// The report of two pulls, one after the other: what was merged by either, and what the later one has left.
  func after(_ earlier: PullReport) -> PullReport {
    var both = self
    both.segments += earlier.segments
    both.checkpoints += earlier.checkpoints
    both.transactions += earlier.transactions
    both.changes += earlier.changes
    both.bytes += earlier.bytes
    both.inflatedBytes += earlier.inflatedBytes
    both.conflicts += earlier.conflicts
    both.assets += earlier.assets
    both.assetBytes += earlier.assetBytes
    return both
  }

  /// Another segment was merged.
  mutating func count(_ header: SegmentHeader) {
    segments += 1
    bytes += SegmentHeader.length + header.storedLength
    inflatedBytes += SegmentHeader.length + header.bodyLength
  }
}
