package import MagicJournal

/// The entry of an object that has the highest stamp, where it stands: nothing is made of its values.
package struct LatestEntry {
  package let place: EntryPlace
  package let head: StoredHead
  let row: JournalRow
  /// Where its fields begin, behind its object's name, and where they end.
  private let fields: Range<Int>

  /// - Parameters:
  ///   - range: of the row.
  ///   - count: of the types that there are.
  /// - Returns: `nil` if it cannot be read.
  init?(
    _ place: EntryPlace, of row: JournalRow, _ range: Range<Int>, types count: Int
  ) {
    let read = row.bytes.withUnsafeBytes { bytes -> (StoredHead, Int)? in
      guard let head = StoredHead(bytes, range, types: count) else { return nil }
      let name = range.lowerBound + head.length
      return ObjectKey.length(bytes, at: name, before: range.upperBound).map { (head, name + $0) }
    }
    guard let (head, start) = read else { return nil }
    (self.place, self.row, self.head, fields) = (place, row, head, start..<range.upperBound)
  }

  /// Whether its row is so small that to write it anew is no matter: one with an entry of more than a page or two is mostly
  /// that entry.
  package var isInSmallRow: Bool { row.bytes.count <= 8_192 }

  package var stamp: Stamp { row.stamp }
  package var root: ReplicaID { row.root }

  /// A value that is another one in an update.
  package struct Difference {
    /// The index of the update's value.
    package let index: Int
    /// Where its own one is.
    fileprivate let value: Range<Int>
  }

  /// Whether it sets all fields that an earlier update of the object sets.
  ///
  /// - Parameters:
  ///   - count: of the type's fields.
  ///   - differing: gets what is not the same.
  package func setsAll(
    of update: EncodedEntry, as type: LearntType, fields count: Int, differing: inout [Difference]
  ) throws(JournalError) -> Bool {
    differing.removeAll(keepingCapacity: true)
    let order = update.order(as: type)
    var (position, number) = (fields.lowerBound, 0)
    // Both rise.
    while number < update.fieldCount, position < fields.upperBound {
      let index = order?[number] ?? number
      let (field, value) = try next(&position, fields: count)
      guard field == type.fields[update.field(at: index)] else { continue }
      let isSame = row.bytes.withUnsafeBytes {
        UnsafeRawBufferPointer(rebasing: $0[value]).hasSameBytes(as: update.bytes(ofValueAt: index))
      }
      if !isSame { differing.append(Difference(index: index, value: value)) }
      number += 1
    }
    return number == update.fieldCount
  }

  /// A field, and where its value is.
  private func next(_ position: inout Int, fields count: Int) throws(JournalError) -> (Int, Range<Int>) {
    let start = position
    let plain = row.bytes.withUnsafeBytes { bytes -> (Int, Range<Int>)? in
      guard let field = bytes.varint(&position, before: fields.upperBound), field < UInt64(count),
        let length = Value.Encoded.length(bytes, at: position, before: fields.upperBound)
      else { return nil }
      return (Int(field), position..<position + length)
    }
    if let plain {
      position = plain.1.upperBound
      return plain
    }
    // One of objects, or none.
    var reader = ByteReader(row.bytes, start..<fields.upperBound)
    let field = try reader.index(below: count, "field")
    let value = reader.offset
    _ = try Value.pass(&reader)
    position = reader.offset
    return (field, value..<position)
  }

  /// What it sets in place of an update's value.
  package func value(of difference: Difference) throws(JournalError) -> Value {
    var reader = ByteReader(row.bytes, difference.value)
    return try Value(from: &reader)
  }
}

/// A row of `magic_journal`, as it was read.
final class JournalRow {
  let id: Int64
  let stamp: Stamp
  let root: ReplicaID
  let bytes: [UInt8]
  /// Where its entries are.
  private let parts: [Range<Int>]

  init(id: Int64, stamp: Stamp, root: ReplicaID, bytes: [UInt8], parts: [Range<Int>]) {
    (self.id, self.stamp, self.root, self.bytes, self.parts) = (id, stamp, root, bytes, parts)
  }

  /// `nil` if there is none.
  func part(_ index: Int) -> Range<Int>? { parts.indices.contains(index) ? parts[index] : nil }
}
