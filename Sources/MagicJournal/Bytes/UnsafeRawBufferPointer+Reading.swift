/// Reads what a `ByteWriter` of this program has just written: nothing of it can be damaged.
extension UnsafeRawBufferPointer {
  package func varint(_ position: inout Int) -> UInt64 {
    var (number, shift): (UInt64, UInt64) = (0, 0)
    while true {
      let byte = self[position]
      position += 1
      number |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return number }
      shift += 7
    }
  }

  func fixed(_ position: inout Int) -> UInt64 {
    defer { position += 8 }
    return UInt64(bigEndian: loadUnaligned(fromByteOffset: position, as: UInt64.self))
  }

  func block(_ position: inout Int) -> UnsafeRawBufferPointer {
    let count = Int(varint(&position))
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: self[position..<position + count])
  }
}

extension UnsafeRawBufferPointer {
  /// Eight at a time.
  package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    var offset = 0
    while offset + 8 <= count {
      guard
        loadUnaligned(fromByteOffset: offset, as: UInt64.self) == other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      else { return false }
      offset += 8
    }
    while offset < count {
      guard self[offset] == other[offset] else { return false }
      offset += 1
    }
    return true
  }
}

extension String {
  /// Unlike `==`, which finds canonically equivalent texts equal.
  func hasSameBytes(as other: String) -> Bool {
    let isSame = utf8.withContiguousStorageIfAvailable { own in
      other.utf8.withContiguousStorageIfAvailable { UnsafeRawBufferPointer(own).hasSameBytes(as: UnsafeRawBufferPointer($0)) }
    }
    return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
  }
}
