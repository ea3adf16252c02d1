/// Objects that are made part by part and become one array in the end. (To append each to an array would look up the array's type each time.)
final class ObjectParts<Object> {
  private var parts: [(start: UnsafeMutablePointer<Object>, count: Int)] = []

  deinit {
    for part in parts {
      part.start.deinitialize(count: part.count)
      part.start.deallocate()
    }
  }

  /// - Parameter make: makes a part from an address on, and tells how many it has, which are none if it throws.
  func add(_ most: Int, _ make: (UnsafeMutablePointer<Object>) throws -> Int) rethrows {
    let start = UnsafeMutablePointer<Object>.allocate(capacity: most)
    do {
      parts.append((start, try make(start)))
    } catch {
      start.deallocate()
      throw error
    }
  }

  /// All of them; none is left here.
  func take() -> [Object] {
    Array(unsafeUninitializedCapacity: parts.reduce(0) { $0 + $1.count }) { objects, count in
      for part in parts {
        if let first = objects.baseAddress { (first + count).moveInitialize(from: part.start, count: part.count) }
        count += part.count
        part.start.deallocate()
      }
      parts = []
    }
  }
}
