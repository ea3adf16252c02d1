extension Sequence where Element: FixedWidthInteger & UnsignedInteger {
  /// The sum, or the maximum if it overflows: sequences that others report may add up to more.
  package var clampedSum: Element {
    reduce(0) { sum, next in
      let (total, isAbove) = sum.addingReportingOverflow(next)
      return isAbove ? .max : total
    }
  }
}
