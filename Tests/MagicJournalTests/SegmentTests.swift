import TestSupport
import Testing

@testable import MagicJournal

@Suite struct SegmentTests {
  @Test(arguments: seeds(40)) func whatIsWrittenIsRead(seed: UInt64) throws {
    let history = try History(seed: seed, transactions: 30, purges: true)
    for replica in Set(history.transactions.map(\.replica)) {
      let run = history.transactions.filter { $0.replica == replica }
      let (name, bytes) = try SegmentVectorTests.segment(run, history.schema, run).finish()
      let segment = try Segment(bytes)
      #expect(segment.name == name)
      #expect(
        try segment.transactions.map { try text(TransactionNotation($0, segment.schema)) }
          == run.map { try text(TransactionNotation($0, history.schema)) }, "MAGIC_SEED=\(seed)")
      // Whatever was read can be sent on (M-9).
      let (again, _) = try SegmentVectorTests.segment(segment.transactions, segment.schema, segment.transactions).finish()
      #expect(again == name)
      for most in [1, 3, 1_000] {
        #expect(try SegmentReader(bytes).joined(atMost: most) == segment.transactions, "MAGIC_SEED=\(seed)")
      }
    }
  }

  /// What a journal takes over as it stands is what it would write of the entry that is made of it, whatever numbers its fields
  /// have there.
  @Test(arguments: seeds(40)) func entriesAreTakenOverAsTheyStand(seed: UInt64) throws {
    let history = try History(seed: seed, transactions: 30, purges: true)
    var chance = Seeded(seed)
    for replica in Set(history.transactions.map(\.replica)) {
      let run = history.transactions.filter { $0.replica == replica }
      let bytes = try SegmentVectorTests.segment(run, history.schema, run).finish().bytes
      let segment = try EncodedSegment(SegmentReader(bytes))
      let isSame = try segment.transactions.map { $0.made() } == Segment(bytes).transactions
      #expect(isSame, "MAGIC_SEED=\(seed)")
      let here = segment.schema.types.map { type in
        LearntType(
          id: 7, fields: chance.below(2) == 0 ? Array(type.fields.indices) : type.fields.indices.shuffled(using: &chance))
      }
      for transaction in segment.transactions {
        transaction.entries.forEachEntry { entry in
          let type = here[entry.type]
          let made = entry.made().translated(type)
          var writer = ByteWriter()
          made.key.encode(to: &writer)
          for field in made.fields {
            writer.varint(field.field)
            field.value.encode(to: &writer)
          }
          let written = withUnsafeTemporaryAllocation(byteCount: entry.length(as: type), alignment: 1) { buffer in
            var position = 0
            entry.put(as: type, to: buffer, &position)
            return Array(buffer[..<position])
          }
          #expect(written == writer.bytes && written.count == entry.length(as: type), "MAGIC_SEED=\(seed)")
          #expect(entry.isUpdate == (made.operation == .update) && entry.objectKey == made.key)
          #expect(entry.hasElements == made.fields.contains { $0.value.kind?.hasElements ?? false })
        }
      }
    }
  }

  /// H-32, S-9: an error with an offset, whatever the bytes are; never a crash. With right checksums, so that the parser is
  /// reached.
  @Test(arguments: seeds(30)) func mutatedSegmentsAreRefusedOrRead(seed: UInt64) throws {
    let history = try History(seed: seed, transactions: 12, purges: true)
    let run = history.transactions.filter { $0.replica == history.transactions[0].replica }
    let good = try SegmentVectorTests.segment(run, history.schema, run).finish().bytes
    let header = try SegmentHeader(good)
    let body = try Zlib.inflate(good[SegmentHeader.length...], to: header.bodyLength)
    var chance = Seeded(seed)
    var refused = 0
    for _ in 0..<400 {
      var mutated = body
      for _ in 0...chance.below(3) {
        let offset = chance.below(mutated.count)
        switch chance.below(4) {
        case 0: mutated[offset] = UInt8(truncatingIfNeeded: chance.next())
        case 1: mutated[offset] ^= 1 << UInt8(chance.below(8))
        case 2: mutated.remove(at: offset)
        default: mutated.insert(chance.pick([0, 0x7f, 0x80, 0xff]), at: offset)
        }
      }
      do {
        let forged = try SegmentForgery.rebuilt(header, mutated)
        let parts = Result { try SegmentReader(forged).joined(atMost: 2) }
        let segment = Result { try Segment(forged) }
        // Nothing is read in parts that is not read whole.
        #expect((try? parts.get()) == (try? segment.get().transactions), "MAGIC_SEED=\(seed)")
        _ = try segment.get()
      } catch {
        refused += 1
        #expect(error is JournalError, "MAGIC_SEED=\(seed)")
        #expect((error as? JournalError)?.offset != nil, "MAGIC_SEED=\(seed)")
      }
    }
    #expect(refused > 100)
  }

  /// Each forged body has one fault, so the one that they are made from has none.
  @Test func theBodyThatForgeriesAreMadeFromIsRead() throws {
    let body = RawBody()
    #expect(try Segment(SegmentForgery.rebuilt(body.header, body.bytes)).transactions.count == 1)
  }

  /// S-3, S-7: a target may be the type itself, or one that comes later, and needs no field or entry.
  @Test(arguments: [UInt8(0), 1]) func aTargetIsAnyTypeOfTheSegment(target: UInt8) throws {
    let body = RawBody().with {
      $0.types = [
        RawBody.string("T") + [3] + RawBody.string("id") + [1] + RawBody.string("a") + [10, target],
        RawBody.string("U") + [3] + RawBody.string("id") + [0],
      ]
      $0.columns = [[3, 1, 0x78], [10, 1, 3, 1, 0x79, 1], []]
    }
    let segment = try Segment(SegmentForgery.rebuilt(body.header, body.bytes))
    #expect(segment.schema.types[0].fields[0].target == segment.schema.types[Int(target)].identity)
    #expect(
      segment.transactions[0].entries[0].fields.map(\.value) == [.set(of: [SetElement(key: .primary(.text("y")))])])
    // What was read can be sent on, its target with it (M-9).
    let again = try Segment(
      SegmentVectorTests.segment(segment.transactions, segment.schema, segment.transactions).finish().bytes)
    #expect(again.transactions == segment.transactions)
    #expect(again.schema.types[0].fields[0].target == segment.schema.types[0].fields[0].target)
  }

  @Test func everyPrefixIsRefused() throws {
    let history = try History(seed: 5, transactions: 8, purges: true)
    let run = history.transactions.filter { $0.replica == history.transactions[0].replica }
    let good = try SegmentVectorTests.segment(run, history.schema, run).finish().bytes
    for length in 0..<good.count {
      #expect(throws: JournalError.self) { try Segment(Array(good[..<length])) }
    }
  }

  /// S-8: four million births of a byte each are refused before they take gigabytes.
  @Test func entriesAreLimited() throws {
    var body = ByteWriter()
    body.varint(1)
    body.string("T")
    body.byte(0)
    body.varint(0)
    body.varint(1)
    Identifier(1, 1).encode(to: &body)
    body.varint(1)
    for byte: UInt8 in [0, 3, 0] { body.byte(byte) }
    let count = Limits.entries + 1
    var streams: [[UInt8]] = [[1], [0, 0, 0, 0], [0], [], [UInt8](repeating: 0, count: count), [], []]
    var counts = ByteWriter()
    counts.varint(count)
    streams[3] = counts.bytes
    for stream in streams { body.block(stream) }
    let name = TransactionName(stamp: Stamp(1), tag: 0)
    let header = SegmentHeader(
      dataSet: Identifier(1, 1), writer: Identifier(1, 1), replica: Identifier(1, 1), first: 1, last: 1, previous: .none,
      lastName: name, bodyLength: 0, storedLength: 0, storedChecksum: 0)
    #expect(throws: JournalError.self) { try Segment(SegmentForgery.rebuilt(header, body.bytes)) }
  }

  @Test func hashesAreSHA256() {
    #expect(SHA256.hash([]).hexadecimal == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(SHA256.hash(Array("abc".utf8)).hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      SHA256.hash([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)).hexadecimal
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  /// J-15
  @Test func theFieldsOfASchemaAreBounded() throws {
    func read(_ counts: [Int]) throws -> Schema {
      let schema = Schema(
        types: try counts.enumerated().map { number, count in
          let fields = try (0..<count).map { TypeSchema.Field(name: try Name("f\($0)"), kind: .text) }
          return TypeSchema(name: try Name("T\(number)"), primary: nil, fields: fields)
        })
      var writer = ByteWriter()
      schema.encode(to: &writer)
      var reader = ByteReader(writer.bytes)
      return try Schema(from: &reader)
    }
    let most = Array(repeating: 1_000, count: 8) + [192]
    #expect(try read(most).fieldCount == 8_192)
    #expect(throws: JournalError.self) { try read([1_001]) }
    #expect(throws: JournalError.self) { try read(most + [1]) }
    var schema = try read(most)
    #expect(throws: JournalError.self) { _ = try schema.learn(read([0, 0, 0, 0, 0, 0, 0, 0, 193])) }
  }

  /// S-7, in a transaction of any size and wherever the two stand.
  @Test(arguments: seeds(40)) func anObjectThatComesTwiceIsFound(seed: UInt64) throws {
    var chance = Seeded(seed)
    let isText = seed % 2 == 0
    let schema = Schema(types: [
      TypeSchema(name: try Name("T"), primary: .init(name: try Name("id"), kind: isText ? .text : .integer))
    ])
    var keys = (0..<2 + chance.below(3_000)).map { number -> Value in
      isText
        ? .text(String(number * 7 % 1_000) + String(repeating: "x", count: number / 1_000))
        : .integer(Int64(number) << chance.pick([0, 20]))
    }
    keys = Set(keys).shuffled(using: &chance)
    func segment(_ keys: [Value]) throws -> [UInt8] {
      let name = TransactionName(stamp: Stamp(1 << 40), tag: 1)
      let transaction = Transaction(
        replica: Identifier(1, 1), sequence: 1, name: name, root: Identifier(1, 1),
        entries: keys.map { Entry(type: 0, key: .primary($0), operation: .update, fields: []) })
      return try SegmentVectorTests.segment([transaction], schema, [transaction]).finish().bytes
    }
    let bytes = try segment(keys)
    let read = try Segment(bytes).transactions
    #expect(read[0].entries.map(\.key) == keys.map { .primary($0) }, "MAGIC_SEED=\(seed)")
    let most = 1 + chance.below(500)
    #expect(try SegmentReader(bytes).joined(atMost: most) == read, "MAGIC_SEED=\(seed)")
    keys[chance.below(keys.count)] = chance.pick(keys)
    guard Set(keys).count < keys.count else { return }
    let forged = try segment(keys)
    #expect(throws: JournalError.self, "MAGIC_SEED=\(seed)") { try Segment(forged) }
    #expect(throws: JournalError.self, "MAGIC_SEED=\(seed)") { try SegmentReader(forged).joined(atMost: most) }
  }
}

extension SegmentReader {
  /// Its transactions, read in parts and put together again.
  fileprivate func joined(atMost most: Int) throws -> [Transaction] {
    var (reader, transactions) = (self, [Transaction]())
    while let part = try reader.next(atMost: most) {
      #expect(1...most ~= part.entries.count)
      if transactions.last?.sequence == part.sequence {
        var joined = part
        joined.entries = transactions.removeLast().entries + part.entries
        transactions.append(joined)
      } else {
        transactions.append(part)
      }
    }
    return transactions
  }
}
