internal import Foundation
package import MagicData
package import MagicJournal

/// Where a replicator exchanges a journal: a folder, or somebody who serves one.
package protocol Remote: Sendable {
  /// What messages call it.
  var text: String { get }

  /// Runs `body` while the remote can be asked; a remote elsewhere keeps one connection for as long.
  ///
  /// - Throws: `MagicDataError` with `unreachable` if nobody is there.
  func opened<Result: Sendable>(for magic: MagicData, _ body: (any OpenRemote) async throws -> Result) async throws -> Result
}

/// A remote that can be asked.
///
/// What a remote has is not remembered from one call to the next, as it may have been wiped, or set back (H-9); of one that
/// tells of each change for half a minute.
package protocol OpenRemote: Sendable {
  var text: String { get }

  /// Whether it tells of changes at once, so that nothing is gained by gathering them.
  var isLive: Bool { get }

  /// The data set of a remote that is there; else `notFound`.
  func dataSet() async throws -> DataSetID

  /// The remote's data set; a remote that holds nothing yet becomes one of `dataSet`.
  func dataSet(orMake dataSet: DataSetID) async throws -> DataSetID

  /// The segments that the remote has and the database lacks, where they can be read. Names are compared before (F-7).
  func arrivals(for magic: MagicData, _ dataSet: DataSetID) async throws -> IncomingSegments

  /// Sends the transactions that the database has and the remote lacks. When this returns, the remote has them for good.
  func deliver(_ magic: MagicData, _ dataSet: DataSetID, _ events: EventSource) async throws -> Delivery

  /// Some of these contents of assets, where they can be read if the remote has them; and how many of the names were looked
  /// for.
  func contents(_ names: ArraySlice<String>, for magic: MagicData) async throws -> (folder: FolderRemote, asked: Int)

  /// Takes away what was only brought here to be read.
  func forget(contents names: ArraySlice<String>, for magic: MagicData) async throws

  /// Whether it takes contents at all; an older server does not.
  var takesContents: Bool { get }

  /// How many of some contents the remote lacks.
  ///
  /// - Parameter lengths: by their digits, of the files here.
  func lacking(contents lengths: [String: Set<Int>]) async throws -> Int

  /// Sends the contents that the database has and the remote lacks.
  ///
  /// - Parameter names: of assets that rows name.
  func deliver(assets names: Set<String>, _ magic: MagicData, _ report: PushReport) async throws -> PushReport

  /// Says at once what was pushed (K-7), and takes what others say. `false` if nobody there would hear of it.
  func acknowledge(_ pushed: NamedFrontier, for magic: MagicData) async throws -> Bool

  /// The digest of what the remote folds, if it folds anything and holds just what a frontier says (L-24).
  func digest(at frontier: Frontier) async throws -> String?

  /// Whether the remote, as it told in the course of the last exchange, holds what a frontier says and nothing else. A folder
  /// does not tell.
  func holds(_ frontier: Frontier) -> Bool

  /// When something that was put off in the last exchange is to be said in another one.
  var due: ContinuousClock.Instant? { get }

  /// Where the remote is, so that a change after this moment is not missed.
  func position() async -> RemotePosition

  /// Returns when the remote has changed since a position.
  ///
  /// - Parameter interval: how often one that does not tell is looked at.
  func waitForChange(after position: RemotePosition, every interval: Duration) async throws

  /// How far a database and the remote are apart.
  func status(of magic: MagicData, _ dataSet: DataSetID) async throws -> ReplicationStatus
}

/// Segments that can be read here.
package struct IncomingSegments: Sendable {
  package let folder: FolderRemote
  /// Keeps the folder, if it is one for the time.
  private let spool: Spool?
  /// Where the folder is, if it is one for the time.
  var temporaryPath: String? { spool.map { $0.folder.folder.path } }
  /// What the remote is known to hold apart from the files in the folder.
  package let held: Frontier
  /// Up to which time stamps are accepted there (C-5), if it has told; a folder says so by its files.
  let acceptedTime: Int64
  /// Files that the remote could not read.
  package let unread: [UnreadFile]
  /// What it has only beyond a hole.
  package let gaps: [PullReport.Gap]
  /// What kept the rest from coming. What has come is merged before it is thrown.
  package let interruption: (any Error)?
  /// How many replicas the database may hold something of once they are merged, if it does not hold something of more already.
  let replicasAtMost: Int?

  /// - Parameter there: what the remote says that it holds; a folder says nothing but by its files.
  package init(_ folder: FolderRemote, _ there: Standing? = nil) {
    self.init(folder, nil, there, [], nil)
  }

  package init(_ spool: Spool, _ there: Standing?, unread: [UnreadFile] = [], interruption: (any Error)? = nil) {
    self.init(spool.folder, spool, there, unread, interruption)
  }

  /// Segments that who sent them holds up to a frontier.
  init(_ folder: FolderRemote, held: Frontier, replicasAtMost: Int) {
    (self.folder, spool, self.held, unread, gaps, interruption) = (folder, nil, held, [], [], nil)
    acceptedTime = 0
    self.replicasAtMost = replicasAtMost
  }

  private init(
    _ folder: FolderRemote, _ spool: Spool?, _ there: Standing?, _ unread: [UnreadFile], _ interruption: (any Error)?
  ) {
    self.folder = folder
    self.spool = spool
    held = there?.frontier ?? Frontier()
    gaps = there?.gaps ?? []
    acceptedTime = there?.acceptedTime ?? 0
    self.unread = unread
    self.interruption = interruption
    replicasAtMost = nil
  }
}

package enum RemotePosition: Sendable, Equatable {
  /// The names of a folder's files; `nil` if they could not be read.
  case names(Set<String>?)
  /// How many changes were told.
  case count(Int)
}
