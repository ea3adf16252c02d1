package import Foundation
internal import MagicData
package import MagicJournal

/// Stores and forwards: needs no schema, merges nothing, and opens no database.
package final class ServedFolder: Served {
  package let changes = ChangeSignal()
  private let remote: FolderRemote
  private let state = Locked(State())
  /// One looks at a time, or an older look could take the place of a later one.
  private let looking = Locked(())

  private struct State {
    /// What is known of the folder, and of which data set it was.
    var dataSet: DataSetID?
    var listing: FolderListing?
    /// Files that turned out to be damaged when they were read (F-9).
    var damaged: [SegmentFileName: MagicDataError] = [:]
    /// Names within segments, which cost their decoding.
    var names: [Address: TransactionName] = [:]
  }

  private struct Address: Hashable {
    let replica: ReplicaID
    let sequence: UInt64
  }

  /// So many names are remembered.
  private static let maxNames = 10_000

  package init(_ remote: FolderRemote) {
    self.remote = remote
  }

  package var text: String { remote.text }
  package func replica() -> ReplicaID? { nil }

  package func dataSet() async throws -> DataSetID? {
    try await offPool { [remote] in
      do {
        return try remote.dataSet()
      } catch let error as MagicDataError where error.code == .notFound {
        return nil
      }
    }
  }

  package func make(_ dataSet: DataSetID) async throws -> DataSetID {
    try await offPool { [remote] in try remote.dataSet(orMake: dataSet) }
  }

  /// The folder as it is, whoever writes to it.
  private func look(_ dataSet: DataSetID) throws -> FolderListing {
    try looking.withLock { _ in
      let known = state.withLock { $0.dataSet == dataSet ? $0.listing : nil }
      var listing = try FolderListing(remote, dataSet: dataSet, known: known)
      return state.withLock { state in
        for (name, error) in state.damaged { listing.reject(named: name, error) }
        (state.dataSet, state.listing) = (dataSet, listing)
        return listing
      }
    }
  }

  package func standing(_ dataSet: DataSetID, comparedWith runs: [HeldRun], of client: ReplicaID) async throws -> Standing {
    try await offPool { [self] in
      let listing = try look(dataSet)
      let standing = try Standing(listing) { try name(at: $0, of: $1, in: listing) }
      var held = Frontier()
      for run in runs where run.replica != client {
        held[run.replica] = run.last
        let frontier = standing.frontier[run.replica]
        guard run.last <= frontier, let known = try name(at: run.last, of: run.replica, in: listing) else { continue }
        guard known == run.name else { throw MagicDataError.fork(run.replica, run.last) }
      }
      return standing
    }
  }

  /// The name of a transaction that some file holds; `nil` if none can be read.
  private func name(at sequence: UInt64, of replica: ReplicaID, in listing: FolderListing) throws -> TransactionName? {
    let address = Address(replica: replica, sequence: sequence)
    if let name = state.withLock({ $0.names[address] }) { return name }
    if let end = listing.checkpoints.lazy.compactMap({ $0.floor[replica] }).first(where: { $0.sequence == sequence }) {
      return end.name
    }
    guard sequence > 0, let file = listing.next(after: sequence - 1, of: replica) else { return nil }
    let name: TransactionName?
    if file.name.last == sequence {
      name = file.header.lastName
    } else if let next = listing.runs[replica]?.files.first(where: { $0.name.first == sequence + 1 }) {
      name = next.header.previous
    } else {
      name = try segment(file).flatMap { bytes in
        try? Segment(bytes).transactions.first { $0.sequence == sequence }?.name
      }
    }
    if let name {
      state.withLock { state in
        if state.names.count >= ServedFolder.maxNames { state.names = [:] }
        state.names[address] = name
      }
    }
    return name
  }

  /// A file's bytes, if its checksum is that of its header; else it counts no more, and whoever has what it held sends it again.
  private func segment(_ file: FolderListing.File) throws -> [UInt8]? {
    let error: MagicDataError
    do {
      let bytes = try DurableFile.read(file.url, atMost: SegmentHeader.length + Limits.segmentBytes)
      let header = try? SegmentHeader(bytes)
      if header == file.header, bytes.count == SegmentHeader.length + file.header.storedLength,
        Zlib.checksum(bytes[SegmentHeader.length...]) == file.header.storedChecksum
      {
        return bytes
      }
      error = MagicDataError(.damaged, "\(file.url.path) is damaged: its bytes do not match its checksum")
      remote.doubt(file.name.text)
    } catch let failure as MagicDataError {
      guard failure.code != .notFound else { return nil }
      error = failure
    }
    state.withLock { $0.damaged[file.name] = error }
    return nil
  }

  package func checkpoint(_ dataSet: DataSetID, after frontier: Frontier) async throws -> ServedCheckpoint? {
    try await offPool { [self] in
      var listing = try look(dataSet)
      while let checkpoint = listing.needed(by: frontier) {
        if try listing.isWhole(checkpoint) { return ServedCheckpoint(checkpoint) }
        remote.doubt(checkpoint.url.lastPathComponent)
      }
      return nil
    }
  }

  package func acknowledged(_ dataSet: DataSetID, _ said: Data, by client: ReplicaID) async throws -> [Data] {
    try await offPool { [remote] in
      let files = try remote.acknowledged(dataSet)
      if let file = AckFile(said, of: client, dataSet), files[client] != file { try remote.write(file, dataSet) }
      return try files.values.sorted { $0.replica < $1.replica }.map { try $0.bytes(dataSet) }
    }
  }

  package func segments(
    _ dataSet: DataSetID, after frontier: Frontier, _ take: @Sendable ([UInt8], String) async throws -> Void
  ) async throws -> [String] {
    var (listing, isNew) = (try await offPool { [self] in try look(dataSet) }, true)
    var held = frontier
    // Files that are gone were replaced, or will be (F-20).
    while isNew {
      for replica in listing.replicas {
        while let file = listing.next(after: held[replica], of: replica) {
          guard let bytes = try await offPool({ [self] in try segment(file) }) else {
            let error = state.withLock { $0.damaged[file.name] }
            listing.reject(file, error ?? MagicDataError(.notFound, "\(file.url.path) is gone"))
            continue
          }
          try await take(bytes, file.name.name)
          held[replica] = file.name.last
        }
      }
      (listing, isNew) = try await offPool { [listing] in
        var listing = listing
        let isNew = try listing.lookAgain()
        return (listing, isNew)
      }
    }
    return listing.rejected.filter { $0.name.last > listing.frontier[$0.name.replica] }.map(\.error.message)
  }

  package func inbox(_ dataSet: DataSetID) throws -> any Inbox {
    try remote.makeSegments()
    return FolderInbox(self, remote)
  }

  package func contents(_ digits: Set<String>) async throws -> [String: URL] {
    try await offPool { [remote] in
      var files: [String: URL] = [:]
      for digits in digits where remote.checkWay(to: digits) == nil {
        let file = remote.content(digits)
        if PieceReader.length(of: file) != nil { files[digits] = file }
      }
      return files
    }
  }

  package func frontier() -> Frontier { state.withLock { $0.listing?.frontier ?? Frontier() } }
  package func digest(at frontier: Frontier) -> String? { nil }

  package func watch() async {
    // Others may write to the folder as well, by themselves or through a service that carries it.
    var position = await remote.position()
    while !Task.isCancelled {
      try? await remote.waitForChange(after: position, every: .seconds(1))
      position = await remote.position()
      if let dataSet = try? await dataSet() { _ = try? await offPool { [self] in try look(dataSet) } }
      changes.tell()
    }
  }

  fileprivate func received(_ header: SegmentHeader) {
    state.withLock { state in
      state.damaged = state.damaged.filter {
        $0.key.replica != header.replica || $0.key.first != header.first || $0.key.last != header.last
      }
    }
  }
}

private struct FolderInbox: Inbox {
  private let served: ServedFolder
  let folder: FolderRemote
  var isDurable: Bool { true }

  init(_ served: ServedFolder, _ folder: FolderRemote) {
    self.served = served
    self.folder = folder
  }

  var contents: FolderRemote { folder }

  func received(_ header: SegmentHeader) { served.received(header) }
  func received(_ digits: String) {}

  func settle(_ runs: [HeldRun]) async throws {
    try await offPool { [folder] in try DurableFile.sync(folder.segments) }
  }
}

extension Standing {
  init(_ listing: FolderListing, _ name: (UInt64, ReplicaID) throws -> TransactionName?) throws {
    let frontier = listing.frontier
    let parts = try listing.allReplicas.map { replica in
      let last = frontier[replica]
      var beyond: [ClosedRange<UInt64>] = []
      for file in listing.runs[replica]?.files ?? [] where file.name.last > last {
        if let before = beyond.last, file.name.first <= before.upperBound + 1 {
          beyond[beyond.count - 1] = before.lowerBound...max(before.upperBound, file.name.last)
        } else {
          beyond.append(file.name.first...file.name.last)
        }
      }
      let run = HeldRun(replica: replica, last: last, name: try name(last, replica) ?? .none)
      return Part(run, beyond: Array(beyond.prefix(Standing.maxRuns)))
    }
    self.init(
      parts, segments: listing.files.count, bytes: listing.bytes)
  }

  /// More runs apart than these are not told; what follows them is sent again.
  private static let maxRuns = 100
}
