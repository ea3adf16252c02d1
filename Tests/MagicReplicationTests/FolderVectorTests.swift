import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

@testable import MagicReplication

/// Folder remotes and what is found in them, which the reader in Python has to find as well. `Tools/reader/make_vectors.py`
/// writes them.
@Suite struct FolderVectorTests {
  struct File: Codable {
    var cases: [Case]
  }

  struct Case: Codable, Sendable, CustomTestStringConvertible {
    var name: String
    /// The time of day of who pulls, in milliseconds since 1970.
    var now: String
    /// By their paths: as UTF-8, and as hexadecimal digits.
    var texts: [String: String]
    var files: [String: String]

    /// Why nothing is read at all; the rest is not there then.
    var refused: String?

    var dataSet: String?
    /// The last sequence of each replica.
    var held: [String: String]?
    /// Those above the floor, as replica, sequence and name.
    var transactions: [String]?
    var digest: String?
    /// What is the matter with each file that is of no use, and of which something is lacking.
    var unread: [String: String]?
    /// A replica, and the first and the last sequence that are missing.
    var missing: [String]?
    /// Replicas whose clocks are ahead.
    var waiting: [String]?
    var missingAssets: Int?
    /// What those files say that count, by who wrote them; and what they say together.
    var acknowledgements: [String: Said]?
    var members: Said?

    var testDescription: String { name }

    func write(to folder: URL) throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for (path, text) in texts { try write(Data(text.utf8), to: folder.appendingPathComponent(path)) }
      for (path, digits) in files {
        let bytes = try #require([UInt8](hexadecimal: digits))
        try write(Data(bytes), to: folder.appendingPathComponent(path))
      }
    }

    private func write(_ bytes: Data, to file: URL) throws {
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try bytes.write(to: file)
    }
  }

  /// An acknowledgement's members, as its file has them (K-6).
  struct Said: Codable, Equatable, Sendable {
    struct Acknowledged: Codable, Equatable, Sendable {
      var time: Int64
      var frontier: [String: String]
      var digest: String?
    }

    struct Named: Codable, Equatable, Sendable {
      var time: Int64
      var name: String
    }

    var acknowledged: [String: Acknowledged]
    var expired: [String: Int64]
    var closed: [String: String]?
    var accepted: Int64?
    var names: [String: Named]?

    init(_ file: AckFile, _ dataSet: DataSetID) throws {
      self = try JSONDecoder().decode(Said.self, from: file.bytes(dataSet))
    }
  }

  static let cases = (try? VectorFile<File>("folders").read().cases) ?? []

  @Test func thereAreVectors() {
    #expect(FolderVectorTests.cases.count > 100)
  }

  /// F-1 to F-3, F-5, F-7, F-9, F-10, F-12, F-14, F-16, F-18, K-6, K-7, K-10, K-12 to K-16, K-25, C-5, J-15.
  @Test(arguments: FolderVectorTests.cases) func aFolderHoldsWhatTheVectorSays(vector: Case) async throws {
    let folder = try TemporaryFolder()
    let remote = FolderRemote(folder["remote"])
    try vector.write(to: remote.folder)
    if let refused = vector.refused {
      #expect {
        _ = try FolderListing(settled: remote, remote.dataSet())
      } throws: { error in
        (error as? MagicDataError).map { String(describing: $0.code) } == refused
      }
      return
    }
    let dataSet = try remote.dataSet()
    #expect(dataSet.description == vector.dataSet)
    try expectAcknowledgements(of: vector, in: remote, dataSet)
    // Of an id that is closed a database holds branches under other ids, so that one who has none is asked (F-7).
    let closings = try remote.acknowledged(dataSet).closings
    guard closings.isEmpty else {
      let frontier = try FolderListing(settled: remote, dataSet).frontier
      #expect(held(frontier) == vector.held)
      return
    }
    let now = try #require(Int64(vector.now))
    let replica = try Replica(folder["database"], remote.folder, World(start: now))
    let report = try await replica.replicator.pull()
    let frontier = try await replica.frontier()
    #expect(held(frontier) == vector.held)
    let transactions = try await replica.transactions().0
    #expect(transactions.map(text).sorted() == vector.transactions)
    let digest = try await replica.magic.digest()
    #expect(digest == vector.digest)
    let start = remote.folder.path + "/"
    var unread: [String: String] = [:]
    for file in report.unread {
      unread[file.path.replacingOccurrences(of: start, with: "")] = String(describing: file.code)
    }
    #expect(unread == vector.unread)
    let missing = report.gaps.map { "\($0.replica) \($0.sequences.lowerBound) \($0.sequences.upperBound)" }
    #expect(missing.sorted() == vector.missing)
    #expect(report.heldBack.map(\.replica).sorted() == vector.waiting)
    #expect(report.missingAssets == vector.missingAssets)
  }

  private func expectAcknowledgements(of vector: Case, in remote: FolderRemote, _ dataSet: DataSetID) throws {
    var said: [String: Said] = [:]
    for (writer, file) in try remote.acknowledged(dataSet).files { said[writer.description] = try Said(file, dataSet) }
    #expect(said == vector.acknowledgements)
    var members = FolderMembers()
    try members.look(remote, dataSet)
    let all = AckFile(
      replica: Identifier(0, 0), members: members.all, closings: members.closings, acceptedTime: members.acceptedTime,
      names: members.names.all)
    let together = try Said(all, dataSet)
    #expect(together == vector.members)
  }

  private func held(_ frontier: Frontier) -> [String: String] {
    var held: [String: String] = [:]
    for replica in frontier.replicas { held[replica.description] = String(frontier[replica]) }
    return held
  }

  private func text(_ transaction: Transaction) -> String {
    var name = ByteWriter()
    transaction.name.encode(to: &name)
    return "\(transaction.replica) \(transaction.sequence) \(name.bytes.hexadecimal)"
  }
}
