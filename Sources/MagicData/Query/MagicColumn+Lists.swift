internal import MagicJournal

extension MagicComparable {
  /// Whether the value is among these; `values.contains($0.pages)` is the same.
  public func isIn(_ values: some Sequence<Compared>) -> MagicPredicate {
    magicReference.asks { property in
      let values = try values.map { try $0.magicValue }
      // An empty asset is stored as nothing.
      let any = Condition.isAny(property, values.filter { $0 != .null })
      return values.contains(.null) ? .either(any, .isNil(property)) : any
    }
  }

  /// Whether the value is in the range; `range.contains($0.pages)` is the same.
  public func isIn(_ range: Range<Compared>) -> MagicPredicate where Compared: MagicOrdered { range.contains(self) }

  /// Whether the value is in the range, both bounds included.
  public func isIn(_ range: ClosedRange<Compared>) -> MagicPredicate where Compared: MagicOrdered { range.contains(self) }

  /// Whether the value is at the bound or above.
  public func isIn(_ range: PartialRangeFrom<Compared>) -> MagicPredicate where Compared: MagicOrdered { range.contains(self) }

  /// Whether the value is below the bound.
  public func isIn(_ range: PartialRangeUpTo<Compared>) -> MagicPredicate where Compared: MagicOrdered { range.contains(self) }

  /// Whether the value is at the bound or below.
  public func isIn(_ range: PartialRangeThrough<Compared>) -> MagicPredicate where Compared: MagicOrdered {
    range.contains(self)
  }

  // Bounds as they are: a list of generic ones takes longer to make than all else of a query.

  fileprivate func isWithin(_ comparison: Comparison, _ value: Compared) -> MagicPredicate {
    magicReference.asks { property in
      try MagicReference<Compared>.check(comparison)
      return .compares(property, [Condition.Bound(comparison, try value.magicValue)])
    }
  }

  fileprivate func isWithin(from lower: Compared, _ comparison: Comparison, _ upper: Compared) -> MagicPredicate {
    magicReference.asks { property in
      try MagicReference<Compared>.check(comparison)
      let lower = Condition.Bound(.greaterOrEqual, try lower.magicValue)
      return .compares(property, [lower, Condition.Bound(comparison, try upper.magicValue)])
    }
  }
}

extension Sequence where Element: Magical {
  /// Whether a column's value is among these: `[1, 2].contains($0.pages)`.
  public func contains(_ column: some MagicComparable<Element>) -> MagicPredicate { column.isIn(self) }
}

extension Range where Bound: MagicOrdered {
  /// Whether a column's value is in the range: `(1..<5).contains($0.pages)`.
  public func contains(_ column: some MagicComparable<Bound>) -> MagicPredicate {
    column.isWithin(from: lowerBound, .less, upperBound)
  }
}

extension ClosedRange where Bound: MagicOrdered {
  /// Whether a column's value is in the range: `(1...5).contains($0.pages)`.
  public func contains(_ column: some MagicComparable<Bound>) -> MagicPredicate {
    column.isWithin(from: lowerBound, .lessOrEqual, upperBound)
  }
}

extension PartialRangeFrom where Bound: MagicOrdered {
  /// Whether a column's value is in the range: `(5...).contains($0.pages)`.
  public func contains(_ column: some MagicComparable<Bound>) -> MagicPredicate {
    column.isWithin(.greaterOrEqual, lowerBound)
  }
}

extension PartialRangeUpTo where Bound: MagicOrdered {
  /// Whether a column's value is in the range: `(..<5).contains($0.pages)`.
  public func contains(_ column: some MagicComparable<Bound>) -> MagicPredicate {
    column.isWithin(.less, upperBound)
  }
}

extension PartialRangeThrough where Bound: MagicOrdered {
  /// Whether a column's value is in the range: `(...5).contains($0.pages)`.
  public func contains(_ column: some MagicComparable<Bound>) -> MagicPredicate {
    column.isWithin(.lessOrEqual, upperBound)
  }
}
