internal import Foundation
internal import MagicData
internal import MagicJournal

/// What a folder holds, as its files' names and headers tell.
struct FolderListing: Sendable {
  struct File: Sendable {
    let name: SegmentFileName
    let header: SegmentHeader
    let url: URL
  }

  /// The files that count (F-5).
  var runs: [ReplicaID: ReplicaSegments] = [:]
  /// The others that are named as segments are, and why they do not count.
  var rejected: [(name: SegmentFileName, error: MagicDataError)] = []
  /// The checkpoints that count, in the order of their names (K-12).
  var checkpoints: [CheckpointFile] = [] {
    didSet {
      covered = Frontier()
      for checkpoint in checkpoints { covered.raise(to: checkpoint.frontier) }
    }
  }
  /// K-15: for each replica the last sequence that a checkpoint stands for.
  private(set) var covered = Frontier()
  /// The others, with their floors as far as these could be read.
  var rejectedCheckpoints: [(url: URL, floor: Frontier?, error: MagicDataError)] = []
  /// Those of all these that counted until they were read (F-16).
  var doubtful: [String] = []

  /// The last sequences of ids that are closed: what is beyond does not count under the id (J-33).
  private(set) var limits: [ReplicaID: UInt64] = [:]
  /// The names of those of them that are ends of the floor.
  private var limitNames: [ReplicaID: TransactionName] = [:]
  /// Why it is not known which ids are closed.
  var unheard: MagicDataError?
  /// The last sequence of each replica that somebody says to have put there, if they were read.
  var put = Frontier()

  let remote: FolderRemote
  private let dataSet: DataSetID
  /// What the remote holds that is not in files here.
  private let beyond: Frontier
  /// Whether a file was gone when it was read: another has taken its place, or will (F-20).
  var hasVanished = false
  var looks = 0
  /// Checkpoints that do not come to what they say, however whole their bytes are.
  var falseCheckpoints: Set<URL> = []

  /// Files that end with what a reader without a database lacks of closed ids, if that was looked for.
  var unadopted: [File] = []

  /// How often the folder is listed again before a file that is gone is a gap like any other.
  private static let maxLooks = 8

  /// - Parameter known: an earlier look at the same folder; what counted then is not opened again, since it never changes.
  init(
    _ remote: FolderRemote, dataSet: DataSetID, beyond: Frontier = Frontier(), known: FolderListing? = nil
  ) throws {
    (self.remote, self.dataSet, self.beyond) = (remote, dataSet, beyond)
    runs = known?.runs ?? [:]
    try look()
    while try lookAgain() {}
  }

  private mutating func look() throws {
    hasVanished = false
    rejected = []
    let counted = Dictionary(self.files.map { ($0.name.text, $0) }) { first, _ in first }
    var files: [ReplicaID: [File]] = [:]
    // A share may name a file twice.
    let texts = try Set(remote.listing(of: remote.segments)).sorted()
    for text in texts {
      if let file = counted[text] {
        files[file.name.replica, default: []].append(file)
        continue
      }
      guard let name = SegmentFileName(text) else {
        if let file = Placeholder.file(of: text), !texts.contains(file), let name = SegmentFileName(file) {
          rejected.append((name, notHere(url(of: name))))
        }
        continue
      }
      let url = url(of: name)
      do {
        files[name.replica, default: []].append(
          File(name: name, header: try FolderListing.header(of: url, name, dataSet), url: url))
      } catch let error as MagicDataError {
        if error.code == .notFound { hasVanished = true } else { rejected.append((name, error)) }
      }
    }
    runs = files.mapValues(ReplicaSegments.init)
    try lookAtCheckpoints()
  }

  /// F-3
  private func notHere(_ file: URL) -> MagicDataError {
    MagicDataError(
      .busy,
      """
      \(file.path) is not downloaded yet: the service that carries the folder has a placeholder in its place. Have it downloaded, and try again
      """)
  }

  private mutating func lookAtCheckpoints() throws {
    (checkpoints, rejectedCheckpoints) = ([], [])
    if let obstacle = remote.obstacle(remote.checkpoints) { rejectedCheckpoints.append((remote.checkpoints, nil, obstacle)) }
    guard remote.isOwnFolder(remote.checkpoints) else { return }
    let texts = try Set(remote.listing(of: remote.checkpoints))
    var found: [CheckpointFile] = []
    for text in texts.sorted() {
      guard CheckpointFile.isName(text) else {
        if let file = Placeholder.file(of: text), !texts.contains(file), CheckpointFile.isName(file) {
          let url = remote.checkpoints.appendingPathComponent(file)
          rejectedCheckpoints.append((url, nil, notHere(url)))
        }
        continue
      }
      let url = remote.checkpoints.appendingPathComponent(text)
      do {
        let checkpoint = try CheckpointFile(url, dataSet)
        if falseCheckpoints.contains(url) { rejectFalse(checkpoint) } else { found.append(checkpoint) }
      } catch let error as MagicDataError {
        if error.code == .notFound {
          hasVanished = true
        } else {
          // Of one that is cut, or damaged behind its header, that tells what is lacking. Why it cannot be read is said by now.
          let header = try? CheckpointFile.header(of: url)
          rejectedCheckpoints.append((url, header?.dataSet == dataSet ? header?.floor.frontier : nil, error))
        }
      }
    }
    checkpoints = found
  }

  /// The replicas of segments and checkpoints.
  var allReplicas: [ReplicaID] { Set(replicas + covered.replicas).sorted() }

  /// Lists the folder anew if a file was gone when it was read. `false` if none was, or it was done often enough.
  mutating func lookAgain() throws -> Bool {
    guard hasVanished, looks < FolderListing.maxLooks else { return false }
    looks += 1
    try look()
    return true
  }

  func url(of name: SegmentFileName) -> URL { remote.segments.appendingPathComponent(name.text) }

  var replicas: [ReplicaID] { runs.keys.sorted() }

  /// In the order of their replicas and first sequences.
  var files: [File] { replicas.flatMap { runs[$0]?.files ?? [] } }

  /// The size of the files that count.
  var bytes: Int {
    files.reduce(0) { $0 + SegmentHeader.length + $1.header.storedLength } + checkpoints.reduce(0) { $0 + $1.bytes }
  }

  /// F-5: for each replica the last sequence up to which none is missing.
  var frontier: Frontier {
    var frontier = covered
    frontier.raise(to: beyond)
    for replica in replicas {
      while let file = next(after: frontier[replica], of: replica) {
        frontier[replica] = min(file.name.last, limits[replica] ?? .max)
      }
    }
    return frontier
  }

  /// Up to where each replica's files go on, with names, and only as far as each goes on from what is before it, as far as
  /// headers tell: what follows is another branch's (J-33).
  var rows: [ReplicaID: SegmentChain] {
    var rows: [ReplicaID: SegmentChain] = [:]
    for checkpoint in checkpoints {
      for replica in checkpoint.floor.replicas {
        checkpoint.floor[replica].map { rows[replica, default: SegmentChain()].raise(to: $0) }
      }
    }
    for replica in replicas { extend(&rows[replica, default: SegmentChain()], replica) }
    return rows
  }

  func extend(_ row: inout SegmentChain, _ replica: ReplicaID) {
    while var file = next(after: row.last, of: replica) {
      if let end = row.end, file.name.first == end.sequence + 1, file.header.previous != end.name {
        guard let other = runs[replica]?.files(from: end.sequence + 1).first(where: { $0.header.previous == end.name }) else {
          return
        }
        file = other
      }
      row.append(file)
    }
  }

  /// The files of a replica that hold what a floor stands for, as names tell: others may be of another branch.
  func files(below end: NamedFrontier.End, of replica: ReplicaID) -> Set<SegmentFileName> {
    var (known, row, read) = ([end.sequence: end.name], [File](), [SegmentFileName: Segment?]())
    func name(at sequence: UInt64, in file: File) -> TransactionName? {
      // What cannot be read shows nothing, and stays.
      let segment = read[file.name] ?? (try? FolderListing.segment(file))
      read[file.name] = segment
      return segment?.transactions.first { $0.sequence == sequence }?.name
    }
    for file in (runs[replica]?.files ?? []).sorted(by: { $0.name.last > $1.name.last }) {
      let isOfRow: Bool
      if file.name.last > end.sequence {
        isOfRow = file.name.first <= end.sequence && name(at: end.sequence, in: file) == end.name
      } else if let name = known[file.name.last] {
        isOfRow = name == file.header.lastName
      } else if let other = row.first(where: { $0.name.first <= file.name.last && file.name.last < $0.name.last }) {
        isOfRow = name(at: file.name.last, in: other) == file.header.lastName
      } else {
        isOfRow = false
      }
      guard isOfRow else { continue }
      row.append(file)
      known[file.name.first - 1] = file.header.previous
    }
    return Set(row.map(\.name).filter { $0.last <= end.sequence })
  }

  /// - Parameter floor: of who reads; a closing counts from there.
  mutating func limit(to closings: [ReplicaID: UInt64], floor: NamedFrontier = NamedFrontier()) {
    (limits, limitNames) = (closings, [:])
    for (replica, last) in closings {
      guard let end = floor[replica], end.sequence >= last else { continue }
      (limits[replica], limitNames[replica]) = (end.sequence, end.name)
    }
  }

  /// Whether a file may have, up to where its id was closed, something else than everybody: where that is a floor, what is
  /// below it cannot be compared.
  func isDoubtful(_ file: File) -> Bool {
    guard let limit = limits[file.name.replica], let name = limitNames[file.name.replica] else { return false }
    return file.header.last > limit || file.header.last == limit && file.header.lastName != name
  }

  /// Whether it has something beyond where its id was closed, or something else there.
  func isForeign(_ file: File) -> Bool {
    guard let limit = limits[file.name.replica] else { return false }
    return file.header.last > limit || isDoubtful(file)
  }

  /// The last sequence of a replica that some file has, but for what is beyond where its id was closed.
  func last(of replica: ReplicaID) -> UInt64? {
    runs[replica]?.files.map(\.name.last).max().map { min($0, limits[replica] ?? .max) }
  }

  /// F-9: of the files that hold the transaction after `sequence`, the one that reaches farthest.
  func next(after sequence: UInt64, of replica: ReplicaID) -> File? {
    guard sequence < limits[replica] ?? .max else { return nil }
    return runs[replica]?.next(after: sequence)
  }

  /// F-6: the runs, up to a sequence, that no file that counts has.
  func holes(of replica: ReplicaID, through last: UInt64) -> [ClosedRange<UInt64>] {
    var holes: [ClosedRange<UInt64>] = []
    var next = covered[replica] + 1
    for file in runs[replica]?.files ?? [] where next <= last && !isDoubtful(file) {
      if file.name.first > next { holes.append(next...min(file.name.first - 1, last)) }
      next = max(next, file.name.last + 1)
    }
    if next <= last { holes.append(next...last) }
    return holes
  }

  /// H-28: the sequences that are missing before others that are there; `nil` if none are, or if there is something to take.
  func hole(after sequence: UInt64, of replica: ReplicaID) -> ClosedRange<UInt64>? {
    covered[replica] <= sequence ? holeInFiles(after: sequence, of: replica) : nil
  }

  /// The hole for who reads files alone, and no checkpoint of which that could be had.
  func holeInFiles(after sequence: UInt64, of replica: ReplicaID) -> ClosedRange<UInt64>? {
    let limit = limits[replica] ?? .max
    guard sequence < limit, next(after: sequence, of: replica) == nil else { return nil }
    let next = runs[replica]?.files.first { $0.name.first > sequence + 1 }?.name.first
    guard let last = next.map({ $0 - 1 }) ?? (covered[replica] > sequence ? covered[replica] : nil) else { return nil }
    return sequence + 1...min(last, limit)
  }
}
