import Foundation
import MagicJournal
import TestSupport
import Testing

/// What is kept of a history folds to the same as all of it, and stands in checkpoints as the vectors say (K-2, K-3, K-10 to
/// K-12).
@Suite struct CheckpointVectorTests {
  struct File: Codable {
    struct Valid: Codable {
      var name: String
      var fileName: String
      var file: String
      var dataSet: String
      var writer: String
      var floor: [String: String]
      var digest: String
      var transactions: [TransactionNotation]
    }

    var valid: [Valid]
    var invalid: [InvalidFile]
  }

  private let file: File
  /// What `Tools/reader/make_vectors.py` writes, rule by rule.
  private let rules: File

  init() throws {
    file = try VectorFile("checkpoints").content(orWrite: CheckpointVectorTests.make)
    rules = try VectorFile<File>("checkpoint-rules").read()
  }

  @Test(arguments: seeds(60)) func whatIsKeptFoldsToTheSame(seed: UInt64) throws {
    let history = try History(seed: seed, transactions: 40, purges: true)
    // What is folded on top, whichever it is, folds to the same as well.
    for count in [5, 20, 40] {
      let kept = Kept(history.transactions.prefix(count).shuffledBy(seed), history.schema)
      var (all, less) = (Folded(), Folded())
      for transaction in history.transactions { all.fold(transaction, history.schema) }
      for transaction in kept.transactions + history.transactions.dropFirst(count) { less.fold(transaction, history.schema) }
      #expect(all.objects.keys == less.objects.keys, "MAGIC_SEED=\(seed)")
      for (object, state) in all.objects {
        #expect(try #require(less.objects[object]).isSame(as: state), "MAGIC_SEED=\(seed) \(count)")
      }
      #expect(all.digest(history.schema) == less.digest(history.schema), "MAGIC_SEED=\(seed)")
      // And nothing more can go, but for one of several entries that say the same at one version.
      let again = Kept(kept.transactions, history.schema).transactions
      for transaction in kept.transactions where !again.contains(transaction) {
        let left = again.filter { $0.name == transaction.name }.flatMap(\.entries)
        let gone = transaction.entries.filter { !left.contains($0) }
        #expect(!gone.contains { !$0.fields.isEmpty }, "MAGIC_SEED=\(seed)")
        #expect(history.transactions.filter { $0.version == transaction.version }.count > 1, "MAGIC_SEED=\(seed)")
      }
    }
  }

  @Test func checkpointsSayWhatTheVectorsSay() throws {
    for valid in file.valid + rules.valid {
      let read = try CheckpointVectorTests.read(try parsed([UInt8](hexadecimal: valid.file), valid.name))
      #expect(read.header.dataSet.description == valid.dataSet)
      #expect(read.header.writer.description == valid.writer)
      #expect(read.header.digest.description == valid.digest)
      #expect(read.header.name + ".checkpoint" == valid.fileName)
      #expect(CheckpointVectorTests.notation(read.header.floor) == valid.floor)
      let notations = read.parts.flatMap { part in part.transactions.map { TransactionNotation($0, part.schema) } }
      #expect(try notations.map(text) == valid.transactions.map(text), "\(valid.name)")
      var folded = Folded()
      // Each part has a schema of its own.
      guard let schema = read.parts.first?.schema, read.parts.count == 1 else { continue }
      for transaction in read.parts[0].transactions { folded.fold(transaction, schema) }
      #expect(folded.digest(schema).description == valid.digest)
    }
  }

  @Test func checkpointsThatAreNoneAreRefused() throws {
    for invalid in file.invalid + rules.invalid { try invalid.expectRefused { _ = try CheckpointVectorTests.read($0) } }
  }

  /// Whatever is done to its bytes, a checkpoint is refused or read, and never more than that (H-32).
  @Test func changedBytesAreRefused() throws {
    let good = try parsed([UInt8](hexadecimal: file.valid[0].file), "")
    var chance = Seeded(7)
    for _ in 0..<3_000 {
      var bytes = good
      for _ in 0...chance.below(3) { bytes[chance.below(bytes.count)] ^= UInt8(1 << chance.below(8)) }
      if chance.below(4) == 0 { bytes.removeLast(chance.below(bytes.count)) }
      if bytes == good { continue }
      #expect(throws: JournalError.self) { try CheckpointVectorTests.read(bytes) }
    }
  }

  // MARK: A whole file

  private static func read(_ bytes: [UInt8]) throws(JournalError) -> (header: CheckpointHeader, parts: [CheckpointPart]) {
    let length = try CheckpointHeader.length(Array(bytes.prefix(CheckpointHeader.fixedLength)))
    let header = try CheckpointHeader(Array(bytes.prefix(length)))
    guard bytes.count >= length + CheckpointEnd.length else { throw JournalError(.damaged, "it is cut short") }
    let end = try CheckpointEnd(Array(bytes.suffix(CheckpointEnd.length)))
    var parts: [CheckpointPart] = []
    var offset = length
    while offset < bytes.count - CheckpointEnd.length {
      guard bytes.count - CheckpointEnd.length - offset >= CheckpointPartHeader.length else {
        throw JournalError(.damaged, "a part is cut short")
      }
      let head = try CheckpointPartHeader(Array(bytes[offset..<(offset + CheckpointPartHeader.length)]))
      offset += CheckpointPartHeader.length
      guard bytes.count - CheckpointEnd.length - offset >= head.storedLength else {
        throw JournalError(.damaged, "a part is cut short")
      }
      let part = try CheckpointPart(head, Array(bytes[offset..<(offset + head.storedLength)]))
      if let last = parts.last?.transactions.last, let first = part.transactions.first, !CheckpointPart.rises(last, first) {
        throw JournalError(.damaged, "a checkpoint's transactions do not rise")
      }
      parts.append(part)
      offset += head.storedLength
    }
    let entries = parts.flatMap(\.transactions).reduce(0) { $0 + $1.entries.count }
    guard end == CheckpointEnd(entries: entries, parts: parts.count) else {
      throw JournalError(.damaged, "the end counts something else")
    }
    return (header, parts)
  }

  private static func file(_ history: History) throws -> (bytes: [UInt8], header: CheckpointHeader, kept: [Transaction]) {
    let kept = Kept(history.transactions, history.schema)
    var folded = Folded()
    var floor = NamedFrontier()
    for transaction in history.transactions {
      folded.fold(transaction, history.schema)
      floor[transaction.replica] = .init(sequence: transaction.sequence, name: transaction.name)
    }
    let header = CheckpointHeader(
      dataSet: Identifier(0xda7a, 0x5e7), writer: Identifier(9, 9), digest: folded.digest(history.schema).identifier,
      floor: floor)
    var writer = CheckpointPartWriter(history.schema)
    for transaction in kept.transactions { writer.add(transaction) }
    let bytes = try header.bytes + writer.finish() + CheckpointEnd(entries: writer.entries, parts: 1).bytes
    return (bytes, header, kept.transactions)
  }

  private static func notation(_ floor: NamedFrontier) -> [String: String] {
    var notation: [String: String] = [:]
    for replica in floor.replicas {
      guard let end = floor[replica] else { continue }
      var name = ByteWriter()
      end.name.encode(to: &name)
      notation[replica.description] = "\(end.sequence) \(name.bytes.hexadecimal)"
    }
    return notation
  }

  private static func make() throws -> File {
    var valid: [File.Valid] = []
    let histories = [("a short history", UInt64(21), 8), ("a longer history", 22, 60), ("another", 23, 60), ("purges", 24, 60)]
    for (name, seed, count) in histories {
      let history = try History(seed: seed, transactions: count, purges: seed > 23)
      let (bytes, header, kept) = try file(history)
      valid.append(
        .init(
          name: name, fileName: header.name + ".checkpoint", file: bytes.hexadecimal, dataSet: header.dataSet.description,
          writer: header.writer.description, floor: notation(header.floor), digest: header.digest.description,
          transactions: kept.map { TransactionNotation($0, history.schema) }))
    }
    let good = try parsed([UInt8](hexadecimal: valid[0].file), "")
    func changed(_ name: String, _ why: String, _ change: (inout [UInt8]) -> Void) -> InvalidFile {
      var bytes = good
      change(&bytes)
      return .init(name: name, file: bytes.hexadecimal, why: why)
    }
    return File(
      valid: valid,
      invalid: [
        changed("another magic", "it does not begin with MAGICCHK") { $0[0] = 0 },
        changed("another format", "format 2 is not known") { $0[9] = 2 },
        changed("reserved bytes", "the header's checksum does not match") { $0[11] = 1 },
        changed("no replicas", "a floor has one replica at least") { for index in 60..<64 { $0[index] = 0 } },
        changed("too many replicas", "a floor has at most 65,536 replicas") { $0[60] = 1 },
        changed("a floor changed", "the header's checksum does not match") { $0[70] ^= 1 },
        changed("a body changed", "the part's checksum does not match") { $0[$0.count - 30] ^= 1 },
        changed("an end changed", "the end's checksum does not match") { $0[$0.count - 6] ^= 1 },
        changed("cut short", "the end is not there") { $0.removeLast(1) },
        changed("without an end", "the end is not there") { $0.removeLast(CheckpointEnd.length) },
        changed("grown", "something follows the end") { $0.append(0) },
        changed("empty", "there is no header") { $0 = [] },
      ])
  }
}

/// What is kept of transactions, in a checkpoint's order.
private struct Kept {
  private(set) var transactions: [Transaction] = []

  private struct Object: Hashable {
    let type: Int
    let key: ObjectKey
  }

  init(_ all: some Sequence<Transaction>, _ schema: Schema) {
    var states: [Object: ObjectState] = [:]
    var entries: [Object: [(Entry.Operation, Version)]] = [:]
    for transaction in all {
      for entry in transaction.entries {
        let object = Object(type: entry.type, key: entry.key)
        states[object, default: ObjectState()].fold(
          entry.operation, entry.fields, at: transaction.version, of: schema.types[entry.type])
        entries[object, default: []].append((entry.operation, transaction.version))
      }
    }
    var keeping: [Object: KeptEntries] = [:]
    for (object, state) in states { keeping[object] = KeptEntries(state, of: entries[object] ?? []) }
    for var transaction in all {
      transaction.entries = transaction.entries.compactMap { entry in
        keeping[Object(type: entry.type, key: entry.key)]?.kept(entry, at: transaction.version, of: schema.types[entry.type])
      }
      transaction.replica = transaction.root
      transaction.sequence = 0
      if !transaction.entries.isEmpty { transactions.append(transaction) }
    }
    transactions.sort { CheckpointPart.rises($0, $1) }
  }
}

extension Sequence {
  fileprivate func shuffledBy(_ seed: UInt64) -> [Element] {
    var chance = Seeded(seed)
    return shuffled(using: &chance)
  }
}
