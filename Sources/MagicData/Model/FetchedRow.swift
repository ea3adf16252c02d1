internal import MagicJournal

/// A row on its way to an instance, in the storage that mostly becomes it as it is.
// @unchecked: a storage is one owner's. A look-up hands its only row on, and nothing of it stays where it was read; a row of
// `FetchedRows` goes nowhere without these.
struct FetchedRow: @unchecked Sendable {
  /// With the values by property, as they were stored. They may be moved out if something else is left in their place.
  let storage: Storage
  let place: ObjectPlace
  /// The birth of an object that is named by it.
  let birth: Birth?

  /// The values, of which none was taken.
  func stored() throws -> [Value] {
    try (0..<storage.header.count).map { try storage[$0].slot.value() ?? .null }
  }

  /// The object with a key, if it can be shown, or is asked for whether it can or not.
  static func find(
    _ key: ObjectKey, _ type: MappedType, _ db: Connection, mayBeIncomplete: Bool = false
  ) throws -> FetchedRow? {
    try find(key, type, SQL(db, type.selectByKey), mayBeIncomplete: mayBeIncomplete)
  }

  /// The object with a key, found by a statement that is prepared already.
  ///
  /// - Parameter select: the type's `selectByKey`.
  static func find(
    _ key: ObjectKey, _ type: MappedType, _ select: consuming SQL, mayBeIncomplete: Bool = false
  ) throws -> FetchedRow? {
    try select.withBound(key.value) { select in
      try type.reads.withUnsafeBufferPointer { reads in
        var reading = RowReading(nil, type, reads, nil, last: type.last, mayBeIncomplete: mayBeIncomplete)
        try select.forEachRow { values in try reading.read(values) }
        return reading.row
      }
    }
  }
}
