/// The objects of one fetch: one instance for each row, whoever holds it.
final class FetchedObjects {
  /// Those of one type, row by row.
  final class OfType<Object: MagicObject> {
    private let rows: RowsByZIndex
    private let objects: UnsafeMutablePointer<Object>
    private var count = 0
    /// Rows that have a value which cannot be read: there is no object.
    private var unreadable: Set<Int> = []

    /// - Parameter rows: by z index; negative for what was looked for and is not there.
    init(_ rows: RowsByZIndex, count: Int) {
      self.rows = rows
      objects = .allocate(capacity: count)
    }

    deinit {
      if unreadable.isEmpty {
        objects.deinitialize(count: count)
      } else {
        for row in 0..<count where !unreadable.contains(row) { (objects + row).deinitialize(count: 1) }
      }
      objects.deallocate()
    }

    /// Makes the object of the next row.
    /// - Parameter body: `false` if there is none.
    func add(_ body: (UnsafeMutablePointer<Object>) throws -> Bool) rethrows {
      if try !body(objects + count) { unreadable.insert(count) }
      count += 1
    }

    subscript(row: Int) -> UnsafePointer<Object>? {
      unreadable.isEmpty || !unreadable.contains(row) ? UnsafePointer(objects + row) : nil
    }

    func find(_ zIndex: Int64) -> UnsafePointer<Object>? {
      guard let row = rows[zIndex], row >= 0 else { return nil }
      return self[row]
    }

    /// Whether there is an object that has a value which cannot be read.
    func isUnreadable(_ zIndex: Int64) -> Bool { rows[zIndex].map { unreadable.contains($0) } ?? false }
  }

  private var types: [ObjectIdentifier: AnyObject] = [:]

  func all<Object: MagicObject>(_: Object.Type) -> OfType<Object>? {
    types[ObjectIdentifier(Object.self)].map { unsafeDowncast($0, to: OfType<Object>.self) }
  }

  func add<Object: MagicObject>(_ objects: OfType<Object>) {
    types[ObjectIdentifier(Object.self)] = objects
  }
}
