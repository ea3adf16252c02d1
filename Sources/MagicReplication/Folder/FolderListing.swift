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
  private(set) var runs: [ReplicaID: Runs] = [:]
  /// The others that are named as segments are, and why they do not count.
  private(set) var rejected: [(name: SegmentFileName, error: MagicDataError)] = []
  /// The checkpoints that count, in the order of their names (K-12).
  private(set) var checkpoints: [CheckpointFile] = []
  /// The others, with their floors as far as these could be read.
  private(set) var rejectedCheckpoints: [(url: URL, floor: Frontier?, error: MagicDataError)] = []
  /// Those of all these that counted until they were read (F-16).
  private(set) var doubtful: [String] = []

  /// The last sequences of ids that are closed: what is beyond does not count under the id (J-33).
  private(set) var limits: [ReplicaID: UInt64] = [:]
  /// Of those of them that are ends of the floor.
  private var limitNames: [ReplicaID: TransactionName] = [:]

  private let remote: FolderRemote
  private let dataSet: DataSetID
  /// What the remote holds that is not in files here.
  private let beyond: Frontier
  /// Whether a file was gone when it was read: another has taken its place, or will (F-20).
  private var hasVanished = false
  private var looks = 0
  /// Checkpoints that do not come to what they say, however whole their bytes are.
  private var falseCheckpoints: Set<URL> = []

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
        if let name = SegmentFileName(placeholder: text), !texts.contains(name.text) { rejected.append((name, notHere(name))) }
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
    runs = files.mapValues(Runs.init)
    try lookAtCheckpoints()
  }

  /// F-3
  private func notHere(_ name: SegmentFileName) -> MagicDataError {
    MagicDataError(
      .busy,
      """
      \(url(of: name).path) is not downloaded yet: the service that carries the folder has a placeholder in its place. Have it downloaded, and try again
      """)
  }

  private mutating func lookAtCheckpoints() throws {
    (checkpoints, rejectedCheckpoints) = ([], [])
    guard remote.isOwnFolder(remote.checkpoints) else { return }
    for name in try Set(remote.listing(of: remote.checkpoints)).sorted() where CheckpointFile.isName(name) {
      let url = remote.checkpoints.appendingPathComponent(name)
      do {
        let checkpoint = try CheckpointFile(url, dataSet)
        if falseCheckpoints.contains(url) { rejectFalse(checkpoint) } else { checkpoints.append(checkpoint) }
      } catch let error as MagicDataError {
        if error.code == .notFound { hasVanished = true } else { rejectedCheckpoints.append((url, nil, error)) }
      }
    }
  }

  /// K-15: for each replica the last sequence that a checkpoint stands for.
  var covered: Frontier {
    var covered = Frontier()
    for floor in checkpoints.map(\.floor.frontier) {
      for replica in floor.replicas { covered[replica] = max(covered[replica], floor[replica]) }
    }
    return covered
  }

  /// Of segments and checkpoints.
  var allReplicas: [ReplicaID] { Set(replicas + covered.replicas).sorted() }

  /// Lists the folder anew if a file was gone when it was read. `false` if none was, or it was done often enough.
  mutating func lookAgain() throws -> Bool {
    guard hasVanished, looks < FolderListing.maxLooks else { return false }
    looks += 1
    try look()
    return true
  }

  func url(of name: SegmentFileName) -> URL { remote.segments.appendingPathComponent(name.text) }

  static func header(of url: URL, _ name: SegmentFileName, _ dataSet: DataSetID) throws -> SegmentHeader {
    let (bytes, length) = try DurableFile.head(of: url, SegmentHeader.length)
    let header: SegmentHeader
    do {
      header = try SegmentHeader(bytes)
    } catch {
      throw MagicDataError(error, url.path)
    }
    guard header.dataSet == dataSet else { throw MagicDataError(.incompatible, "\(url.path) belongs to another data set") }
    guard (header.replica, header.first, header.last) == (name.replica, name.first, name.last) else {
      throw MagicDataError(.damaged, "\(url.path) holds another run than its name says")
    }
    guard length == SegmentHeader.length + header.storedLength else {
      throw MagicDataError(
        .damaged, "\(url.path) has \(length) bytes, where its header says \(SegmentHeader.length + header.storedLength)")
    }
    return header
  }

  var replicas: [ReplicaID] { runs.keys.sorted() }

  /// In the order of their replicas and first sequences.
  var files: [File] { replicas.flatMap { runs[$0]?.files ?? [] } }

  /// Of the files that count.
  var bytes: Int {
    files.reduce(0) { $0 + SegmentHeader.length + $1.header.storedLength } + checkpoints.reduce(0) { $0 + $1.bytes }
  }

  /// F-5: for each replica the last sequence up to which none is missing.
  var frontier: Frontier {
    var frontier = covered
    for replica in beyond.replicas { frontier[replica] = max(frontier[replica], beyond[replica]) }
    for replica in replicas {
      while let file = next(after: frontier[replica], of: replica) {
        frontier[replica] = min(file.name.last, limits[replica] ?? .max)
      }
    }
    return frontier
  }

  /// The same with names, and only as far as each file goes on from what is before it, as far as headers tell: what follows is another branch's (J-33).
  var rows: [ReplicaID: Row] {
    var rows: [ReplicaID: Row] = [:]
    for checkpoint in checkpoints {
      for replica in checkpoint.floor.replicas { checkpoint.floor[replica].map { rows[replica, default: Row()].raise(to: $0) } }
    }
    for replica in replicas { extend(&rows[replica, default: Row()], replica) }
    return rows
  }

  func extend(_ row: inout Row, _ replica: ReplicaID) {
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

  /// Whether a file may have, up to where its id was closed, something else than everybody: where that is a floor, what is below it cannot be compared.
  func isDoubtful(_ file: File) -> Bool {
    guard let limit = limits[file.name.replica], let name = limitNames[file.name.replica] else { return false }
    return file.header.last > limit || file.header.last == limit && file.header.lastName != name
  }

  /// Whether it has something beyond where its id was closed, or something else there.
  func isForeign(_ file: File) -> Bool {
    guard let limit = limits[file.name.replica] else { return false }
    return file.header.last > limit || isDoubtful(file)
  }

  /// F-9: of the files that hold the transaction after `sequence`, the one that reaches farthest.
  func next(after sequence: UInt64, of replica: ReplicaID) -> File? {
    guard sequence < limits[replica] ?? .max else { return nil }
    return runs[replica]?.next(after: sequence)
  }

  /// A file that turned out to be damaged where its header does not show it, or is no longer there.
  mutating func reject(_ file: File, _ error: MagicDataError) {
    runs[file.name.replica] = runs[file.name.replica].map { Runs($0.files.filter { $0.name != file.name }) }
    if error.code == .notFound { hasVanished = true } else { rejected.append((file.name, error)) }
    if error.code == .damaged { doubtful.append(file.name.text) }
  }

  mutating func reject(_ checkpoint: CheckpointFile, _ error: MagicDataError) {
    checkpoints.removeAll { $0.url == checkpoint.url }
    if error.code == .notFound {
      hasVanished = true
    } else {
      rejectedCheckpoints.append((checkpoint.url, checkpoint.floor.frontier, error))
    }
    if error.code == .damaged { doubtful.append(checkpoint.url.lastPathComponent) }
  }

  /// One whose bytes are whole and that a merge has shown to be false: it is passed over like a damaged one (K-14).
  mutating func rejectFalse(_ checkpoint: CheckpointFile) {
    falseCheckpoints.insert(checkpoint.url)
    let message = "\(checkpoint.url.path) does not come to what it says: its writer was damaged. Delete it"
    reject(checkpoint, MagicDataError(.damaged, message))
  }

  /// Checkpoints were deleted.
  mutating func forget(_ urls: Set<URL>) {
    checkpoints.removeAll { urls.contains($0.url) }
    rejectedCheckpoints.removeAll { urls.contains($0.url) }
  }

  /// A checkpoint was written.
  mutating func add(_ checkpoint: CheckpointFile) {
    rejectedCheckpoints.removeAll { $0.url == checkpoint.url }
    checkpoints.removeAll { $0.url == checkpoint.url }
    checkpoints.append(checkpoint)
  }

  /// The same for a file that may be listed.
  mutating func reject(named name: SegmentFileName, _ error: MagicDataError) {
    if let file = runs[name.replica]?.files.first(where: { $0.name == name }) { reject(file, error) }
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
    guard covered[replica] <= sequence, sequence < limits[replica] ?? .max, let runs = runs[replica],
      runs.next(after: sequence) == nil,
      let file = runs.files.first(where: { $0.name.first > sequence + 1 })
    else { return nil }
    return sequence + 1...file.name.first - 1
  }

  /// S-2: what is of another format or data set is never written over.
  func checkMayWrite(_ name: SegmentFileName) throws {
    if let other = rejected.first(where: { $0.name == name }), other.error.code == .incompatible { throw other.error }
  }

  /// The same of any checkpoint: what one of another format stands for is not known.
  func checkMayWriteCheckpoint() throws {
    if let other = rejectedCheckpoints.first(where: { $0.error.code == .incompatible }) { throw other.error }
  }

  /// A file was written, maybe in the place of a damaged one.
  mutating func add(_ name: SegmentFileName, _ bytes: [UInt8]) throws {
    add(name, try SegmentHeader(bytes))
  }

  mutating func add(_ name: SegmentFileName, _ header: SegmentHeader) {
    rejected.removeAll { $0.name == name }
    runs[name.replica, default: Runs([])].add(File(name: name, header: header, url: url(of: name)))
  }

  /// Deletes a file of which the listing still knows.
  func delete(_ name: SegmentFileName) throws {
    guard unlink(url(of: name).path) == 0 || errno == ENOENT else {
      throw DurableFile.failure("could not be deleted", url(of: name))
    }
  }

  /// Files were deleted.
  mutating func forget(_ names: Set<SegmentFileName>) {
    rejected.removeAll { names.contains($0.name) }
    for replica in Set(names.map(\.replica)) {
      runs[replica] = runs[replica].map { Runs($0.files.filter { !names.contains($0.name) }) }
    }
  }

  /// After files were deleted.
  func syncFolder() throws { try DurableFile.sync(remote.segments) }

  /// The same for who takes its transactions one by one.
  static func reader(_ file: File) throws -> SegmentReader {
    let bytes = try DurableFile.read(file.url, atMost: SegmentHeader.length + Limits.segmentBytes)
    do {
      let reader = try SegmentReader(bytes)
      guard reader.header == file.header, Segment.name(of: try reader.names()) == file.name.name else {
        throw JournalError(.damaged, "it holds other transactions than its name says")
      }
      return reader
    } catch let error as JournalError {
      throw MagicDataError(error, file.url.path)
    }
  }

  /// Reads and checks a whole file.
  static func segment(_ file: File) throws -> Segment { try segment(file, reader(file)) }

  /// All that its reader gives.
  static func segment(_ file: File, _ reader: SegmentReader) throws -> Segment {
    do {
      return try Segment(reader)
    } catch {
      throw MagicDataError(error, file.url.path)
    }
  }
}

/// One replica's files, with what it takes to find the next one without looking at all.
struct Runs: Sendable {
  /// Rising by first sequence.
  private(set) var files: [FolderListing.File] = []
  /// For each file the one among it and those before it that reaches farthest.
  private var farthest: [Int] = []

  init(_ files: [FolderListing.File]) {
    for file in files.sorted(by: { ($0.name.first, $0.name.last) < ($1.name.first, $1.name.last) }) { append(file) }
  }

  /// In the place of one of the same name. Mostly it is the next one.
  mutating func add(_ file: FolderListing.File) {
    if files.last.map({ $0.name.first < file.name.first }) ?? true { return append(file) }
    self = Runs(files.filter { $0.name != file.name } + [file])
  }

  private mutating func append(_ file: FolderListing.File) {
    let before = farthest.last ?? files.count
    files.append(file)
    farthest.append(files[before].name.last >= file.name.last ? before : files.count - 1)
  }

  /// As few files as hold all that these hold, in their order.
  var chain: [FolderListing.File] {
    var chain: [FolderListing.File] = []
    var last: UInt64 = 0
    while let file = next(after: last)
      ?? files.first(where: { $0.name.first > last + 1 }).flatMap({ next(after: $0.name.first - 1) })
    {
      chain.append(file)
      last = file.name.last
    }
    return chain
  }

  func next(after sequence: UInt64) -> FolderListing.File? {
    let end = files.boundary { $0.name.first > sequence + 1 }
    guard end > 0 else { return nil }
    let file = files[farthest[end - 1]]
    return file.name.last > sequence ? file : nil
  }

  /// Those that begin at a sequence.
  func files(from first: UInt64) -> ArraySlice<FolderListing.File> {
    files[files.boundary { $0.name.first >= first }..<files.boundary { $0.name.first > first }]
  }
}

/// Files of a replica of which each goes on from the one before, by its name where its header has that.
struct Row: Sendable {
  /// Of the last one, or what a checkpoint stands for.
  private(set) var end: NamedFrontier.End?
  /// Rising by their last sequences.
  private var files: [FolderListing.File] = []

  init() {}

  var last: UInt64 { end?.sequence ?? 0 }

  mutating func raise(to other: NamedFrontier.End) {
    if other.sequence >= last { end = other }
  }

  mutating func append(_ file: FolderListing.File) {
    files.append(file)
    end = NamedFrontier.End(sequence: file.name.last, name: file.header.lastName)
  }

  /// The one that holds what comes after a sequence.
  func next(after sequence: UInt64) -> FolderListing.File? {
    let index = files.boundary { $0.name.last > sequence }
    return index < files.count && files[index].name.first <= sequence + 1 ? files[index] : nil
  }
}

extension Array {
  /// Of the first one for which it holds, where it holds for all after that; else the end.
  func boundary(_ isBeyond: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBeyond(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
