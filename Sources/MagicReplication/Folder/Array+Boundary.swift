extension Array {
  /// The index of the first element for which it holds, or the end; it must hold for all that follow. O(log *n*).
  func boundary(_ isBeyond: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBeyond(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
