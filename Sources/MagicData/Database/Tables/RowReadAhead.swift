package import MagicJournal

/// Objects in consecutive rows, to be taken in order. Names stay encoded: to make a key takes longer than to read a row.
package struct RowReadAhead {
  private struct Row {
    let place: ObjectPlace
    let isText: Bool
    /// The end of its name in `names`.
    let end: Int
  }

  private var rows: [Row] = []
  private var names: [UInt8] = []
  private var taken = 0

  /// - Parameter count: how many come at most.
  package init(atMost count: Int = 0) {
    rows.reserveCapacity(count)
    names.reserveCapacity(count * UUIDText.length)
  }

  package var isEmpty: Bool { taken == rows.count }

  /// Whether no more rows are to be read at once: names may be long (V-7).
  var isFull: Bool { names.count >= 1 << 16 }

  mutating func append(_ name: UnsafeRawBufferPointer, isText: Bool, _ place: ObjectPlace) {
    names.append(contentsOf: name)
    rows.append(Row(place: place, isText: isText, end: names.count))
  }

  /// Takes the next one, if it is this one.
  package mutating func next(_ key: ObjectKey) -> ObjectPlace? { next { key.isNamed($0, isText: $1) } }

  package mutating func next(_ key: EncodedEntry.Name) -> ObjectPlace? { next { key.isNamed($0, isText: $1) } }

  private mutating func next(_ isNamed: (UnsafeRawBufferPointer, _ isText: Bool) -> Bool) -> ObjectPlace? {
    guard taken < rows.count else { return nil }
    let row = rows[taken]
    let start = taken == 0 ? 0 : rows[taken - 1].end
    guard names.withUnsafeBytes({ isNamed(UnsafeRawBufferPointer(rebasing: $0[start..<row.end]), row.isText) }) else {
      return nil
    }
    taken += 1
    return row.place
  }
}

extension ObjectKey {
  /// - Parameter isText: or a number's decimals; else a birth.
  fileprivate func isNamed(_ name: UnsafeRawBufferPointer, isText: Bool) -> Bool {
    switch self {
    case .primary(.text(var text)): isText && text.withUTF8 { UnsafeRawBufferPointer($0).hasSameBytes(as: name) }
    case .primary(.integer(let number)): isText && String(number).utf8.elementsEqual(name)
    case .primary: false
    case .birth(let birth): !isText && birth.bytes.elementsEqual(name)
    }
  }
}

extension EncodedEntry.Name {
  fileprivate func isNamed(_ name: UnsafeRawBufferPointer, isText: Bool) -> Bool {
    switch self {
    case .primary(.text(let text)): isText && text.hasSameBytes(as: name)
    case .primary(.uuid(let high, let low)): isText && UUIDText.isText(name, of: high, low)
    case .primary(let value): ObjectKey.primary(Value(value)).isNamed(name, isText: isText)
    case .birth(let birth): ObjectKey.birth(birth).isNamed(name, isText: isText)
    }
  }
}
