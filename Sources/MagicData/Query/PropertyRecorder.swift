internal import CPlatform
internal import MagicJournal

/// What a key path reads of an instance in which nothing is set: so a query learns which property a key path means.
///
/// While a thread records, a value that is read without being set is noted, and gets a stand-in.
final class PropertyRecorder {
  struct Read {
    let property: PropertySlot
    /// `nil` for what is read as nil.
    let standIn: (any Magical)?
    /// Whether another round gives another one, as far as there are others.
    let isTelling: Bool
  }

  private let round: Int
  private let nilAt: Int?
  private(set) var reads: [Read] = []
  /// The instance that is read, and those that stand in for the objects that it holds.
  private(set) var objects: [ProbedObject]

  /// Stand-ins differ from round to round, so that a value that is worked out from one is told from it. As many as there are
  /// examples of a number.
  static let rounds = 0..<8

  /// - Parameter nilAt: so many properties are read before one that is nil, which has to be an optional one.
  init(round: Int, nilAt: Int? = nil, _ object: ProbedObject) {
    (self.round, self.nilAt) = (round, nilAt)
    objects = [object]
  }

  static var isRecording: Bool { c_openings().pointee.recorder != nil }

  func record<Result>(_ body: () throws -> Result) rethrows -> Result {
    let openings = c_openings()
    let outer = openings.pointee.recorder
    openings.pointee.recorder = Unmanaged.passUnretained(self).toOpaque()
    defer { openings.pointee.recorder = outer }
    return try withExtendedLifetime(self, body)
  }

  static func standIn<Wrapped: Magical>(for property: PropertySlot, _ type: Wrapped.Type) -> Wrapped? {
    guard let recorder = c_openings().pointee.recorder, property.storage[property.index].slot.isUnset else { return nil }
    return Unmanaged<PropertyRecorder>.fromOpaque(recorder).takeUnretainedValue().standIn(property, type)
  }

  private func standIn<Wrapped: Magical>(_ property: PropertySlot, _ type: Wrapped.Type) -> Wrapped? {
    if let known = reads.first(where: { $0.property.isSame(as: property) }) { return known.standIn as? Wrapped }
    if reads.count == nilAt {
      reads.append(Read(property: property, standIn: nil, isTelling: true))
      return nil
    }
    guard !Wrapped.magicKind.isRelation else { return objects(property, type) }
    let examples = Example.values(of: type)
    guard let last = examples.last else { return nil }
    let value = round < examples.count ? examples[round] : last
    reads.append(Read(property: property, standIn: value, isTelling: examples.count > 1 || MemoryLayout<Wrapped>.size == 0))
    return value
  }

  private func objects<Wrapped: Magical>(_ property: PropertySlot, _ type: Wrapped.Type) -> Wrapped? {
    // What an `init()` reads is its own affair.
    let openings = c_openings()
    let outer = openings.pointee.recorder
    openings.pointee.recorder = nil
    defer { openings.pointee.recorder = outer }
    guard let made = StandIn.objects(of: type, round: round, for: property), let value = made.value as? Wrapped else {
      return nil
    }
    if let object = made.object { objects.append(object) }
    reads.append(Read(property: property, standIn: value, isTelling: true))
    return value
  }

  /// A getter has to return a value, and there is none to return.
  static func stop(_ type: Any.Type, _ place: Place) -> Never {
    fatalError(
      """
      a key path of a query or an index reads a \(type) of \(place.typeName) (declared at \(place.fileName):\(place.line)), of which MagicData can make no \
      example; write $0.$name, or \\Type.$name, for a property of its own
      """)
  }
}

/// Values of a type that come back changed from what a getter is likely to do with them: other letters, less space, no sign, no
/// fraction, a bound, something else for what is empty.
///
/// A getter of the app's runs on them, and there is no way out of one that stops the program. So the first ones are those that
/// hardly any getter cannot bear, a 1 or an array of one element, and what works a value out is told by them before it gets to
/// 0, to large numbers or to nothing.
enum Example {
  static func values<Wrapped: Magical>(of type: Wrapped.Type) -> [Wrapped] {
    // Most types take some of these; which, they say themselves.
    var read = candidates(Wrapped.magicKind).compactMap { try? Wrapped(magicValue: $0) }
    if Wrapped.magicKind == .coded, let coded = type as? any Decodable.Type,
      let example = ExampleDecoder.value(of: coded) as? Wrapped
    {
      read = [example]
    }
    guard read.count < 2 else { return read }
    let cases = cases(of: type)
    return cases.isEmpty ? read : cases
  }

  private static func candidates(_ kind: Value.Kind) -> [Value] {
    switch kind {
    // Bool takes the first and the last.
    case .integer: [1, 2, -7, 1_234_577, -54_321, 0x5bd1_e995_27d4_eb2f, -0x27d4_eb2f_5bd1_e995, 0].map { .integer($0) }
    // A Float has them as well.
    case .real: [1, 1234.375, -0.40625, 0x1.2345p60, -0x1.5432p61, 0].map { .real($0) }
    // A UUID takes the last two.
    case .text:
      [
        .text("aB"), .text("hTTp://User:Pw@Host.example:8080/a/../b.Ext/?q=1#f"), .text(" aB\u{e9}e\u{301} /?\n"),
        .text("zY\t\u{1f469}\0 "), .text(""),
        .text(String(repeating: "Ab ", count: 400)),
        .text("5bD1e995-27d4-4B2f-9b97-f4A7c15a0001"),
        .text("27D4eb2F-5bd1-4995-8b97-f4a7C15a0002"),
      ]
    case .bytes:
      [
        .bytes([0x5b, 0xd1, 0xe9, 0x95]), .bytes([0x27, 0xd4, 0xeb, 0x2f]),
        .bytes((0..<1_200).map { UInt8(truncatingIfNeeded: $0 * 157 + $0 / 256) }), .bytes([]),
      ]
    // What the decoder of examples makes nothing of.
    case .coded: [.coded(Array("[]".utf8)), .coded(Array("{}".utf8))]
    case .asset: [.null]
    case .reference, .list, .set, .dictionary: []
    }
  }

  /// Keys for a dictionary's stand-ins: so many, if the type takes texts or whole numbers; else as many as there are examples.
  static func keys<Key: Codable>(_ count: Int, of type: Key.Type) -> [Key] {
    let texts: [(Int) -> String] = [{ "\"\($0)\"" }, { "\($0)" }]
    for text in texts {
      let keys = (0..<count).compactMap { try? CanonicalJSON.read(type, from: .coded(Array(text($0).utf8))) }
      if keys.count == count { return keys }
    }
    if let magical = type as? any Magical.Type {
      let keys = values(of: magical, as: type)
      if !keys.isEmpty { return keys }
    }
    return ExampleDecoder.value(of: type).map { [$0] } ?? cases(of: type)
  }

  /// One of a type that a decoder makes of no text or number that is empty: a UUID, a URL, an enum.
  static func plain<Coded>(_ type: Coded.Type) -> Coded? {
    if let magical = type as? any Magical.Type, [.integer, .real, .text, .bytes].contains(magical.magicKind) {
      return values(of: magical, as: type).first
    }
    return cases(of: type).first
  }

  private static func values<Wrapped: Magical, Wanted>(of type: Wrapped.Type, as _: Wanted.Type) -> [Wanted] {
    values(of: type).compactMap { $0 as? Wanted }
  }

  /// The first two cases of an enum whose raw values cannot be guessed. In memory an enum without payloads, or with one that
  /// fits the same byte, is the number of its case, from 0; one of a single case takes no memory, as one of none does, of which
  /// there is no value (Swift's ABI/TypeLayout.rst, "Multi-payload enums" and "Empty enums").
  static func cases<Wrapped>(of type: Wrapped.Type) -> [Wrapped] {
    guard _isPOD(type), MemoryLayout<Wrapped>.size == 1 || MemoryLayout<Wrapped>.size == 0 && hasCases(type),
      Mirror(reflecting: number(0, as: type)).displayStyle == .enum
    else { return [] }
    return MemoryLayout<Wrapped>.size == 0 ? [number(0, as: type)] : [number(0, as: type), number(1, as: type)]
  }

  /// Whether it is an enum with cases: its metadata's second word is the address of its descriptor, in which the cases with and
  /// without payloads are counted (Swift's ABI/Metadata.h, TargetEnumMetadata and TargetEnumDescriptor).
  private static func hasCases(_ type: Any.Type) -> Bool {
    let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
    guard metadata.load(as: UInt.self) == 0x201 else { return false }
    let word = metadata.load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
    #if _ptrauth(_arm64e)
      // It is signed.
      let address = word & 0x7fff_ffff_ffff
    #else
      let address = word
    #endif
    guard let descriptor = UnsafeRawPointer(bitPattern: address) else { return false }
    let payloads = descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xff_ffff
    return payloads > 0 || descriptor.load(fromByteOffset: 24, as: UInt32.self) > 0
  }

  private static func number<Wrapped>(_ number: UInt8, as type: Wrapped.Type) -> Wrapped {
    withUnsafeBytes(of: number) { $0.loadUnaligned(as: type) }
  }
}
