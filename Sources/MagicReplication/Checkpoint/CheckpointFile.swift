internal import Foundation
internal import MagicData
internal import MagicJournal

/// A checkpoint in a folder whose header and end are right (K-12).
struct CheckpointFile: Sendable {
  let header: CheckpointHeader
  let end: CheckpointEnd
  let url: URL
  let bytes: Int
  /// What the header says, worked out once for who compares many.
  let name: String
  let frontier: Frontier
  let replicas: [ReplicaID]

  private static let suffix = ".checkpoint"

  static func name(of header: CheckpointHeader) -> String { header.name + suffix }

  /// Whether a name is one of ours.
  static func isName(_ name: String) -> Bool {
    name.hasSuffix(suffix) && Identifier(name.dropLast(suffix.count)) != nil && name == name.lowercased()
  }

  var floor: NamedFrontier { header.floor }

  /// Looks at header and end.
  ///
  /// - Parameter name: that it has, or is to have; `nil` for its own.
  init(_ url: URL, _ dataSet: DataSetID, named name: String? = nil) throws {
    let header = try CheckpointFile.header(of: url)
    let bytes = try DurableFile.head(of: url, 0).length
    let end: CheckpointEnd
    do throws(JournalError) {
      let length = header.bytes.count
      guard bytes >= length + CheckpointEnd.length else { throw JournalError(.damaged, "it is cut short", offset: bytes) }
      end = try CheckpointEnd(try CheckpointFile.read(url, at: bytes - CheckpointEnd.length, CheckpointEnd.length))
    } catch {
      throw MagicDataError(error, url.path)
    }
    guard header.dataSet == dataSet else { throw MagicDataError.otherDataSet(url) }
    guard name ?? url.lastPathComponent == CheckpointFile.name(of: header) else {
      throw MagicDataError(.damaged, "\(url.path) holds another floor than its name says")
    }
    self.init(header, end, url, bytes: bytes)
  }

  private init(_ header: CheckpointHeader, _ end: CheckpointEnd, _ url: URL, bytes: Int) {
    (self.header, self.end, self.url, self.bytes) = (header, end, url, bytes)
    (name, frontier, replicas) = (header.name, header.floor.frontier, header.floor.replicas)
  }

  static func header(of url: URL) throws -> CheckpointHeader {
    let fixed = try DurableFile.head(of: url, CheckpointHeader.fixedLength)
    do throws(JournalError) {
      return try CheckpointHeader(try read(url, at: 0, CheckpointHeader.length(fixed.bytes)))
    } catch {
      if error.code == .unsupported, isFlipped(url, fixed.bytes) {
        throw MagicDataError(
          JournalError(.damaged, "the header's checksum does not match: its format was changed", offset: 8), url.path)
      }
      throw MagicDataError(error, url.path)
    }
  }

  /// Whether a header is one of the format that is known, of which nothing but the format was changed (S-2).
  private static func isFlipped(_ url: URL, _ fixed: [UInt8]) -> Bool {
    do throws(JournalError) {
      let length = try CheckpointHeader.length(CheckpointHeader.asKnown(fixed))
      _ = try CheckpointHeader(CheckpointHeader.asKnown(try read(url, at: 0, length)))
      return true
    } catch {
      return false
    }
  }

  private static func read(_ url: URL, at offset: Int, _ count: Int) throws(JournalError) -> [UInt8] {
    do {
      return try DurableFile.part(of: url, at: offset, count)
    } catch {
      throw JournalError(.damaged, "it could not be read: \(error)")
    }
  }

  /// How long it would be with parts as they are before compression.
  func inflatedBytes() throws -> Int {
    let end = bytes - CheckpointEnd.length
    var (offset, inflated) = (header.bytes.count, bytes)
    do {
      while offset < end {
        let head = try CheckpointPartHeader(try DurableFile.part(of: url, at: offset, CheckpointPartHeader.length))
        inflated += head.bodyLength - head.storedLength
        offset += CheckpointPartHeader.length + head.storedLength
      }
    } catch let error as JournalError {
      throw MagicDataError(error, "\(url.path), the part at byte \(offset)")
    }
    return inflated
  }

  /// Reads and checks all of it, a part at a time.
  func read(_ body: (CheckpointPart) throws -> Void = { _ in }) throws {
    var reader = CheckpointReader(self)
    while let part = try reader.next() {
      try Task.checkCancellation()
      try body(part)
    }
  }

  /// Writes what a database keeps, if it has a floor.
  ///
  /// - Throws: `MagicDataError` with `tooLarge`, before anything is written, if no reader would take that floor (K-11).
  static func write(_ journal: JournalReader, _ state: DatabaseState, _ dataSet: DataSetID, into remote: FolderRemote) throws
    -> CheckpointFile
  {
    let floor = try journal.floor()
    guard floor.count <= Limits.floorReplicas else {
      throw MagicDataError(
        .tooLarge,
        """
        history was given up here of \(floor.count) replicas, and a checkpoint takes \(Limits.floorReplicas): none was written. Who lacks what they wrote gets it \
        from a remote that has it, or from a backup of this database
        """)
    }
    let (digest, folded) = try journal.digestOfKept()
    let header = CheckpointHeader(dataSet: dataSet, writer: state.replica, digest: digest.identifier, floor: floor)
    try remote.makeOwn(remote.checkpoints)
    let url = remote.checkpoints.appendingPathComponent(name(of: header))
    do throws(JournalError) {
      // As who reads it does: what has its name is whole (F-23).
      _ = try CheckpointHeader(header.bytes)
    } catch {
      throw MagicDataError(error, url.path)
    }
    var (bytes, end) = (0, CheckpointEnd(entries: 0, parts: 0))
    try DurableFile.write(to: url) { write in
      func append(_ part: [UInt8]) throws {
        try write(Data(part))
        bytes += part.count
      }
      try append(header.bytes)
      var writer = CheckpointPartWriter(journal.schema.schema)
      var parts = 0
      try journal.forEachKept { transaction in
        try Task.checkCancellation()
        if writer.isFull {
          try append(writer.finish())
          parts += 1
        }
        writer.add(transaction)
      }
      if !writer.isEmpty {
        try append(writer.finish())
        parts += 1
      }
      guard writer.entries == folded else {
        throw MagicDataError(
          .notADatabase,
          """
          the database is damaged: of \(writer.entries) entries that were kept of its history objects lead to \(folded). Nothing was written. Run magic-replay \
          verify, which says what to do
          """)
      }
      end = CheckpointEnd(entries: writer.entries, parts: parts)
      try append(end.bytes)
    }
    return CheckpointFile(header, end, url, bytes: bytes)
  }
}

/// Takes the parts of a checkpoint one by one. What its end says is checked when that is reached.
struct CheckpointReader: Sendable {
  private let file: CheckpointFile
  private var offset: Int
  private var (entries, parts) = (0, 0)
  private var last: Transaction?
  /// From the first part on: one that a compaction deletes meanwhile is read to its end.
  private var open: OpenFile?
  private let staysOpen: Bool

  /// - Parameter staysOpen: not for who reads so many at once that a process would have no descriptors left.
  init(_ file: CheckpointFile, staysOpen: Bool = true) {
    (self.file, self.staysOpen) = (file, staysOpen)
    offset = file.header.bytes.count
  }

  private mutating func bytes(at offset: Int, _ count: Int) throws -> [UInt8] {
    let opened = try open ?? OpenFile(file.url)
    if staysOpen { open = opened }
    return try opened.bytes(at: offset, count)
  }

  /// `nil` after the last one.
  mutating func next() throws -> CheckpointPart? {
    let (url, end) = (file.url, file.bytes - CheckpointEnd.length)
    guard offset < end else {
      guard entries == file.end.entries, parts == file.end.parts else {
        throw MagicDataError(.damaged, "\(url.path) is damaged: it holds other than its end says")
      }
      return nil
    }
    let part: CheckpointPart
    do {
      let left = end - offset
      guard left >= CheckpointPartHeader.length else { throw JournalError(.damaged, "a part is cut short") }
      let head = try CheckpointPartHeader(try bytes(at: offset, CheckpointPartHeader.length))
      guard left >= CheckpointPartHeader.length + head.storedLength else { throw JournalError(.damaged, "a part is cut short") }
      part = try CheckpointPart(head, try bytes(at: offset + CheckpointPartHeader.length, head.storedLength))
      if let last, let first = part.transactions.first, !CheckpointPart.rises(last, first) {
        throw JournalError(.damaged, "a checkpoint's transactions do not rise")
      }
      offset += CheckpointPartHeader.length + head.storedLength
    } catch let error as JournalError {
      throw MagicDataError(error, "\(url.path), the part at byte \(offset)")
    }
    last = part.transactions.last ?? last
    parts += 1
    entries += part.transactions.reduce(0) { $0 + $1.entries.count }
    // Who folds it goes by what its end says.
    guard entries <= file.end.entries, parts <= file.end.parts else {
      throw MagicDataError(.damaged, "\(url.path) is damaged: it holds more than its end says")
    }
    return part
  }
}

extension FolderListing {
  /// Reads a whole checkpoint; one that turns out to be damaged counts no more.
  /// - Parameter latest: milliseconds up to which stamps are taken (C-5). Nothing that is kept is later than all that the floor
  ///   ends with, so that beyond both is what would keep everybody from writing.
  mutating func isWhole(_ checkpoint: CheckpointFile, latest: Int64 = .max) throws -> Bool {
    let latest = max(latest, checkpoint.header.highest.milliseconds)
    do {
      try checkpoint.read { part in
        guard part.transactions.allSatisfy({ $0.name.stamp.milliseconds <= latest }) else {
          throw MagicDataError(
            .damaged,
            "\(checkpoint.url.path) keeps what is later than all that it stands for; its writer was damaged. Delete it")
        }
      }
      return true
    } catch let error as MagicDataError {
      reject(checkpoint, error)
      return false
    }
  }

  /// K-16: the one to take by who holds this.
  func needed(by held: Frontier, besides waiting: Set<URL> = []) -> CheckpointFile? {
    checkpoints.first { checkpoint in
      if waiting.contains(checkpoint.url) { return false }
      let floor = checkpoint.frontier
      let lacking = checkpoint.replicas.filter { held[$0] < floor[$0] }
      guard !lacking.isEmpty,
        !checkpoints.contains(where: { !waiting.contains($0.url) && $0.covers(checkpoint) })
      else { return false }
      guard lacking.allSatisfy({ reach(from: held[$0], of: $0) >= floor[$0] }) else { return true }
      return checkpoint.replicas.allSatisfy { held[$0] == 0 } && checkpoint.bytes < bytes(of: floor)
    }
  }

  /// K-20: one that stands for another branch than the own floor, at the same sequence, and that nothing is held of.
  func rival(to floor: NamedFrontier, _ held: Frontier, besides waiting: Set<URL> = []) -> CheckpointFile? {
    checkpoints.first { !waiting.contains($0.url) && $0.floor.beside(floor).replicas.contains { held[$0] == 0 } }
  }

  /// Those that no other is above: of the rest what is at their ends does not matter (K-20).
  var highest: [CheckpointFile] {
    checkpoints.filter { checkpoint in !checkpoints.contains { $0.covers(checkpoint) } }
  }

  /// For who reads the folder's history: those that stand for what no segments are there for, none below another.
  var needed: [CheckpointFile] {
    highest.filter { checkpoint in
      checkpoint.replicas.contains { reach(from: 0, of: $0) < checkpoint.frontier[$0] }
    }
  }

  /// How far the segments lead.
  private func reach(from sequence: UInt64, of replica: ReplicaID) -> UInt64 {
    var last = sequence
    while let file = next(after: last, of: replica) { last = file.name.last }
    return last
  }

  /// How many bytes the segments have that a floor stands for.
  private func bytes(of floor: Frontier) -> Int {
    floor.replicas.flatMap { replica in (runs[replica]?.chain ?? []).filter { $0.name.last <= floor[replica] } }
      .reduce(0) { $0 + SegmentHeader.length + $1.header.storedLength }
  }
}

extension CheckpointFile {
  /// Whether its floor is nowhere below another's.
  private func isAbove(_ other: CheckpointFile) -> Bool {
    replicas.count >= other.replicas.count && other.replicas.allSatisfy { frontier[$0] >= other.frontier[$0] }
  }

  /// Whether the other is not looked at for its sake. Of two with the same sequences, which are of two branches, one is looked
  /// at.
  func covers(_ other: CheckpointFile) -> Bool {
    isAbove(other) && name != other.name && (!other.isAbove(self) || name < other.name)
  }

  /// Whether its floor is nowhere below another one, by the names as well, where they can be compared.
  func isAbove(_ other: NamedFrontier) -> Bool {
    other.replicas.allSatisfy { replica in
      guard let end = floor[replica], let others = other[replica] else { return false }
      return end == others || end.sequence > others.sequence
    }
  }
}
