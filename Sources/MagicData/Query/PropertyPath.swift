internal import MagicJournal

/// Which stored property a key path means: `\Book.title`, `\Book.$title`, or a computed property that only hands one on.
///
/// A key path does not say. So it is read of an instance in which nothing is set, several times: what it reads is the property, if it reads that one
/// alone and gives back what it got, each time another value.
enum PropertyPath {
  /// Key paths come from source code, so there are not many of them.
  private static let known = Locked<[AnyKeyPath: Int]>([:])

  /// The property's index among those of the type's layout.
  /// - Throws: `MagicDataError` with `query` if it is none.
  static func index<Object: MagicObject>(of path: PartialKeyPath<Object>) throws -> Int {
    if let index = known.withLock({ $0[path] }) { return index }
    let readings = PropertyRecorder.rounds.map { Reading(path, round: $0) }
    guard let index = readings[0].index, readings.allSatisfy({ $0.index == index }) else {
      throw Reading.refusal(of: readings, Object.magicName)
    }
    guard !readings[0].holdsObjects[index] else {
      throw MagicDataError(
        .query, "a key path of \(Object.magicName) leads to a property that holds objects, which a query cannot ask for")
    }
    known.withLock { $0[path] = index }
    return index
  }
}

private struct Reading {
  /// Of the property, if the key path gave back its value.
  let index: Int?
  /// The names of the properties that were read, in the order of their declaration.
  private let names: [String]
  private let isDoubtful: Bool
  /// By property.
  let holdsObjects: [Bool]

  init<Object: MagicObject>(_ path: PartialKeyPath<Object>, round: Int) {
    let probe = Object()
    let wrappers = Layout.wrappers(of: probe).filter { type(of: $0.wrapper).role != .reverse }
    let properties = wrappers.map { (name: $0.label.dropFirst(), slot: $0.wrapper.property) }
    holdsObjects = wrappers.map { type(of: $0.wrapper).valueType.magicKind.isRelation }
    for property in properties { property.slot.storage[property.slot.index].slot = .unset }
    func index(of slot: PropertySlot) -> Int? {
      properties.firstIndex { $0.slot.storage === slot.storage && $0.slot.index == slot.index }
    }

    let recorder = PropertyRecorder(round: round)
    let value = recorder.record { probe[keyPath: path] }
    // The type is asked first, or an optional wrapper would be taken for one.
    if type(of: value) is any MagicProperty.Type, let wrapper = value as? any MagicProperty {
      self.index = index(of: wrapper.property)
      names = []
      isDoubtful = false
      return
    }
    let read = recorder.reads.map { index(of: $0.property) }
    names = Set(read.compactMap { $0 }).sorted().map { String(properties[$0].name) }
    isDoubtful = recorder.reads.contains { !$0.isTelling }
    let isSame = Set(read).count == 1 && recorder.reads.first.map { Reading.isSame(value, $0.standIn) } ?? false
    self.index = isSame && !isDoubtful ? read[0] : nil
  }

  private static func isSame(_ value: Any, _ standIn: any Magical) -> Bool {
    guard let value = value as? any Magical, type(of: value) == type(of: standIn) else { return false }
    return (try? value.magicValue) == (try? standIn.magicValue)
  }

  static func refusal(of readings: [Reading], _ type: String) -> MagicDataError {
    if readings[0].isDoubtful, let name = readings[0].names.first {
      return MagicDataError(.query, "write $0.$\(name) in place of $0.\(name) to ask for \(type).\(name)")
    }
    let names = readings.map(\.names).max { $0.count < $1.count } ?? []
    return MagicDataError(
      .query,
      names.isEmpty
        ? "a key path of \(type) leads to no stored property; only what is stored can be asked for"
        : """
        a key path of \(type) leads to a value that is worked out from \(names.joined(separator: ", ")); only what is stored can be \
        asked for
        """)
  }
}
