import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

@Suite struct ValueTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  @Test func valuesOfEveryKindComeBackAsTheyWere() async throws {
    let object = try Everything.filled()
    try await magic.update(object)
    let fetched = try await magic.object(of: Everything.self, primary: object.id)
    #expect(fetched.text.utf8.elementsEqual(object.text.utf8))
    #expect(fetched.uuid == object.uuid)
    #expect(fetched.int == .min)
    #expect(fetched.double.bitPattern == (-0.0).bitPattern)
    #expect(fetched.float == .pi)
    #expect(fetched.data == Data())
    #expect(fetched.bool)
    #expect(fetched.date == object.date)
    #expect(fetched.url == object.url)
    #expect(fetched.level == .low)
    #expect(fetched.color == .green)
    #expect(fetched.shape == .square)
    #expect(fetched.job == object.job)
    #expect(fetched.array == ["y", "x", "y"])
    #expect(fetched.dictionary == object.dictionary)
    #expect(fetched.set == [1, 2, 3])
  }

  /// V-5, V-11: SQLite alone would make nothing of the one and 0 of the other.
  @Test(arguments: [0x7ff8_0000_0000_0001, 0xfff8_0000_0000_0123, 1 << 63, 0x7ff0_0000_0000_0000])
  func realsKeepTheirBits(bits: UInt64) async throws {
    try await magic.update(Cat("c", Double(bitPattern: bits)))
    #expect(try await magic.object(of: Cat.self, primary: "c").weight.bitPattern == bits)
    #expect(try await Dump(magic).objects.values.first?["weight real"] == .real(Double(bitPattern: bits)))
  }

  /// H-6: values are bits, and NaN is one.
  @Test func floatsKeepTheirBits() throws {
    for bits: UInt32 in [0x7fc0_0001, 0xffc1_2345, 0x7fa0_0001, 0x8000_0000, 1, 0x7f7f_ffff] {
      #expect(try Float(magicValue: Float(bitPattern: bits).magicValue).bitPattern == bits)
    }
  }

  /// H-45, V-8 to V-10: the order in which a set is gone through changes from run to run.
  @Test func codedValuesHaveOneForm() throws {
    let job = Job(title: "é/\"\\\t", tags: Set((0..<40).map { "tag \($0)" }), scores: [2.5: [1], -1: [], 0.1: [3]])
    let expected = """
      {"scores":[-1.0,[],0.1,[3],2.5,[1]],"tags":[\((0..<40).map { "\"tag \($0)\"" }.sorted().joined(separator: ","))],\
      "title":"é/\\"\\\\\\u0009"}
      """
    #expect(try job.magicValue == .coded(Array(expected.utf8)))
    #expect(try Job(magicValue: job.magicValue) == job)
  }

  @Test func codedValuesOfFoundationsTypesComeBack() throws {
    struct Mixed: MagicalCodable, Equatable {
      var data = Data([1, 2])
      var date = Date(timeIntervalSinceReferenceDate: 0.1)
      var url = URL(fileURLWithPath: "/x")
      var uuid = UUID()
      var decimal = Decimal(string: "1.25")
      var none: Int?
      var double = Double.infinity
      var nested: [[String: Set<Int>]] = [["a": [1, 2]], [:]]
      var byInt: [Int: String] = [2: "b", -1: "a"]
      var big = UInt64.max
    }
    let mixed = Mixed()
    #expect(try Mixed(magicValue: mixed.magicValue) == mixed)
    #expect(try [Double].init(magicValue: [Double.nan].magicValue)[0].isNaN)
    #expect(try [Int?].init(magicValue: [1, nil].magicValue) == [1, nil])
  }

  @Test func codedValuesThatCouldNotBeReadAgainAreRefused() throws {
    indirect enum Nested: Codable, MagicalCodable {
      case end
      case more(Nested)
    }
    func nested(_ depth: Int) -> Nested { (0..<depth).reduce(.end) { nested, _ in .more(nested) } }
    #expect(throws: MagicDataError.self) { try nested(5_000).magicValue }
    _ = try Nested(magicValue: nested(60).magicValue)
    #expect(throws: MagicDataError.self) { try [Decimal.nan].magicValue }
    struct Foreign: MagicalCodable {
      struct Stop: Error {}
      init() {}
      init(from: any Decoder) throws {}
      func encode(to: any Encoder) throws { throw Stop() }
    }
    #expect(throws: MagicDataError.self) { try Foreign().magicValue }
    let large = Dictionary(uniqueKeysWithValues: (0..<3_000).map { ("key \($0)", $0) })
    #expect(try [String: Int](magicValue: large.magicValue) == large)
  }

  /// L-3, V-3: equal to Swift, different bytes.
  @Test func primaryValuesAreToldApartByTheirBytes() async throws {
    try await magic.update(Cat("\u{e9}", 1))
    try await magic.update(Cat("e\u{301}", 2))
    #expect(try await magic.object(of: Cat.self).count == 2)
    #expect(try await magic.object(of: Cat.self, primary: "e\u{301}").weight == 2)
  }

  /// In every place that a text can have: alone, as a name, in a coded value; and through the blocking face.
  @Test(arguments: [
    "", "\0", "a\0b", "a\0", "\u{FEFF}a", "e\u{301}\u{323}", "e\u{323}\u{301}", "🇩🇪👩‍👩‍👧‍👦🏳️‍🌈", "\r\n\t'\";--",
    "\u{10FFFF}\u{FFFF}\u{202E}", String(repeating: "a\u{308}\u{323}", count: 5_000),
  ]) func textsKeepTheirBytes(text: String) async throws {
    struct Text: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var text: String
      @OptionMagicValue var option: String?
      @MagicValue var list: [String]
      @MagicValue var byName: [String: String]
      init() {}
    }
    let object = Text()
    (object.id, object.text, object.option, object.list, object.byName) = (text, text, text, [text, text], [text: text])
    try await magic.update(object)
    try await magic.update(Cat("another", 1))
    let bytes = Array(text.utf8)
    for fetched in [
      try await magic.object(of: Text.self, primary: text), try await magic.object(of: Text.self)[0],
      try magic.blocking.object(of: Text.self, primary: text),
    ] {
      let texts =
        [fetched.id, fetched.text, try #require(fetched.option)] + fetched.list + fetched.byName.flatMap { [$0, $1] }
      #expect(texts.count == 7)
      #expect(texts.allSatisfy { Array($0.utf8) == bytes })
      // Equal bytes are no change.
      (fetched.text, fetched.list) = (text, [text, text])
      try await magic.update(fetched)
    }
    #expect(try await magic.query(of: Text.self).where { $0.text == text }.count() == 1)
    #expect(try await magic.statistics().entries == 2)
    try await magic.remove(object)
    #expect(try await !magic.has(of: Text.self, primary: text))
  }

  @Test func numbersAtTheirLimitsComeBack() async throws {
    struct Numbers: MagicObject {
      @PrimaryMagicValue var id: Int
      @MagicValue var double: Double
      @OptionMagicValue var float: Float?
      @MagicValue var list: [Double]
      @MagicValue var data: Data
      @OptionMagicValue var option: Data?
      init() {}
    }
    let doubles: [Double] = [
      -0.0, .nan, .signalingNaN, -.nan, .infinity, -.infinity, .leastNonzeroMagnitude, -.greatestFiniteMagnitude, .pi,
    ]
    let ids = [Int.min, .min + 1, -1, 0, 1, 1 << 53 + 1, .max - 1, .max, 42]
    for (id, double) in zip(ids, doubles) {
      let object = Numbers()
      (object.id, object.double, object.list) = (id, double, [double, 0, double])
      object.float = Float(double)
      (object.data, object.option) = (Data(), id < 0 ? Data() : nil)
      try await magic.update(object)
    }
    for (id, double) in zip(ids, doubles) {
      let object = try await magic.object(of: Numbers.self, primary: id)
      #expect(object.id == id)
      #expect(object.double.bitPattern == double.bitPattern)
      #expect(object.float?.bitPattern == Float(double).bitPattern)
      #expect(object.list.map(\.isNaN) == [double.isNaN, false, double.isNaN])
      if !double.isNaN { #expect(object.list.map(\.bitPattern) == [double, 0, double].map(\.bitPattern)) }
      #expect(object.data == Data())
      #expect(object.option == (id < 0 ? Data() : nil))
      object.double = double
      try await magic.update(object)
    }
    #expect(try await magic.statistics().entries == ids.count)
    #expect(try await NaiveFold(journalOf: magic).dump == Dump(magic))
  }

  @Test func integersAndUUIDsNameObjects() async throws {
    struct Thing: MagicObject {
      @PrimaryMagicValue var id: UUID
      @OptionMagicValue var name: String?
      init() {}
    }
    let place = Place()
    place.number = -3
    try await magic.update(place)
    #expect(try await magic.has(of: Place.self, primary: -3))
    let thing = Thing()
    thing.name = "made"
    try await magic.update(thing)
    #expect(try await magic.object(of: Thing.self, primary: thing.id).name == "made")
  }

  @Test func tablesAreNamedAsTypesAndColumnsAsProperties() async throws {
    try await magic.update(Cat("Tom", 4.5))
    let isRow = try await magic.store.read { db in
      try Row.fetchOne(db, sql: "SELECT z_index, name, weight, lives, owner FROM Cat")
        == ["z_index": 1, "name": "Tom", "weight": 4.5, "lives": 9, "owner": nil]
    }
    #expect(isRow)
  }

  /// J-17: names that SQLite would confuse, or that are taken.
  @Test func typesAndFieldsOfAnyNameHaveTablesOfTheirOwn() async throws {
    enum Low {
      // swift-format-ignore
      struct note: MagicObject {
        // swift-format-ignore
        @PrimaryMagicValue var z_index: String
        // swift-format-ignore
        @MagicValue var Name: String
        @MagicValue var name: String
        init() {}
      }
    }
    enum Up {
      struct Note: MagicObject {
        // swift-format-ignore
        @MagicValue var magic_birth: String
        init() {}
      }
    }
    // swift-format-ignore
    struct magic_entry: MagicObject {
      @MagicValue var `select`: String
      init() {}
    }
    struct Quoted: MagicObject {
      static var magicName: String { "sqlite_\"x\"; DROP TABLE Cat; --" }
      @MagicValue var text: String
      init() {}
    }
    let (low, up, entry, quoted) = (Low.note(), Up.Note(), magic_entry(), Quoted())
    (low.z_index, low.Name, low.name) = ("k", "N", "n")
    (up.magic_birth, entry.select, quoted.text) = ("b", "s", "q")
    try await magic.update(low)
    try await magic.update(up)
    try await magic.update(entry)
    try await magic.update(quoted)
    #expect(try await magic.object(of: Low.note.self, primary: "k").Name == "N")
    #expect(try await magic.object(of: Low.note.self, primary: "k").name == "n")
    #expect(try await magic.object(of: Up.Note.self).map(\.magic_birth) == ["b"])
    #expect(try await magic.object(of: magic_entry.self).map(\.select) == ["s"])
    #expect(try await magic.object(of: Quoted.self).map(\.text) == ["q"])
  }

  /// A quotation mark ends a name in SQL also where Swift has it and the mark after it for one character.
  @Test func noNameIsRunAsSQL() async throws {
    struct Marked: MagicObject {
      static var magicName: String { "a\"\u{301} (b); DROP TABLE Cat; --" }
      @MagicValue var text: String
      @MagicValue var others: [Marked]
      init() {}
    }
    let marked = Marked()
    (marked.text, marked.others) = ("m", [])
    try await magic.update(marked)
    marked.others = [marked]
    try await magic.update(marked)
    let fetched = try await magic.object(of: Marked.self)
    #expect(fetched.map(\.text) == ["m"])
    #expect(fetched.first?.others.map(\.text) == ["m"])
  }

  /// J-15, L-3: names are told apart by their bytes, also those that Swift has for equal.
  @Test func typesOfEqualCharactersAreKeptApart() async throws {
    struct Composed: MagicObject {
      static var magicName: String { "Caf\u{e9}" }
      @PrimaryMagicValue var id: String
      @MagicValue var number: Int
      @MagicValue var others: [Composed]
      init() {}
    }
    struct Decomposed: MagicObject {
      static var magicName: String { "Cafe\u{301}" }
      @PrimaryMagicValue var id: String
      @MagicValue var number: Int
      @MagicValue var others: [Decomposed]
      init() {}
    }
    let (one, other) = (Composed(), Decomposed())
    (one.id, one.number, one.others) = ("same", 1, [one])
    (other.id, other.number, other.others) = ("same", 2, [])
    try await magic.update(one)
    try await magic.update(other)
    let (first, second) = (
      try await magic.object(of: Composed.self, primary: "same"), try await magic.object(of: Decomposed.self, primary: "same")
    )
    #expect((first.number, first.others.count) == (1, 1))
    #expect((second.number, second.others.count) == (2, 0))
    try await magic.remove(second)
    #expect(try await magic.object(of: Composed.self).map(\.number) == [1])
    #expect(try await magic.object(of: Decomposed.self).isEmpty)
  }

  /// A table may have the name that another type's index has, or is to have, or its links.
  @Test(arguments: [true, false]) func aTableIsNamedAsAnIndexOrLinksOfAnother(isFirst: Bool) async throws {
    struct Hermit: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var friend: Hermit?
      @MagicValue var pupils: MagicalSet<Hermit>
      init() {}
    }
    struct Friend: MagicObject {
      static var magicName: String { "Hermit.friend" }
      @PrimaryMagicValue var id: String
      init() {}
    }
    struct Pupils: MagicObject {
      static var magicName: String { "hermit.PUPILS" }
      @PrimaryMagicValue var id: String
      init() {}
    }
    let (hermit, friend, pupils) = (Hermit(), Friend(), Pupils())
    (hermit.id, hermit.friend, hermit.pupils) = ("h", hermit, [hermit])
    (friend.id, pupils.id) = ("f", "p")
    if !isFirst { try await magic.update(hermit) }
    try await magic.update(friend)
    try await magic.update(pupils)
    if isFirst { try await magic.update(hermit) }
    let query = magic.query(of: Hermit.self)
    #expect(try await query.where { $0.friend.id == "h" && $0.pupils.contains { $0.id == "h" } }.count() == 1)
    #expect(try await magic.object(of: Friend.self).map(\.id) == ["f"])
    #expect(try await magic.object(of: Pupils.self).map(\.id) == ["p"])
  }

  private struct Route: MagicalCodable, Equatable {
    enum Key: CodingKey { case geo, stops }
    enum Part: CodingKey { case lat, lon }
    var (lat, lon) = (1.5, 2.5)
    init() {}
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      let geo = try container.nestedContainer(keyedBy: Part.self, forKey: .geo)
      (lat, lon) = (try geo.decode(Double.self, forKey: .lat), try geo.decode(Double.self, forKey: .lon))
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      var first = container.nestedContainer(keyedBy: Part.self, forKey: .geo)
      try first.encode(lat, forKey: .lat)
      var second = container.nestedContainer(keyedBy: Part.self, forKey: .geo)
      try second.encode(lon, forKey: .lon)
      var stops = container.nestedUnkeyedContainer(forKey: .stops)
      try stops.encode(1)
      var more = container.nestedUnkeyedContainer(forKey: .stops)
      try more.encode(2)
    }
  }

  /// Containers in containers, with nothing in them that is a value of its own.
  private struct Deep: MagicalCodable {
    enum Key: CodingKey { case next }
    init() {}
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      for _ in 0..<600 { container = container.nestedContainer(keyedBy: Key.self, forKey: .next) }
    }
  }

  @Test func containersWithinValuesGoOnAndEnd() throws {
    let route = Route()
    #expect(try route.magicValue == .coded(Array(#"{"geo":{"lat":1.5,"lon":2.5},"stops":[1,2]}"#.utf8)))
    #expect(try Route(magicValue: route.magicValue) == route)
    #expect { _ = try Deep().magicValue } throws: { ($0 as? MagicDataError)?.code == .value }
  }

  private final class Settings: MagicalCodable {
    var size = 1
    init() {}
  }

  private enum Choice: MagicalCodable {
    case none
    case some(Settings)
  }

  private struct Owner: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var choice: Choice = .none
    @MagicValue var settings: Settings
    @MagicValue var all: [Settings] = []
    init() {}
  }

  @Test func aClassThatChangedIsStoredWhereItsObjectIsAnother() async throws {
    let (settings, owner, other) = (Settings(), Owner(), Owner())
    (owner.settings, other.settings) = (settings, Settings())
    try await magic.update(contentsOf: [owner, other])
    settings.size = 2
    owner.id = other.id
    try await magic.update(owner)
    #expect(try await magic.object(of: Owner.self, primary: other.id).settings.size == 2)
  }

  @Test func aClassThatChangedAfterARollbackIsStoredAsItIs() async throws {
    let (settings, owner) = (Settings(), Owner())
    owner.settings = settings
    await #expect(throws: CancellationError.self) {
      try await magic.transaction { [owner] transaction in
        try await transaction.update(owner)
        throw CancellationError()
      }
    }
    settings.size = 2
    try await magic.update(owner)
    #expect(try await magic.object(of: Owner.self)[0].settings.size == 2)
    settings.size = 3
    try await magic.remove(owner)
    try await magic.update(owner)
    #expect(try await magic.object(of: Owner.self)[0].settings.size == 3)
  }

  /// What a class held when it was saved is what it is compared with when it is set again.
  @Test(arguments: [false, true]) func aClassThatChangedIsStoredWhenItIsSetAgain(isRun: Bool) async throws {
    let (settings, owner) = (Settings(), Owner())
    func update() async throws {
      if isRun { try await magic.update(contentsOf: [owner]) } else { try await magic.update(owner) }
    }
    for size in 1...3 {
      settings.size = size
      owner.settings = settings
      owner.all = [settings]
      owner.choice = .some(settings)
      try await update()
      let found = try await magic.object(of: Owner.self)[0]
      #expect(found.settings.size == size)
      #expect(found.all.map(\.size) == [size])
      if case .some(let stored) = found.choice { #expect(stored.size == size) } else { Issue.record("no settings") }
    }
  }

  private final class Theme: MagicalCodable {
    var name = "light"
    init() {}
  }

  private struct Memo: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var title: String = ""
    @MagicValue var theme: Theme = Theme()
    @OptionMagicValue var other: Theme?
    init() {}
    init(_ id: String) { self.id = id }
  }

  /// L-7: to change a class in place is to set it.
  @Test(arguments: [false, true]) func aClassThatIsChangedInPlaceIsStored(isRun: Bool) async throws {
    func update(_ memo: Memo) async throws {
      if isRun { try await magic.update(contentsOf: [memo]) } else { try await magic.update(memo) }
    }
    let made = Memo("a")
    made.other = Theme()
    try await update(made)
    let fetched = try await magic.object(of: Memo.self, primary: "a")
    for (number, memo) in [made, fetched, made, fetched].enumerated() {
      let before = try await magic.statistics().entries
      memo.theme.name = "\(number)"
      memo.other?.name = "other \(number)"
      try await update(memo)
      // Once.
      try await update(memo)
      #expect(try await magic.statistics().entries == before + 1)
      let found = try await magic.object(of: Memo.self, primary: "a")
      #expect(found.theme.name == "\(number)" && found.other?.name == "other \(number)")
      #expect("\(memo)".contains(#"_theme: {"name":"\#(number)"}"#))
    }
  }

  @Test func aClassThatIsChangedInATransactionThatIsRolledBackIsStoredNextTime() async throws {
    try await magic.update(Memo("a"))
    let memo = try await magic.object(of: Memo.self, primary: "a")
    await #expect(throws: CancellationError.self) {
      try await magic.transaction { [memo] transaction in
        memo.theme.name = "dark"
        try await transaction.update(memo)
        throw CancellationError()
      }
    }
    #expect(try await magic.object(of: Memo.self, primary: "a").theme.name == "light")
    try await magic.update(memo)
    #expect(try await magic.object(of: Memo.self, primary: "a").theme.name == "dark")
  }

  /// L-7: what an instance shows and the app did not change is not what the app wants.
  @Test func aDefaultClassOverwritesNothing() async throws {
    let first = Memo("a")
    first.theme.name = "dark"
    try await magic.update(first)
    let again = Memo("a")
    for title in ["one", "two"] {
      again.title = title
      try await magic.update(again)
      let found = try await magic.object(of: Memo.self, primary: "a")
      #expect(found.title == title && found.theme.name == "dark")
    }
    again.theme.name = "blue"
    try await magic.update(again)
    #expect(try await magic.object(of: Memo.self, primary: "a").theme.name == "blue")
  }

  /// L-8, J-12: what a newer version has written beside what this one reads stays, and a default that stands for nothing is not
  /// stored, until the class is changed.
  @Test func aClassThatWasNotChangedStaysAsItIsStored() async throws {
    enum New {
      final class Look: MagicalCodable {
        var name = "light"
        var font = "serif"
        init() {}
      }
      struct Card: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var look: Look
        init() {}
      }
    }
    enum Old {
      final class Look: MagicalCodable {
        var name = "light"
        init() {}
      }
      struct Card: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var look: Look
        @MagicValue var back: Look = Look()
        @OptionMagicValue var title: String?
        init() {}
      }
    }
    let card = New.Card()
    (card.id, card.look) = ("a", New.Look())
    card.look.font = "mono"
    try await magic.update(card)
    let older = try await MagicData(path: folder["db"])
    let seen = try await older.object(of: Old.Card.self, primary: "a")
    seen.title = "x"
    try await older.update(seen)
    try await older.update(contentsOf: [seen])
    #expect(try await magic.object(of: New.Card.self, primary: "a").look.font == "mono")
    let backs = try await older.store.read { db in try Int.fetchOne(db, sql: #"SELECT count(back) FROM "Card""#) }
    #expect(backs == 0)
    seen.look.name = "dark"
    seen.back.name = "blue"
    try await older.update(seen)
    let found = try await older.object(of: Old.Card.self, primary: "a")
    #expect(found.title == "x" && found.look.name == "dark" && found.back.name == "blue")
  }

  /// A type of the app's own whose values are not of the kind that it says, as long as it says so.
  private struct Fickle: Magical {
    var value: Value
    static var magicKind: Value.Kind { .integer }
    var magicValue: Value { value }
    init(_ value: Value) { self.value = value }
    init(magicValue: Value) { value = magicValue }
  }

  /// J-16: what no database would take back is not written.
  @Test(arguments: [Value.real(0.5), .text("1"), .null], [false, true])
  func aValueOfAnotherKindIsRefused(value: Value, isRun: Bool) async throws {
    struct Priced: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var price: Fickle
      @OptionMagicValue var discount: Fickle?
      init() {}
    }
    let good = Priced()
    (good.id, good.price) = ("good", Fickle(.integer(3)))
    try await magic.update(good)
    let entries = try await magic.statistics().entries
    for isOptional in [false, true] {
      let bad = Priced()
      (bad.id, bad.price) = ("bad", Fickle(isOptional ? .integer(1) : value))
      if isOptional { bad.discount = Fickle(value) }
      await #expect {
        if isRun { try await magic.update(contentsOf: [bad]) } else { try await magic.update(bad) }
      } throws: {
        ($0 as? MagicDataError)?.code == .value && "\($0)".contains(isOptional ? "Priced.discount" : "Priced.price")
      }
    }
    good.price = Fickle(value)
    await #expect(throws: MagicDataError.self) { try await magic.update(good) }
    #expect(try await magic.statistics().entries == entries)
    #expect(try await magic.object(of: Priced.self).map(\.price.value) == [.integer(3)])
  }

  @Test func aKindThatIsTheLibrarysOwnIsRefused() async throws {
    struct Fake: Magical {
      static var magicKind: Value.Kind { .asset }
      var magicValue: Value { .asset("x") }
      init() {}
      init(magicValue: Value) {}
    }
    struct Framed: MagicObject {
      @MagicValue var picture: Fake
      init() { picture = Fake() }
    }
    await #expect { try await magic.update(Framed()) } throws: {
      ($0 as? MagicDataError)?.code == .model && "\($0)".contains("picture")
    }
  }
}
