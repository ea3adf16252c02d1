internal import MagicJournal

/// Instances that rows became where they were read: on their way to an array. An instance is no more than a part of a storage that is held as often as it has wrappers,
/// so that to make it is to write where that is.
///
/// Some of them that were read one after the other share a storage. Who keeps one of these keeps the memory of all, so they are few, and one with a long text has a storage
/// of its own.
///
/// Of types whose instances can be put together of a row and hold nothing that has to be fetched as well (`Layout.isComposed`).
final class InstanceBuffer {
  private static let mostShared = 16
  /// In bytes: a text above that is long.
  static let longText = 256

  private let layout: Layout
  private let place: Place
  private let database: Identifier
  private var storages: [Storage] = []
  /// For how many instances the last one was made: a fetch of few needs little memory.
  private var shared = 0

  var count: Int { storages.reduce(0) { $0 + $1.taken } }

  /// - Returns: `nil` for a type of which there can be none.
  init?(_ layout: Layout, in database: Store) {
    guard layout.isComposed, let place = layout.firstPlace else { return nil }
    (self.layout, self.place, self.database) = (layout, place, database.id)
  }

  /// A storage for the next rows, once the last one has no more room.
  func next() -> Storage {
    shared = min(max(1, shared * 2), InstanceBuffer.mostShared)
    let storage = Storage.make(room: shared, of: layout.fetches.count, place)
    storages.append(storage)
    return storage
  }

  /// What is known of a row's instance.
  func record(_ place: ObjectPlace, _ birth: Birth?) -> Record {
    Record(database: database, keeper: nil, place: place, birth: birth)
  }

  /// Gives the last row a storage of its own. The next ones want another.
  func isolateLast() {
    storages.append(storages[storages.count - 1].takeLast())
    shared = 0
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
    defer { storages = [] }
    return storages.flatMap { storage in (0..<storage.taken).map { _ in storage.takeLast() }.reversed() }
  }
}
