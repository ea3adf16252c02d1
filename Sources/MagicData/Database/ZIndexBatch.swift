/// Objects that one statement reads: a statement for each would cost more than what it reads.
struct ZIndexBatch {
  private let zIndexes: ArraySlice<Int64>

  private static let size = 64
  static let marks = Array(repeating: "?", count: size).joined(separator: ", ")

  static func all(_ zIndexes: [Int64]) -> [ZIndexBatch] {
    stride(from: 0, to: zIndexes.count, by: size).map { start in
      ZIndexBatch(zIndexes: zIndexes[start..<min(start + size, zIndexes.count)])
    }
  }

  /// Marks that are too many get the last one again.
  func bind(to select: inout SQL) throws {
    for place in 0..<ZIndexBatch.size {
      try select.bind(zIndexes[min(zIndexes.startIndex + place, zIndexes.endIndex - 1)])
    }
  }
}
