extension Sequence where Element: FixedWidthInteger & UnsignedInteger {
  /// The sum, or the highest number that there is: what others say of sequences may come to more.
  package var clampedSum: Element {
    reduce(0) { sum, next in
      let (total, isAbove) = sum.addingReportingOverflow(next)
      return isAbove ? .max : total
    }
  }
}
