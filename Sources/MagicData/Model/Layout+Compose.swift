/// Instances put together of rows.
extension Layout {
  /// Whether each of a row's values is what its property's slot holds, so that the row is an instance as it stands in its
  /// storage.
  func holds(_ row: Storage) -> Bool {
    firstPlace != nil && fetches.indices.allSatisfy { fetches[$0].holds(row[$0].slot) }
  }

  /// Puts an instance together that shows what a row holds, as `init()` and an assignment of each value would.
  ///
  /// The struct is its wrappers and nothing else (`firstPlace`), and a wrapper is a `PropertySlot`, so to initialize these is
  /// to initialize it.
  ///
  /// - Returns: how many instances of the rows that one storage holds these are.
  @discardableResult
  func compose(_ objects: UnsafeMutableRawPointer, of rows: consuming Storage) -> Int {
    let count = rows.taken * fetches.count
    guard count > 0 else { return 0 }
    let rows = Unmanaged.passRetained(rows)
    // Once for each wrapper. What stands side by side, the compiler does at once.
    var left = count - 1
    while left >= 8 {
      _ = rows.retain()
      _ = rows.retain()
      _ = rows.retain()
      _ = rows.retain()
      _ = rows.retain()
      _ = rows.retain()
      _ = rows.retain()
      _ = rows.retain()
      left -= 8
    }
    for _ in 0..<left { _ = rows.retain() }
    let wrappers = objects.bindMemory(to: PropertySlot.self, capacity: count)
    for slot in 0..<count {
      (wrappers + slot).initialize(
        to: PropertySlot(storage: rows.takeRetainedValue(), slot: Int32(truncatingIfNeeded: slot)))
    }
    return count / fetches.count
  }

  /// Whether instances are put together of rows, and there is nothing else to be fetched for them.
  var isComposed: Bool { firstPlace != nil && isPlain }
}
