package import Foundation
package import MagicData
package import MagicJournal

/// Throws once a client has gone. Who has waited for others asks first whether it waits still.
package typealias Presence = @Sendable () throws -> Void

/// What a server has for its clients: a database that takes part, or a folder that stores and forwards.
package protocol Served: Sendable {
  var text: String { get }

  /// The own replica, which no client can be; `nil` for one that writes nothing itself.
  func replica() async throws -> ReplicaID?

  /// `nil` if it holds nothing yet.
  func dataSet() async throws -> DataSetID?

  /// Gives one that holds nothing yet a data set; what stands already stays. Returns what holds.
  func make(_ dataSet: DataSetID) async throws -> DataSetID

  /// What is held, after the names of both sides were compared; of the client's own replica it compares them itself.
  ///
  /// - Throws: `MagicDataError` with `fork`.
  func standing(
    _ dataSet: DataSetID, comparedWith runs: [HeldRun], of client: ReplicaID, isThere: Presence
  ) async throws -> Standing

  /// Up to which time stamps are accepted (C-5), as far as it is known here; 0 if nobody has said so.
  func acceptedTime(_ dataSet: DataSetID) async throws -> Int64

  /// A checkpoint that it takes to go on from a frontier, if segments do not lead on from there (K-16); `nil` if they do.
  func checkpoint(_ dataSet: DataSetID, after frontier: Frontier, isThere: Presence) async throws -> ServedCheckpoint?

  /// Takes what a client says of itself and of others (K-6), and returns what is said here.
  ///
  /// - Parameters:
  ///   - limit: of the bytes of that.
  ///   - keeping: may refuse what is an acknowledgement of the client, or kept as its file, before it is kept.
  func acknowledged(
    _ dataSet: DataSetID, _ said: Data, by client: ReplicaID, atMost limit: Int,
    before keeping: @Sendable @escaping () throws -> Void, isThere: Presence
  ) async throws -> [Data]

  /// Hands over all segments that it takes to go on from a frontier, each replica's in their order.
  ///
  /// - Parameter take: gets each of them.
  /// - Returns: what could not be read, in words.
  func segments(
    _ dataSet: DataSetID, after frontier: Frontier, isThere: Presence,
    _ take: @Sendable (ServedSegment) async throws -> Void
  ) async throws -> [String]

  /// Where a client's segments and contents go.
  func inbox(_ dataSet: DataSetID) async throws -> any Inbox

  /// The files of those contents that are here, by the digits of their hashes.
  func contents(_ digits: Set<String>, isThere: Presence) async throws -> [String: URL]

  /// The file of a content does not hold what its name says.
  func doubt(content digits: String) async

  /// What is held, as far as is known without looking at what others may have done.
  func frontier() async throws -> Frontier

  /// All of which something is here, as far as that is known so, also where what comes before it is lacking.
  func replicas() async throws -> Set<ReplicaID>

  /// The digest of a database that holds what a frontier says (M-11); `nil` for what folds nothing.
  func digest(at frontier: Frontier, isThere: Presence) async throws -> String?

  /// Told of every change.
  var changes: ChangeSignal { get }

  /// Watches for changes that others make, until the task is cancelled.
  ///
  /// - Throws: when what is served is no more where it was.
  func watch() async throws
}

/// A segment on its way to a client.
package struct ServedSegment: Sendable {
  package enum Body: Sendable {
    case bytes(ArraySlice<UInt8>)
    /// What follows the header in a file, whose checksum is right. Several clients may take it.
    case file(OpenFile)
  }

  /// S-3.
  package let name: String
  package let header: [UInt8]
  package let body: Body
}

/// A checkpoint on its way to a client.
package struct ServedCheckpoint: Sendable {
  /// Open, so that it stays until it was sent, whoever takes it away.
  package let file: OpenFile
  package let floor: Frontier
  /// Keeps the file, if it was made for this.
  private let spool: Spool?

  /// - Throws: `MagicDataError` with `notFound` if the file has gone.
  init(_ file: CheckpointFile, _ spool: Spool? = nil) throws {
    (self.file, floor, self.spool) = (try OpenFile(file.url), file.floor.frontier, spool)
  }
}

/// What one client sends.
package protocol Inbox: Sendable {
  /// In whose folders it is written.
  var folder: FolderRemote { get }

  /// Whether what is in the folder is to stay.
  var isDurable: Bool { get }

  /// In which contents come, and of which those that are whole stay until they are settled.
  var contents: FolderRemote { get }

  /// A content is whole.
  func received(_ digits: String)

  /// Another segment is whole.
  func received(_ name: SegmentFileName, _ header: SegmentHeader)

  /// A checkpoint is whole, and stands for something of these.
  func receivedCheckpoint(_ name: String, _ replicas: Set<ReplicaID>)

  /// When this returns, all that was received is there for good.
  ///
  /// - Parameter runs: what the client holds.
  func settle(_ runs: [HeldRun]) async throws
}

/// Runs blocking work off Swift's pool.
package func offPool<Result: Sendable>(_ body: @Sendable @escaping () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(with: Swift.Result(catching: body)) }
  }
}
