internal import MagicJournal

/// Instances that rows became where they were read: on their way to an array. An instance is no more than a part of a storage
/// that is held as often as it has wrappers, so that to make it is to write where that is.
///
/// Some of them that were read one after the other share a storage. Who keeps one of these keeps the memory of all: so they are
/// few, one with long texts has a storage of its own, and so have all of a type with a value that needs memory of its own (it
/// may even hold a neighbour, and both would hold each other for good).
///
/// For types whose instances can be put together of a row and hold nothing that has to be fetched too (`Layout.isComposed`).
final class InstanceBuffer {
  private static let mostShared = 16
  /// The most bytes of texts of a row that shares its storage: one with more needs one of its own.
  static let mostText = 256

  private let layout: Layout
  private let place: Place
  let database: Identifier
  // Exclusive by what it is, as `FetchedRows` are.
  @exclusivity(unchecked) private var storages: [Storage] = []
  /// For how many instances the next one is to be: a fetch of few needs little memory.
  @exclusivity(unchecked) private var room = 1

  var count: Int { storages.reduce(0) { $0 + $1.taken } }

  /// - Returns: `nil` for a type of which there can be none.
  init?(_ layout: Layout, in database: Store) {
    guard layout.isComposed, let place = layout.firstPlace else { return nil }
    (self.layout, self.place, self.database) = (layout, place, database.id)
  }

  /// A storage for the next rows, once the last one has no more room.
  func next() -> Storage {
    let storage = Storage.make(room: room, of: layout.fetches.count, place)
    storages.append(storage)
    if layout.isScalar { room = min(room * 4, InstanceBuffer.mostShared) }
    return storage
  }

  /// Gives the last row a storage of its own. The next ones want another.
  func isolateLast() {
    room = 1
    guard let storage = storages.last, let own = storage.takeLast() else { return }
    if storage.taken == 0 { storages.removeLast() }
    storages.append(own)
  }

  /// Moves all of them to where there is room for so many.
  /// - Returns: how many they are.
  func move<Object: MagicObject>(to objects: UnsafeMutablePointer<Object>) -> Int {
    defer { storages = [] }
    var made = 0
    for storage in storages { made += layout.compose(UnsafeMutableRawPointer(objects + made), of: storage) }
    return made
  }

  /// Takes them apart again, each with a storage of its own.
  func takeStorages() -> [Storage] {
    var apart: [Storage] = []
    // Each is gone once it is empty.
    while let storage = storages.popLast() {
      while let own = storage.takeLast() { apart.append(own) }
      if storage.taken > 0 { apart.append(storage) }
    }
    return apart.reversed()
  }
}
