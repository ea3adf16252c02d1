internal import MagicData
internal import MagicJournal

/// What a merge tells of values that lost: how many there are, and of some which. Their number has no bound, nor has their
/// size, and all are held until the merge is committed.
struct ToldConflicts {
  /// More than anybody looks at.
  private static let most = 1_000
  /// Bytes of values as JSON: beside what a merge takes anyway it is little.
  private static let mostBytes = 8 << 20

  private let events: EventSource?
  private(set) var count = 0
  private(set) var list: [MagicConflict] = []
  /// Bytes that are left for values.
  private var room = ToldConflicts.mostBytes

  /// - Parameter events: where they are told; where nobody listens they are only counted.
  init(_ events: EventSource?) {
    self.events = events
  }

  /// How many more are told.
  var left: Int { events?.isHeard == true ? ToldConflicts.most - list.count : 0 }

  /// Counts some that are not told.
  mutating func pass(_ count: Int) {
    self.count += count
  }

  /// - Parameter place: `nil` for the object as a whole.
  mutating func add(
    _ object: ObjectConflicts, _ place: ObjectConflicts.Place?, _ lost: ObjectConflicts.Write, _ won: ObjectConflicts.Write
  ) {
    count += 1
    guard left > 0 else { return }
    // A whole object has no value to tell.
    let (first, second): (String?, String?) = place == nil ? (nil, nil) : (text(lost.value), text(won.value))
    list.append(object.conflict(place, (lost, first), (won, second)))
  }

  /// Those of one object, in an order that does not depend on where its entries stand.
  mutating func sort(from first: Int) {
    list[first...].sort { ($0.property ?? "", $0.lost.time) < ($1.property ?? "", $1.lost.time) }
  }

  /// `nil` where there is no room for it.
  private mutating func text(_ value: Value?) -> String? {
    guard let value, value.encodedLength <= room else { return nil }
    let text = value.json
    guard text.utf8.count <= room else { return nil }
    room -= text.utf8.count
    return text
  }
}
