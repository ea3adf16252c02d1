internal import CZlib

/// One-shot zlib streams (RFC 1950) and CRC-32, from the system's library.
package enum Zlib {
  /// Level 6 packs a tenth smaller than level 1 and is still faster than most links.
  package static func deflate(_ bytes: [UInt8], level: Int32 = 6) throws(JournalError) -> [UInt8] {
    let bound = Int(compressBound(uLong(bytes.count)))
    var status = Z_OK
    let packed = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      var length = uLong(buffer.count)
      status = compress2(buffer.baseAddress, &length, bytes, uLong(bytes.count), level)
      count = status == Z_OK ? Int(length) : 0
    }
    guard status == Z_OK else { throw JournalError(.tooLarge, "zlib could not compress (\(status))") }
    return packed
  }

  /// Exactly `count` bytes, which the caller has checked against a limit; never writes more.
  package static func inflate(_ packed: ArraySlice<UInt8>, to count: Int) throws(JournalError) -> [UInt8] {
    var status = Z_OK
    var consumed = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: max(count, 1)) { buffer, filled in
      var length = uLong(count)
      packed.withUnsafeBufferPointer { source in
        var read = uLong(source.count)
        status = uncompress2(buffer.baseAddress, &length, source.baseAddress, &read)
        consumed = Int(read)
      }
      filled = status == Z_OK ? Int(length) : 0
    }
    guard status == Z_OK, bytes.count == count, consumed == packed.count else {
      throw JournalError(.damaged, "the compressed body is damaged (zlib \(status))", offset: packed.startIndex)
    }
    return bytes
  }

  /// The checksum of a whole that comes in pieces: `before` is that of the pieces before, 0 at first.
  package static func checksum(_ piece: UnsafeRawBufferPointer, after before: UInt32) -> UInt32 {
    UInt32(crc32_z(uLong(before), piece.baseAddress?.assumingMemoryBound(to: UInt8.self), piece.count))
  }

  /// What a damaged stream gives before it breaks off, at most `count` bytes.
  package static func inflatePrefix(_ packed: ArraySlice<UInt8>, atMost count: Int) -> [UInt8] {
    var packed = Array(packed)
    return [UInt8](unsafeUninitializedCapacity: max(count, 1)) { buffer, filled in
      packed.withUnsafeMutableBufferPointer { source in
        var stream = z_stream()
        guard inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return }
        defer { inflateEnd(&stream) }
        stream.next_in = source.baseAddress
        stream.avail_in = UInt32(source.count)
        stream.next_out = buffer.baseAddress
        stream.avail_out = UInt32(count)
        while CZlib.inflate(&stream, Z_NO_FLUSH) == Z_OK, stream.avail_in > 0, stream.avail_out > 0 {}
        filled = count - Int(stream.avail_out)
      }
    }
  }

  package static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.withUnsafeBufferPointer { UInt32(crc32_z(0, $0.baseAddress, $0.count)) }
  }
}
