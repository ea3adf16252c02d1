internal import Foundation

/// The SQL of the journal's tables (Protocol/journal.md, Tables). Tables of types are in `StoredType`.
enum Statements {
  static let applicationID = 0x4D41_4749
  static let format = 1

  static let create = """
    CREATE TABLE magic_database (
      id INTEGER PRIMARY KEY CHECK (id = 1), data_set BLOB NOT NULL, settled INTEGER NOT NULL,
      replica INTEGER NOT NULL, last_stamp INTEGER NOT NULL, store BLOB NOT NULL);
    CREATE TABLE magic_replica (id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE);
    CREATE TABLE magic_type (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, primary_kind INTEGER NOT NULL, primary_name TEXT,
      table_name TEXT NOT NULL UNIQUE, UNIQUE (name, primary_kind));
    CREATE TABLE magic_field (
      type INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL, column_name TEXT NOT NULL,
      PRIMARY KEY (type, id), UNIQUE (type, name, kind)) WITHOUT ROWID;
    CREATE TABLE magic_transaction (
      id INTEGER PRIMARY KEY, replica INTEGER NOT NULL, sequence INTEGER NOT NULL, stamp INTEGER NOT NULL,
      tag INTEGER NOT NULL, root INTEGER NOT NULL, first_entry INTEGER NOT NULL, entry_count INTEGER NOT NULL,
      UNIQUE (replica, sequence));
    CREATE TABLE magic_entry (
      id INTEGER PRIMARY KEY, tx INTEGER NOT NULL, type INTEGER NOT NULL, z_index INTEGER NOT NULL, object NOT NULL,
      stamp INTEGER NOT NULL, operation INTEGER NOT NULL, base INTEGER, fields BLOB);
    CREATE INDEX magic_entry_of_object ON magic_entry (type, z_index, stamp);
    CREATE TABLE magic_absent (
      type INTEGER NOT NULL, object NOT NULL, z_index INTEGER NOT NULL, PRIMARY KEY (type, object)) WITHOUT ROWID;
    PRAGMA application_id = \(applicationID);
    PRAGMA user_version = \(format);
    """

  static let selectDatabase = """
    SELECT d.data_set, d.settled, d.replica, r.uuid, d.last_stamp, d.store,
      (SELECT max(sequence) FROM magic_transaction WHERE replica = d.replica),
      (SELECT max(id) FROM magic_transaction), (SELECT max(id) FROM magic_entry)
    FROM magic_database d JOIN magic_replica r ON r.id = d.replica
    """
  static let insertDatabase =
    "INSERT INTO magic_database (id, data_set, settled, replica, last_stamp, store) VALUES (1, ?, 0, ?, ?, ?)"
  static let settle = "UPDATE magic_database SET data_set = ?, settled = 1"
  static let moveClock = "UPDATE magic_database SET last_stamp = max(last_stamp, ?)"

  static let selectReplicas = "SELECT id, uuid FROM magic_replica"
  static let selectReplica = "SELECT id FROM magic_replica WHERE uuid = ?"
  static let insertReplica = "INSERT INTO magic_replica (uuid) VALUES (?)"

  static let selectTypes = "SELECT id, name, primary_kind, primary_name, table_name FROM magic_type ORDER BY id"
  static let selectFields = "SELECT type, name, kind, column_name FROM magic_field ORDER BY type, id"
  static let insertType =
    "INSERT INTO magic_type (id, name, primary_kind, primary_name, table_name) VALUES (?, ?, ?, ?, ?)"
  static let insertField = "INSERT INTO magic_field (type, id, name, kind, column_name) VALUES (?, ?, ?, ?, ?)"

  static let insertTransaction = """
    INSERT INTO magic_transaction (id, replica, sequence, stamp, tag, root, first_entry, entry_count)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """
  static let insertEntry = """
    INSERT INTO magic_entry (id, tx, type, z_index, object, stamp, operation, base, fields)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
  static let updateEntry = "UPDATE magic_entry SET operation = ?, base = ?, fields = ? WHERE id = ?"
  static let updateTransaction = "UPDATE magic_transaction SET entry_count = ? WHERE id = ?"
  static let lastSequence = "SELECT max(sequence) FROM magic_transaction WHERE replica = ?"
  static let selectName = "SELECT stamp, tag FROM magic_transaction WHERE replica = ? AND sequence = ?"
  static let selectTransactions = """
    SELECT t.sequence, t.stamp, t.tag, r.uuid, t.first_entry, t.entry_count
    FROM magic_transaction t JOIN magic_replica r ON r.id = t.root
    WHERE t.replica = ? AND t.sequence > ? ORDER BY t.sequence
    """
  static let selectEntries = """
    SELECT type, object, operation, base, fields FROM magic_entry WHERE id BETWEEN ? AND ? ORDER BY id
    """
  static let selectEntry = """
    SELECT id, object, operation, base, fields FROM magic_entry WHERE type = ? AND z_index = ? AND stamp = ? AND id >= ?
    """
  static let hasEntryFrom = "SELECT 1 FROM magic_entry WHERE type = ? AND z_index = ? AND stamp >= ? LIMIT 1"
  static let lastRemove = """
    SELECT e.stamp, t.replica FROM magic_entry e JOIN magic_transaction t ON t.id = e.tx
    WHERE e.type = ? AND e.z_index = ? AND e.operation = 0 ORDER BY e.stamp DESC LIMIT 1
    """
  static let selectHistory = """
    SELECT e.operation, e.base, e.fields, e.stamp, t.root
    FROM magic_entry e JOIN magic_transaction t ON t.id = e.tx WHERE e.type = ? AND e.z_index = ?
    """
  static let selectAllHistories = """
    SELECT e.operation, e.base, e.fields, e.stamp, t.root, e.type, e.z_index, e.object
    FROM magic_entry e JOIN magic_transaction t ON t.id = e.tx ORDER BY e.type, e.z_index
    """

  static let selectPosition = "SELECT (SELECT max(id) FROM magic_transaction), (SELECT max(id) FROM magic_entry)"
  static let selectTypeID = "SELECT id FROM magic_type WHERE name = ? AND primary_kind = ?"
  // The plus keeps SQLite from the index of objects, which would show it all entries of the type.
  static let hasEntryAfter = "SELECT 1 FROM magic_entry WHERE id > ? AND +type = ? LIMIT 1"
  static let selectArrivals = """
    SELECT t.id, t.replica, r.uuid, t.stamp, t.first_entry, t.entry_count
    FROM magic_transaction t CROSS JOIN magic_replica r ON r.id = t.replica WHERE t.id > ? ORDER BY t.id LIMIT ?
    """
  static let selectChanges =
    "SELECT type, z_index, object, operation, fields FROM magic_entry WHERE id BETWEEN ? AND ? ORDER BY id"

  static let selectSize = "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)"
  static let selectReplicaEnds = """
    SELECT r.uuid, (SELECT max(sequence) FROM magic_transaction WHERE replica = r.id) FROM magic_replica r
    """
  static let selectJournalSize = """
    SELECT count(*), sum(length(CAST(object AS BLOB)) + ifnull(length(fields), 0)) FROM magic_entry
    """
  static let countTransactions = "SELECT count(*) FROM magic_transaction"
  static let becomeReplica = "UPDATE magic_database SET replica = ?, store = ?"

  static let selectAbsent = "SELECT z_index FROM magic_absent WHERE type = ? AND object = ?"
  static let insertAbsent = "INSERT OR IGNORE INTO magic_absent (type, object, z_index) VALUES (?, ?, ?)"
  static let deleteAbsent = "DELETE FROM magic_absent WHERE type = ? AND object = ?"

  /// The one place where an identifier is quoted.
  static func quoted(_ name: String) -> String {
    "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
  }
}
