internal import MagicData
internal import MagicJournal

/// There would be something of more replicas than a server takes.
package struct TooManyReplicas: Error {}

extension Connection {
  /// Makes a change to the journal, unless there is something of more replicas afterwards than a server takes. What clients
  /// send at once is merged one after the other, so only who merges knows.
  ///
  /// - Parameter most: `nil` where anybody may bring as many as he likes. Where there are more already, there may be as many as
  ///   there are.
  /// - Throws: `tooLarge`, for which the transaction is rolled back.
  func keepingReplicas<Result>(atMost most: Int?, _ change: () throws -> Result) throws -> Result {
    guard let most else { return try change() }
    let before = try JournalIndex(self).frontier().replicas.count
    let result = try change()
    guard try JournalIndex(self).frontier().replicas.count <= max(most, before) else {
      throw MagicDataError(
        .tooLarge, "this would be more than \(most) replicas, which is all that a server takes", cause: TooManyReplicas())
    }
    return result
  }
}
