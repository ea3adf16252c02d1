package import MagicJournal

/// The entry of an object that has the highest stamp, where it stands: nothing is made of its values.
package struct LatestEntry {
  package let stamp: Stamp
  package let root: ReplicaID
  package let place: EntryPlace
  package let head: StoredHead
  /// Of its whole row.
  let row: [UInt8]
  /// Where its fields begin, behind its object's name, and where they end.
  private let fields: Range<Int>

  /// - Parameters:
  ///   - range: of the row.
  ///   - count: of the types that there are.
  init(
    _ stamp: Stamp, _ root: ReplicaID, _ place: EntryPlace, _ row: [UInt8], _ range: Range<Int>, types count: Int
  ) throws(JournalError) {
    (self.stamp, self.root, self.place, self.row) = (stamp, root, place, row)
    var reader = ByteReader(row, range)
    head = try StoredHead(from: &reader, count)
    try ObjectKey.skip(&reader)
    fields = reader.offset..<range.upperBound
  }

  /// Whether its row is so small that to write it anew is no matter: one with an entry of more than a page or two is mostly that entry.
  package var isInSmallRow: Bool { row.count <= 8_192 }

  /// Whether it sets all fields that an earlier update of the object sets, of a type in which no two fields compete for a name.
  ///
  /// - Parameter differing: gets the indexes of the update's values that are others here.
  package func setsAll(
    of update: EncodedEntry, as type: LearntType, _ schema: TypeSchema, differing: inout [Int]
  ) throws(JournalError) -> Bool {
    differing.removeAll(keepingCapacity: true)
    var (reader, found) = (ByteReader(row, fields), 0)
    try update.forEachField(as: type) { index, field throws(JournalError) in
      // Both rise.
      while !reader.isAtEnd {
        let own = try reader.index(below: schema.fields.count, "field")
        let start = reader.offset
        _ = try Value.pass(&reader)
        guard own == field else { continue }
        let isSame = reader.withBytes { bytes in
          UnsafeRawBufferPointer(rebasing: bytes[start..<reader.offset]).hasSameBytes(as: update.bytes(ofValueAt: index))
        }
        if !isSame { differing.append(index) }
        found += 1
        break
      }
    }
    return found == update.fieldCount
  }

  /// A value that it sets; else null.
  package func value(of field: Int) throws(JournalError) -> Value {
    var reader = ByteReader(row, fields)
    while !reader.isAtEnd {
      let (other, value) = (try reader.varint(), try Value(from: &reader))
      if other == UInt64(field) { return value }
    }
    return .null
  }
}
