internal import GRDB

extension Store {
  /// What SQLite finds wrong with its file; nothing if all is well.
  package func integrityFaults(_ db: Connection) throws -> [String] {
    var check = try SQL(db, "PRAGMA integrity_check(20)")
    var faults: [String] = []
    while try check.step() { faults.append(check.text(0)) }
    return faults == ["ok"] ? [] : faults.map { "SQLite: \($0)" }
  }
}
