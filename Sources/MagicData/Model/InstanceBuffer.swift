internal import Foundation
internal import MagicJournal

/// Instances that rows became where they were read, while what they hold was at hand: on their way to an array, one behind the other.
///
/// Of types whose instances can be put together of a row and hold nothing that has to be fetched as well (`Layout.isComposed`).
final class InstanceBuffer {
  private let layout: Layout
  private let database: Identifier
  private let keeper: Store?
  /// Bytes of an instance.
  private let stride: Int
  // Exclusive by what it is; to check it with each access costs as much as the access.
  @exclusivity(unchecked) private var bytes: UnsafeMutableRawPointer?
  @exclusivity(unchecked) private var capacity = 0
  @exclusivity(unchecked) private(set) var count = 0

  /// - Returns: `nil` for a type of which there can be none.
  init?(_ layout: Layout, in database: Store) {
    guard layout.isComposed else { return nil }
    (self.layout, self.database, keeper) = (layout, database.id, layout.asks ? database : nil)
    stride = layout.properties.count * MemoryLayout<PropertySlot>.stride
  }

  deinit {
    for index in 0..<count { layout.decompose(start + index * stride) }
    free(bytes)
  }

  /// What the storage of a row's instance knows.
  func record(_ place: ObjectPlace, _ birth: Birth?) -> Record {
    Record(database: database, keeper: keeper, place: place, birth: birth)
  }

  /// - Parameter row: one with a record, and with values that are what their properties' slots hold.
  func append(_ row: consuming Storage) {
    if count == capacity { grow() }
    layout.compose(start + count * stride, of: row)
    count += 1
  }

  /// Moves all of them to where there is room for so many.
  /// - Returns: how many they are.
  func move<Object: MagicObject>(to objects: UnsafeMutablePointer<Object>) -> Int {
    defer { count = 0 }
    if count > 0 { UnsafeMutableRawPointer(objects).copyMemory(from: start, byteCount: count * stride) }
    return count
  }

  /// Takes them apart again.
  func takeStorages() -> [Storage] {
    defer { count = 0 }
    return (0..<count).map { layout.decompose(start + $0 * stride) }
  }

  private var start: UnsafeMutableRawPointer {
    guard let bytes else { preconditionFailure("there is room before there are instances") }
    return bytes
  }

  /// Instances are moved by moving their bytes.
  private func grow() {
    capacity = max(16, capacity * 2)
    guard let larger = realloc(bytes, capacity * stride) else { fatalError("there was no memory for \(capacity) objects") }
    bytes = larger
  }
}
