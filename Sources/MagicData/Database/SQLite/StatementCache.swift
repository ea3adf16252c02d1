/// The SQL of a type's statements, put together once: to do it for each row would cost more than the row.
final class StatementCache: Sendable {
  enum Use: Hashable {
    case zIndex(isBirth: Bool)
    case zIndexesOfNumbers
    case selectLast(isBirth: Bool)
    case key
    case keysAfter
    case delete
    case shown(Int)
    case owners(Int, required: [[Int]])
    case updateLast
    case highest
    case insert([Int], rows: Int)
    case update([Int], isBirth: Bool)
    case select([Int], StoredType.Condition)
    case take([Int], StoredType.Condition)
    case takeRange([Int], hasBirths: Bool)
  }

  private let texts = Locked<[Use: String]>([:])

  /// Those of writes, one for each set of properties that were written together.
  private let writes = Locked<[Use: WriteText]>([:])
  private let table: String

  /// What connections keep, by table. A type with many properties may have more such sets than memory has room for;
  /// connections, which keep statements, outlive what is known of a type.
  private static let kept = Locked<[String: Set<Use>]>([:])
  private static let maxKept = 256

  /// - Parameter table: its name.
  init(of table: String) {
    self.table = table
  }

  subscript(_ use: Use, _ make: () -> String) -> String {
    if let text = texts.withLock({ $0[use] }) { return text }
    let text = make()
    texts.withLock { $0[use] = text }
    return text
  }

  func write(_ use: Use, _ make: () -> String) -> WriteText {
    if let text = writes.withLock({ $0[use] }) { return text }
    let isKept = StatementCache.kept.withLock { kept in
      guard kept[table]?.count ?? 0 < StatementCache.maxKept else { return kept[table]?.contains(use) == true }
      kept[table, default: []].insert(use)
      return true
    }
    let text = WriteText(sql: make(), isKept: isKept)
    if isKept { writes.withLock { $0[use] = text } }
    return text
  }
}

/// The SQL of a write, and whether connections keep its statement.
package struct WriteText: Sendable {
  let sql: String
  let isKept: Bool
}

extension SQL {
  init(_ db: Connection, _ text: WriteText) throws { try self.init(db, text.sql, isKept: text.isKept) }
}
