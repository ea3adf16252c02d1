/// Objects that one statement reads: a statement for each would cost more than what it reads, and a list of them more than all
/// that stands between the first and the last, where that is hardly more.
struct ZIndexBatch {
  /// Rising.
  private let zIndexes: ArraySlice<Int64>
  /// The first that a row may still be of.
  private var next: Int
  /// Whether it reads everything from the first to the last.
  let isRange: Bool

  private static let (inList, inRange) = (64, 512)
  static let marks = Array(repeating: "?", count: inList).joined(separator: ", ")

  private init(_ zIndexes: ArraySlice<Int64>, isRange: Bool) {
    (self.zIndexes, self.isRange) = (zIndexes, isRange)
    next = zIndexes.startIndex
  }

  /// - Parameter spare: how many others may be read for each that is asked for.
  static func all(_ zIndexes: [Int64], spare: Int) -> [ZIndexBatch] {
    parts(zIndexes.sorted()[...], inRange).flatMap { part in
      if isDense(part, spare) { return [ZIndexBatch(part, isRange: true)] }
      return parts(part, inList).map { ZIndexBatch($0, isRange: isDense($0, spare)) }
    }
  }

  private static func parts(_ zIndexes: ArraySlice<Int64>, _ size: Int) -> [ArraySlice<Int64>] {
    stride(from: zIndexes.startIndex, to: zIndexes.endIndex, by: size).map { start in
      zIndexes[start..<min(start + size, zIndexes.endIndex)]
    }
  }

  private static func isDense(_ zIndexes: ArraySlice<Int64>, _ spare: Int) -> Bool {
    guard let first = zIndexes.first, let last = zIndexes.last else { return false }
    let (distance, isFar) = last.subtractingReportingOverflow(first)
    return !isFar && distance < Int64(zIndexes.count * (1 + spare))
  }

  /// Marks that are too many get the last one again.
  func bind(to select: inout SQL) throws {
    guard let first = zIndexes.first, let last = zIndexes.last else { return }
    if isRange {
      try select.bind(first)
      return try select.bind(last)
    }
    for place in 0..<ZIndexBatch.inList {
      try select.bind(place < zIndexes.count ? zIndexes[zIndexes.startIndex + place] : last)
    }
  }

  /// Whether a row is of one that was asked for. Rows come by rising z indexes.
  mutating func takes(_ zIndex: Int64) -> Bool {
    while next < zIndexes.endIndex, zIndexes[next] < zIndex { next += 1 }
    return next < zIndexes.endIndex && zIndexes[next] == zIndex
  }
}
