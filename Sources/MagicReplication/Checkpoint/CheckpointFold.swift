internal import Foundation
internal import MagicData
internal import MagicJournal

/// What the kept entries of a checkpoint fold to, for who has no database to merge them into. Of many objects, or large ones,
/// memory holds some at a time: their entries are set aside first, by their objects, and folded slice by slice. Of an automatic
/// number the claim stays in memory (`TypeDigest`).
struct CheckpointFold {
  /// A checkpoint cannot be read to its end.
  struct Unreadable: Error {
    let error: MagicDataError
  }

  /// How many entries are folded at once: each of its own object, they take some 16 MB.
  private static let atOnce = 1 << 14
  /// Whatever a checkpoint says of its entries; of more than 64 million, or 256 GiB, a slice has more than it should.
  private static let mostSlices = 1 << 12

  /// The schema of all parts together.
  private var schema = Schema()
  /// By type.
  private var objects: [[ObjectKey: ObjectState]] = []
  private var types: [TypeDigest] = []
  private var digest = Digest()

  private init() {}

  /// Reads all of a checkpoint once.
  ///
  /// - Parameter bytesAtOnce: how many bytes of entries, before compression, are folded at once.
  /// - Throws: `Unreadable`; `MagicDataError` if there is no room for what is set aside; what `checkCancelled` throws.
  static func digest(
    of checkpoint: CheckpointFile, bytesAtOnce: Int = 1 << 26, _ checkCancelled: () throws -> Void
  ) throws -> Digest {
    var fold = CheckpointFold()
    let count = try slices(of: checkpoint, bytesAtOnce: bytesAtOnce)
    if count == 1 {
      try forEachPart(of: checkpoint, checkCancelled) { try fold.add($0, of: checkpoint) }
      fold.sum()
    } else {
      do {
        try fold.add(checkpoint, slices: count, checkCancelled)
      } catch let error as MagicDataError where error.code == .full {
        throw MagicDataError(
          .full,
          """
          the digest of \(checkpoint.url.path) could not be looked at for lack of room in the temporary folder \
          \(FileManager.default.temporaryDirectory.path); make room there, or name another folder in TMPDIR (\(error.message))
          """, cause: error)
      }
    }
    for type in fold.types { type.finish(&fold.digest) }
    return fold.digest
  }

  /// So many that each has few entries and few bytes.
  static func slices(of checkpoint: CheckpointFile, bytesAtOnce: Int) throws -> Int {
    let bytes: Int
    do {
      bytes = try checkpoint.inflatedBytes()
    } catch let error as MagicDataError {
      throw Unreadable(error: error)
    }
    return min(max(checkpoint.end.entries / atOnce, bytes / bytesAtOnce), mostSlices - 1) + 1
  }

  private mutating func add(_ checkpoint: CheckpointFile, slices: Int, _ checkCancelled: () throws -> Void) throws {
    var aside = try EntriesAside(slices: slices)
    defer { withExtendedLifetime(aside) {} }
    try CheckpointFold.forEachPart(of: checkpoint, checkCancelled) { part in
      try learn(part.schema, of: checkpoint)
      try aside.put(part)
    }
    try aside.finish()
    for slice in 0..<slices {
      try aside.forEachPart(of: slice) { part in
        try checkCancelled()
        try add(part, of: checkpoint)
      }
      sum()
    }
  }

  private static func forEachPart(
    of checkpoint: CheckpointFile, _ checkCancelled: () throws -> Void, _ body: (CheckpointPart) throws -> Void
  ) throws {
    var reader = CheckpointReader(checkpoint)
    while true {
      try checkCancelled()
      let part: CheckpointPart?
      do {
        part = try reader.next()
      } catch let error as MagicDataError {
        throw Unreadable(error: error)
      }
      guard let part else { return }
      try body(part)
    }
  }

  @discardableResult
  private mutating func learn(_ other: Schema, of checkpoint: CheckpointFile) throws -> [LearntType] {
    do throws(JournalError) {
      return try schema.learn(other)
    } catch {
      // No database takes it either.
      throw Unreadable(error: MagicDataError(error, checkpoint.url.path))
    }
  }

  private mutating func add(_ part: CheckpointPart, of checkpoint: CheckpointFile) throws {
    let learnt = try learn(part.schema, of: checkpoint)
    while objects.count < schema.types.count { objects.append([:]) }
    for transaction in part.transactions {
      for entry in transaction.entries {
        let own = entry.translated(learnt)
        objects[own.type][own.key, default: ObjectState()].fold(
          own.operation, own.fields, at: transaction.version, of: schema.types[own.type])
      }
    }
  }

  /// All entries of these objects were folded, and all parts' types are known.
  private mutating func sum() {
    for type in schema.types[types.count...] { types.append(TypeDigest(type)) }
    for (type, states) in objects.enumerated() {
      for (key, state) in states { types[type].add(state, key, to: &digest) }
    }
    objects = []
  }
}

/// Entries in a file for the time, in slices: all of an object are in one.
private struct EntriesAside {
  private let scratch: ScratchFolder
  private let writer: ChunkWriter
  private var file: URL?
  /// Where the parts of each slice are, which are as those of a checkpoint.
  private var places: [[Range<Int>]]

  init(slices: Int) throws {
    scratch = try ScratchFolder("checkpoint")
    writer = try ChunkWriter(beside: scratch.url.appendingPathComponent("entries"))
    places = Array(repeating: [], count: slices)
  }

  mutating func put(_ part: CheckpointPart) throws {
    var writers: [Int: CheckpointPartWriter] = [:]
    let slices = UInt(places.count)
    for transaction in part.transactions {
      // Which keys meet in a slice is for nobody to choose: Swift's hashes are others in each process.
      let shares = Dictionary(grouping: transaction.entries) { Int(UInt(bitPattern: $0.key.hashValue) % slices) }
      for (slice, entries) in shares {
        var share = transaction
        share.entries = entries
        writers[slice, default: CheckpointPartWriter(part.schema)].add(share)
      }
    }
    for slice in writers.keys.sorted() {
      guard let bytes = try finish(&writers[slice]) else { continue }
      places[slice].append(writer.count..<writer.count + bytes.count)
      try bytes.withUnsafeBytes { try writer.append($0) }
    }
  }

  private func finish(_ part: inout CheckpointPartWriter?) throws -> [UInt8]? {
    do throws(JournalError) {
      return try part?.finish()
    } catch {
      throw MagicDataError(error, scratch.url.path)
    }
  }

  /// After the last one was put there.
  mutating func finish() throws {
    file = try writer.finish(isDurable: false)
  }

  func forEachPart(of slice: Int, _ body: (CheckpointPart) throws -> Void) throws {
    guard let file else { preconditionFailure("what is set aside is read once all of it is there") }
    for place in places[slice] {
      let bytes = try DurableFile.part(of: file, at: place.lowerBound, place.count)
      let part: CheckpointPart
      do throws(JournalError) {
        let header = try CheckpointPartHeader(Array(bytes.prefix(CheckpointPartHeader.length)))
        part = try CheckpointPart(header, Array(bytes.dropFirst(CheckpointPartHeader.length)))
      } catch {
        throw MagicDataError(error, file.path)
      }
      try body(part)
    }
  }
}
