/// Reads what a `ByteWriter` of this program has just written, or what a `ByteReader` has passed over: nothing of it can be
/// damaged.
extension UnsafeRawBufferPointer {
  @inlinable package func varint(_ position: inout Int) -> UInt64 {
    var (number, shift): (UInt64, UInt64) = (0, 0)
    while true {
      let byte = self[position]
      position += 1
      number |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return number }
      shift += 7
    }
  }

  func fixed<Number: FixedWidthInteger>(_: Number.Type, _ position: inout Int) -> Number {
    defer { position += Number.bitWidth / 8 }
    return Number(bigEndian: loadUnaligned(fromByteOffset: position, as: Number.self))
  }

  func block(_ position: inout Int) -> UnsafeRawBufferPointer {
    let count = Int(varint(&position))
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: self[position..<position + count])
  }
}

extension UnsafeRawBufferPointer {
  /// A varint in untrusted bytes, checked as `ByteReader.varint` does; `nil` if there is no valid one before `end`.
  @inlinable package func varint(_ position: inout Int, before end: Int) -> UInt64? {
    var (number, shift): (UInt64, UInt64) = (0, 0)
    while position < end {
      let byte = self[position]
      position += 1
      guard shift < 63 || byte <= 1 else { return nil }
      number |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return byte != 0 || shift == 0 ? number : nil }
      shift += 7
    }
    return nil
  }

  /// Eight at a time.
  @inlinable package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
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

  var isUTF8: Bool {
    var (offset, high): (Int, UInt64) = (0, 0)
    while offset + 8 <= count {
      high |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    while offset < count {
      high |= UInt64(self[offset])
      offset += 1
    }
    // Mostly there is ASCII alone. To decode the rest, and to see whether that has repaired anything, takes half of what
    // `String(validating:as:)` does.
    guard high & 0x8080_8080_8080_8080 != 0 else { return true }
    var text = String(decoding: self, as: UTF8.self)
    return text.withUTF8 { UnsafeRawBufferPointer($0).hasSameBytes(as: self) }
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

/// Writes into a buffer that is known to be large enough.
extension UnsafeMutableRawBufferPointer {
  @inlinable package func put(_ value: UInt64, _ position: inout Int) {  // V-2
    var rest = value
    while rest >= 0x80 {
      self[position] = UInt8(truncatingIfNeeded: rest) | 0x80
      position += 1
      rest >>= 7
    }
    self[position] = UInt8(rest)
    position += 1
  }

  @inlinable package func put(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) {
    UnsafeMutableRawBufferPointer(rebasing: self[position..<position + bytes.count]).copyMemory(from: bytes)
    position += bytes.count
  }
}
