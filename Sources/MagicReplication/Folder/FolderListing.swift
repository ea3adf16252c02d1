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
  /// Those of them that counted until they were read (F-16).
  private(set) var doubtful: [SegmentFileName] = []

  private let segments: URL
  /// What the remote holds that is not in files here.
  private let beyond: Frontier

  /// - Parameter known: an earlier look at the same folder; what counted then is not opened again, since it never changes.
  init(
    _ remote: FolderRemote, dataSet: DataSetID, beyond: Frontier = Frontier(), known: FolderListing? = nil
  ) throws {
    segments = remote.segments
    self.beyond = beyond
    let counted = Dictionary(uniqueKeysWithValues: known?.files.map { ($0.name, $0) } ?? [])
    var files: [ReplicaID: [File]] = [:]
    for text in try remote.listing(of: remote.segments).sorted() {
      guard let name = SegmentFileName(text) else { continue }
      if let file = counted[name] {
        files[name.replica, default: []].append(file)
        continue
      }
      let url = url(of: name)
      do {
        files[name.replica, default: []].append(
          File(name: name, header: try FolderListing.header(of: url, name, dataSet), url: url))
      } catch let error as MagicDataError {
        // Taken away since it was listed: as if it had never been there.
        if error.code != .notFound { rejected.append((name, error)) }
      }
    }
    runs = files.mapValues(Runs.init)
  }

  func url(of name: SegmentFileName) -> URL { segments.appendingPathComponent(name.text) }

  private static func header(of url: URL, _ name: SegmentFileName, _ dataSet: DataSetID) throws -> SegmentHeader {
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

  /// F-5: for each replica the last sequence up to which none is missing.
  var frontier: Frontier {
    var frontier = beyond
    for replica in replicas {
      while let file = next(after: frontier[replica], of: replica) { frontier[replica] = file.name.last }
    }
    return frontier
  }

  /// F-9: of the files that hold the transaction after `sequence`, the one that reaches farthest.
  func next(after sequence: UInt64, of replica: ReplicaID) -> File? {
    runs[replica]?.next(after: sequence)
  }

  /// A file that turned out to be damaged where its header does not show it, or is no longer there.
  mutating func reject(_ file: File, _ error: MagicDataError) {
    runs[file.name.replica] = runs[file.name.replica].map { Runs($0.files.filter { $0.name != file.name }) }
    if error.code != .notFound { rejected.append((file.name, error)) }
    if error.code == .damaged { doubtful.append(file.name) }
  }

  /// The same for a file that may be listed.
  mutating func reject(named name: SegmentFileName, _ error: MagicDataError) {
    if let file = runs[name.replica]?.files.first(where: { $0.name == name }) { reject(file, error) }
  }

  /// F-6: the runs, up to a sequence, that no file that counts has.
  func holes(of replica: ReplicaID, through last: UInt64) -> [ClosedRange<UInt64>] {
    var holes: [ClosedRange<UInt64>] = []
    var next: UInt64 = 1
    for file in runs[replica]?.files ?? [] where next <= last {
      if file.name.first > next { holes.append(next...min(file.name.first - 1, last)) }
      next = max(next, file.name.last + 1)
    }
    if next <= last { holes.append(next...last) }
    return holes
  }

  /// H-28: the sequences that are missing before others that are there; `nil` if none are, or if there is something to take.
  func hole(after sequence: UInt64, of replica: ReplicaID) -> ClosedRange<UInt64>? {
    guard let runs = runs[replica], runs.next(after: sequence) == nil,
      let file = runs.files.first(where: { $0.name.first > sequence + 1 })
    else { return nil }
    return sequence + 1...file.name.first - 1
  }

  /// A damaged file was replaced by a whole one.
  mutating func replace(_ name: SegmentFileName, by bytes: [UInt8]) throws {
    let file = File(name: name, header: try SegmentHeader(bytes), url: url(of: name))
    rejected.removeAll { $0.name == name }
    runs[name.replica] = Runs((runs[name.replica]?.files ?? []) + [file])
  }

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
  static func segment(_ file: File) throws -> Segment {
    let bytes = try DurableFile.read(file.url, atMost: SegmentHeader.length + Limits.segmentBytes)
    do {
      let segment = try Segment(bytes)
      guard segment.header == file.header, segment.name == file.name.name else {
        throw JournalError(.damaged, "it holds other transactions than its name says")
      }
      return segment
    } catch let error as JournalError {
      throw MagicDataError(error, file.url.path)
    }
  }
}

/// One replica's files, with what it takes to find the next one without looking at all.
struct Runs: Sendable {
  /// Rising by first sequence.
  let files: [FolderListing.File]
  /// For each file the one among it and those before it that reaches farthest.
  private let farthest: [Int]

  init(_ files: [FolderListing.File]) {
    self.files = files.sorted { ($0.name.first, $0.name.last) < ($1.name.first, $1.name.last) }
    var farthest: [Int] = []
    for (index, file) in self.files.enumerated() {
      let before = farthest.last ?? index
      farthest.append(self.files[before].name.last >= file.name.last ? before : index)
    }
    self.farthest = farthest
  }

  func next(after sequence: UInt64) -> FolderListing.File? {
    var (low, high) = (0, files.count)
    while low < high {
      let middle = (low + high) / 2
      if files[middle].name.first <= sequence + 1 { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let file = files[farthest[low - 1]]
    return file.name.last > sequence ? file : nil
  }
}
