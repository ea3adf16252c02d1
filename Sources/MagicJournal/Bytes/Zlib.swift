internal import CZlib
internal import Dispatch

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Zlib streams (RFC 1950) and CRC-32, from the system's library.
package enum Zlib {
  /// Level 6 packs a tenth smaller than level 1 and is still faster than most links.
  private static let level: Int32 = 6
  /// What one thread packs of a long stream.
  private static let block = 1 << 20
  /// How far back a match may lie: what a block knows of the one before it, so that next to nothing is lost by the cut.
  private static let window = 1 << 15

  /// One caller at a time uses other threads: tasks run on them, and several callers would leave none to these.
  private static let turn = DispatchSemaphore(value: 1)

  /// A long stream is packed on as many threads as there are, or on this one while another has those, into the same bytes
  /// however many these are.
  package static func deflate(_ bytes: [UInt8]) throws(JournalError) -> [UInt8] {
    let blocks = stride(from: 0, to: max(bytes.count, 1), by: block).map { $0..<min($0 + block, bytes.count) }
    let packed = bytes.withUnsafeBufferPointer { bytes in
      [[UInt8]?](unsafeUninitializedCapacity: blocks.count) { packed, count in
        // Each thread fills places of its own, and all are done before this goes on.
        nonisolated(unsafe) let (bytes, start) = (bytes, packed.baseAddress)
        @Sendable func pack(_ index: Int) { (start! + index).initialize(to: deflate(bytes, blocks[index])) }
        if blocks.count > 1, turn.wait(timeout: .now()) == .success {
          DispatchQueue.concurrentPerform(iterations: blocks.count, execute: pack)
          turn.signal()
        } else {
          for index in blocks.indices { pack(index) }
        }
        count = blocks.count
      }
    }
    // What zlib writes itself before a stream of this level, with a window of 32 KiB.
    var stream: [UInt8] = [0x78, 0x9C]
    for part in packed {
      guard let part else { throw JournalError(.tooLarge, "zlib could not compress") }
      stream += part
    }
    let sum = bytes.withUnsafeBufferPointer { UInt32(adler32_z(1, $0.baseAddress, $0.count)) }
    withUnsafeBytes(of: sum.bigEndian) { stream += $0 }
    return stream
  }

  /// A block of a stream, which ends with a whole byte, or, the last one, with the stream. `nil` if zlib has no memory.
  private static func deflate(_ bytes: UnsafeBufferPointer<UInt8>, _ block: Range<Int>) -> [UInt8]? {
    var stream = z_stream()
    let size = Int32(MemoryLayout<z_stream>.size)
    guard deflateInit2_(&stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    if block.lowerBound > 0 {
      let before = bytes[block.lowerBound - window..<block.lowerBound]
      deflateSetDictionary(&stream, UnsafeBufferPointer(rebasing: before).baseAddress, UInt32(window))
    }
    let isLast = block.upperBound == bytes.count
    // With room for the mark at which a block ends.
    let room = Int(deflateBound(&stream, uLong(block.count))) + 16
    var isDone = false
    let packed = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      stream.next_in = bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0 + block.lowerBound) }
      stream.avail_in = UInt32(block.count)
      stream.next_out = buffer.baseAddress
      stream.avail_out = UInt32(room)
      let status = CZlib.deflate(&stream, isLast ? Z_FINISH : Z_SYNC_FLUSH)
      isDone = isLast ? status == Z_STREAM_END : status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0
      count = room - Int(stream.avail_out)
    }
    // Its room is four times what most need.
    return isDone ? packed.withUnsafeBufferPointer { Array($0) } : nil
  }

  /// Exactly `count` bytes, which the caller has checked against a limit; never writes more.
  package static func inflate(_ packed: ArraySlice<UInt8>, to count: Int) throws(JournalError) -> [UInt8] {
    var status = Z_OK
    var consumed = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: max(count, 1)) { buffer, filled in
      preferLargePages(UnsafeMutableRawBufferPointer(buffer))
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

  /// Memory of a large body comes in pages of 2 MiB where the system has such: to fault it in by 4 KiB takes a third of the
  /// time that zlib takes to fill it.
  private static func preferLargePages(_ memory: UnsafeMutableRawBufferPointer) {
    #if os(Linux)
      guard let start = memory.baseAddress, memory.count >= 1 << 22 else { return }
      let page = sysconf(Int32(_SC_PAGESIZE))
      let first = (Int(bitPattern: start) + page - 1) & -page
      let end = (Int(bitPattern: start) + memory.count) & -page
      // A hint: without it all is as before.
      _ = madvise(UnsafeMutableRawPointer(bitPattern: first), end - first, MADV_HUGEPAGE)
    #endif
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
