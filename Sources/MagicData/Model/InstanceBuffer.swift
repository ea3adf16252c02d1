internal import MagicJournal

/// Instances that rows became where they were read, while what they hold was at hand: on their way to an array. Each is no more than a storage that is held as
/// often as it has wrappers, so that to make them of it is to write where it is.
///
/// Of types whose instances can be put together of a row and hold nothing that has to be fetched as well (`Layout.isComposed`).
final class InstanceBuffer {
  private let layout: Layout
  private let database: Identifier
  private let keeper: Store?
  // Exclusive by what it is; to check it with each access costs as much as the access.
  @exclusivity(unchecked) private var storages: [Unmanaged<Storage>] = []

  var count: Int { storages.count }

  /// - Returns: `nil` for a type of which there can be none.
  init?(_ layout: Layout, in database: Store) {
    guard layout.isComposed else { return nil }
    (self.layout, self.database, keeper) = (layout, database.id, layout.asks ? database : nil)
  }

  deinit {
    for storage in storages { layout.letGo(storage) }
  }

  /// What the storage of a row's instance knows.
  func record(_ place: ObjectPlace, _ birth: Birth?) -> Record {
    Record(database: database, keeper: keeper, place: place, birth: birth)
  }

  /// - Parameter row: one with a record, and with values that are what their properties' slots hold.
  func append(_ row: consuming Storage) {
    storages.append(layout.hold(row))
  }

  /// Moves all of them to where there is room for so many.
  /// - Returns: how many they are.
  func move<Object: MagicObject>(to objects: UnsafeMutablePointer<Object>) -> Int {
    defer { storages = [] }
    for index in storages.indices { layout.compose(UnsafeMutableRawPointer(objects + index), ofHeld: storages[index]) }
    return count
  }

  /// Takes them apart again.
  func takeStorages() -> [Storage] {
    defer { storages = [] }
    return storages.map { storage in
      defer { layout.letGo(storage) }
      return storage.takeUnretainedValue()
    }
  }
}
