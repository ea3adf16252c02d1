import Foundation
import MagicJournal
import TestSupport
import Testing

@Suite struct SegmentVectorTests {
  struct File: Codable {
    struct Valid: Codable {
      var name: String
      var fileName: String
      var file: String
      var dataSet: String
      var writer: String
      var previous: String
      var transactions: [TransactionNotation]
    }

    var valid: [Valid]
    var invalid: [InvalidFile]
  }

  private let file: File
  /// What `Tools/reader/make_vectors.py` writes, rule by rule.
  private let rules: File

  init() throws {
    file = try VectorFile("segments").content(orWrite: SegmentVectorTests.make)
    rules = try VectorFile<File>("segment-rules").read()
  }

  /// S-1, S-3 to S-7, S-10, C-4, J-15.
  @Test func segmentsSayWhatTheVectorsSay() throws {
    for valid in file.valid + rules.valid {
      let segment = try Segment(try parsed([UInt8](hexadecimal: valid.file), valid.name))
      #expect(segment.header.dataSet.description == valid.dataSet)
      #expect(segment.header.writer.description == valid.writer)
      #expect(valid.fileName.hasSuffix(".\(segment.name).segment"))
      var previous = ByteWriter()
      segment.header.previous.encode(to: &previous)
      #expect(previous.bytes.hexadecimal == valid.previous)
      let notations = segment.transactions.map { TransactionNotation($0, segment.schema) }
      #expect(try notations.map(text) == valid.transactions.map(text), "\(valid.name)")
    }
  }

  /// S-1, S-2, S-4 to S-8, S-10, C-4, J-11, J-15, V-2: each has one fault.
  @Test func segmentsThatAreNoneAreRefused() throws {
    for invalid in file.invalid + rules.invalid { try invalid.expectRefused { _ = try Segment($0) } }
  }

  private static func make() throws -> File {
    var valid: [File.Valid] = []
    for (name, seed, count) in [("a short run", UInt64(11), 9), ("a longer run", 12, 60), ("a run with purges", 13, 30)] {
      let history = try History(seed: seed, transactions: count, purges: seed > 12)
      for replica in Set(history.transactions.map(\.replica)).sorted() {
        let run = history.transactions.filter { $0.replica == replica }
        // The second half of a run has something before it.
        for part in [run, Array(run.dropFirst(run.count / 2))] where !part.isEmpty {
          let (segmentName, bytes) = try segment(part, history.schema, run).finish()
          let parsed = try Segment(bytes)
          var previous = ByteWriter()
          parsed.header.previous.encode(to: &previous)
          let numbers = [parsed.header.first, parsed.header.last].map { number in
            withUnsafeBytes(of: number.bigEndian) { Array($0).hexadecimal }
          }
          valid.append(
            .init(
              name: "\(name), from \(part[0].sequence)",
              fileName: "\(replica).\(numbers[0]).\(numbers[1]).\(segmentName).segment",
              file: bytes.hexadecimal, dataSet: parsed.header.dataSet.description, writer: parsed.header.writer.description,
              previous: previous.bytes.hexadecimal, transactions: part.map { TransactionNotation($0, history.schema) }))
        }
      }
    }
    let good = try parsed([UInt8](hexadecimal: valid[0].file), "")
    return File(
      valid: valid,
      invalid: try SegmentForgery.all(of: good).map { .init(name: $0.name, file: $0.bytes.hexadecimal, why: $0.why) })
  }

  static func segment(_ part: [Transaction], _ schema: Schema, _ run: [Transaction]) -> SegmentWriter {
    var writer = SegmentWriter(
      dataSet: Identifier(0xda7a, 0x5e7), writer: Identifier(9, 9), schema: schema, replica: part[0].replica,
      first: part[0].sequence,
      previous: part[0].sequence == 1 ? .none : run[Int(part[0].sequence) - 2].name)
    for transaction in part { writer.add(transaction) }
    return writer
  }
}

/// One text for equal notations.
func text(_ notation: some Encodable) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys]
  return String(decoding: try encoder.encode(notation), as: UTF8.self)
}
