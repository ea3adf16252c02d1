/// Whether two entries of a transaction may be of one object: hashes of all, compared when the last one is there.
struct SpokenObjects {
  private var hashes: [UInt64] = []
  private let count: Int

  /// As many as a cache of the machine holds beside others: a table of all would have to be fetched for each.
  private static let atOnce = 512
  private static let maxSteps = 64

  init(_ count: Int) {
    self.count = count
    if count > 1 { hashes.reserveCapacity(count) }
  }

  mutating func insert(_ hash: UInt64) { if count > 1 { hashes.append(hash) } }

  /// Whether two hashes are the same, or too close to tell: those that begin with the same bits are brought together, and then
  /// looked at.
  var haveTwins: Bool {
    guard hashes.count > 1 else { return false }
    let bits = max(0, Int.bitWidth - (hashes.count / SpokenObjects.atOnce).leadingZeroBitCount)
    // A shift by all bits gives 0.
    let shift = UInt64(UInt64.bitWidth - bits)
    var ends = [Int](repeating: 0, count: 1 << bits)
    for hash in hashes { ends[Int(hash >> shift)] += 1 }
    var sum = 0
    for place in ends.indices {
      (ends[place], sum) = (sum, sum + ends[place])
    }
    var sorted = [UInt64](repeating: 0, count: hashes.count)
    for hash in hashes {
      sorted[ends[Int(hash >> shift)]] = hash
      ends[Int(hash >> shift)] += 1
    }
    var (table, start) = ([UInt64](), 0)
    for end in ends {
      if SpokenObjects.hasTwins(sorted[start..<end], &table) { return true }
      start = end
    }
    return false
  }

  /// - Parameter table: memory that is used again. 0 stands for none, and for itself.
  private static func hasTwins(_ hashes: ArraySlice<UInt64>, _ table: inout [UInt64]) -> Bool {
    guard hashes.count > 1 else { return false }
    let bits = Int.bitWidth - (2 * hashes.count - 1).leadingZeroBitCount
    if table.count < 1 << bits { table = Array(repeating: 0, count: 1 << bits) }
    let mask = 1 << bits - 1
    for place in 0...mask { table[place] = 0 }
    var hasZero = false
    for hash in hashes {
      guard hash != 0 else {
        if hasZero { return true }
        hasZero = true
        continue
      }
      // The first bits are the same.
      var place = Int(truncatingIfNeeded: hash) & mask
      var steps = 0
      while table[place] != 0, table[place] != hash {
        place = (place + 1) & mask
        steps += 1
        // Hashes that others have chosen may be close: then entries themselves are compared.
        if steps == maxSteps { return true }
      }
      if table[place] == hash { return true }
      table[place] = hash
    }
    return false
  }
}
