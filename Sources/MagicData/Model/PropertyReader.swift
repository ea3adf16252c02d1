internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import MagicJournal

/// Tells SQL which stored values a required property's type can be read from, so that what no fetch can give out is in no query
/// either.
///
/// `magic_reads(number, value, former…)` is a function of each of our connections. Only types of which a value may be
/// unreadable are asked.
struct PropertyReader: Sendable {
  private let codec: Codec
  private let kind: Value.Kind
  private let former: [FormerKind]

  private static let known = Locked<[PropertyReader]>([])

  /// - Returns: the number under which SQL finds it; `nil` if every value of the kind can be read.
  static func number(_ codec: Codec, _ kind: Value.Kind, former: [FormerKind]) -> Int? {
    guard !codec.readsAll || !former.isEmpty else { return nil }
    return known.withLock { known in
      known.append(PropertyReader(codec: codec, kind: kind, former: former))
      return known.count - 1
    }
  }

  /// As a fetch does: the property's own value or, if there is none, the first of the former kinds'.
  private func reads(_ values: UnsafeBufferPointer<OpaquePointer?>) -> Bool {
    guard let own = values.first else { return true }
    var value = Value(stored: own, kind)
    for (index, former) in former.enumerated() where value == .null && index + 1 < values.count {
      value = former.readable(Value(stored: values[index + 1], former.kind))
    }
    return (try? codec.slot(of: value)) != nil
  }

  static func add(to db: Database) {
    sqlite3_create_function_v2(
      db.sqliteConnection, "magic_reads", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
      { context, count, values in
        let values = UnsafeBufferPointer(start: values, count: Int(count))
        let number = Int(sqlite3_value_int64(values.first ?? nil))
        let reader = PropertyReader.known.withLock { known in known.indices.contains(number) ? known[number] : nil }
        sqlite3_result_int(context, reader?.reads(UnsafeBufferPointer(rebasing: values.dropFirst())) ?? true ? 1 : 0)
      }, nil, nil, nil)
  }
}

extension Codec {
  fileprivate var readsAll: Bool {
    switch self {
    case .integer, .real, .date, .text: true
    case .bool, .uuid: false
    case .held(let type): type is Data.Type || type is Float.Type
    }
  }
}
