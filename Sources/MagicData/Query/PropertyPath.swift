internal import MagicJournal

/// Which stored property a key path means: `\Book.title`, `\Book.$title`, `\Book.author.name`, or a computed property that only
/// hands one on.
///
/// A key path does not say. So it is read of an instance in which nothing is set, several times: what it reads is the property,
/// if it reads that one alone and gives back what it got, each time another value, and nil as well if that is one. Of an object
/// that it reads, it may go on to a property.
enum PropertyPath {
  private struct Known {
    let route: PropertyRoute
    /// The hop to the objects of a property that holds some, as the last one of a path.
    let hop: Hop?
  }

  /// Key paths come from source code, so there are not many of them.
  private static let known = Locked<[AnyKeyPath: Known]>([:])

  /// What is known of key paths by where they are in memory, which is told without a look into them: one that stands in source
  /// code is mostly made once. Others may be put together again and again: if there are too many, all are forgotten.
  private static let seen = Locked<[ObjectIdentifier: (path: AnyKeyPath, known: Known)]>([:])
  private static let mostSeen = 512

  /// The property's index among those of the type's layout.
  /// - Throws: `MagicDataError` with `query` if it is none.
  static func index<Object: MagicObject>(of path: PartialKeyPath<Object>) throws -> Int {
    let found = try find(path)
    guard found.hop.map({ !$0.isMany }) ?? true, found.route.hops.isEmpty else {
      throw MagicDataError(
        .query, "a key path of \(Object.magicName) leads to objects, or to one of another table, which can have no index here")
    }
    return found.route.property
  }

  /// The way to a property that holds a value.
  static func route<Object: MagicObject>(of path: PartialKeyPath<Object>) throws -> PropertyRoute {
    let found = try find(path)
    guard found.hop == nil else {
      throw MagicDataError(.query, "a key path of \(Object.magicName) leads to objects, where a value is asked for")
    }
    return found.route
  }

  /// The way over a property that holds objects.
  static func hops<Object: MagicObject>(of path: PartialKeyPath<Object>) throws -> [Hop] {
    let found = try find(path)
    guard let hop = found.hop else {
      throw MagicDataError(.query, "a key path of \(Object.magicName) leads to a value, where objects are asked for")
    }
    return found.route.hops + [hop]
  }

  private static func find<Object: MagicObject>(_ path: PartialKeyPath<Object>) throws -> Known {
    if let seen = seen.withLock({ $0[ObjectIdentifier(path)] }) { return seen.known }
    let found = try known.withLock { $0[path] } ?? read(path)
    seen.withLock { seen in
      if seen.count == mostSeen { seen = [:] }
      seen[ObjectIdentifier(path)] = (path, found)
    }
    return found
  }

  private static func read<Object: MagicObject>(_ path: PartialKeyPath<Object>) throws -> Known {
    var way: [Reading.Step] = []
    var readings: [Reading] = []
    for round in PropertyRecorder.rounds {
      let reading = Reading(path, round: round)
      readings.append(reading)
      // The first one that tells is the last: a getter that works a value out may not bear the examples that follow.
      guard let found = reading.way, way.isEmpty || found.map(\.property) == way.map(\.property) else {
        throw Reading.refusal(of: readings, Object.magicName)
      }
      way = found
    }
    // What was read may be nil, which a getter may put something else in place of.
    for (number, step) in way.enumerated() where step.isOptional && readings[0].isValue {
      let reading = Reading.isOptional(path) ? Reading(path, round: 0, nilAt: number) : nil
      guard reading?.way?.map(\.property) == way.prefix(number + 1).map(\.property) else {
        throw Reading.refusal(of: readings, Object.magicName)
      }
    }
    let hops = way.dropLast().compactMap(\.hop)
    let found = Known(route: PropertyRoute(hops: hops, property: way[way.count - 1].property), hop: way[way.count - 1].hop)
    known.withLock { $0[path] = found }
    return found
  }
}

private struct Reading {
  struct Step {
    let property: Int
    let isOptional: Bool
    /// The hop to the objects of a property that holds some.
    let hop: Hop?
  }

  /// From the first property to the last, if the key path gave back the last one's value. Never empty.
  let way: [Step]?
  /// The names of the properties that were read, in the order of their declaration.
  private let names: [String]
  private let isDoubtful: Bool
  /// Whether the key path gave a value, and not the property itself, as `\.$title` does.
  let isValue: Bool

  init<Object: MagicObject>(_ path: PartialKeyPath<Object>, round: Int, nilAt: Int? = nil) {
    let probe = Object()
    let recorder = PropertyRecorder(round: round, nilAt: nilAt, ProbedObject(probe))
    let value = recorder.record { probe[keyPath: path] }
    var read: [PropertySlot] = recorder.reads.map(\.property)
    // The type is asked first, or an optional wrapper would be taken for one.
    let wrapper = type(of: value) is any MagicProperty.Type ? value as? any MagicProperty : nil
    isValue = wrapper == nil
    if let wrapper { read.append(wrapper.property) }
    let own = recorder.objects[0]
    names = Set(read.compactMap { own.index(of: $0) }).sorted().map { String(own.properties[$0].name) }
    isDoubtful = recorder.reads.contains { !$0.isTelling }
    let isSame = wrapper != nil || recorder.reads.last.map { StandIn.isSame(value, $0.standIn) } ?? false
    way = isSame && !isDoubtful ? Reading.way(read, recorder) : nil
  }

  /// Each read is of the object that stood in for what was read before.
  private static func way(_ read: [PropertySlot], _ recorder: PropertyRecorder) -> [Step]? {
    var object: ProbedObject? = recorder.objects[0]
    var steps: [Step] = []
    for slot in read {
      guard let index = object?.index(of: slot), let property = object?.properties[index] else { return nil }
      steps.append(Step(property: index, isOptional: property.isOptional, hop: StandIn.hop(index, property.type)))
      object = recorder.objects.first { $0.standsFor?.isSame(as: slot) ?? false }
    }
    return steps
  }

  /// Whether a key path's value may be nil.
  static func isOptional(_ path: AnyKeyPath) -> Bool { type(of: path).valueType is any ExpressibleByNilLiteral.Type }

  static func refusal(of readings: [Reading], _ type: String) -> MagicDataError {
    if let last = readings.last, last.isDoubtful, let name = last.names.first {
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
