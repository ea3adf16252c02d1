internal import MagicJournal

/// The SQL of the journal's tables (Protocol/journal.md, Tables). Tables of types are in `StoredType`.
enum Statements {
  static let applicationID = 0x4D41_4749
  static let format = 1

  static let create = """
    CREATE TABLE magic_database (
      id INTEGER PRIMARY KEY CHECK (id = 1), data_set BLOB NOT NULL, settled INTEGER NOT NULL,
      replica INTEGER NOT NULL, last_stamp INTEGER NOT NULL, store BLOB NOT NULL, token BLOB NOT NULL);
    CREATE TABLE magic_replica (id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE);
    CREATE TABLE magic_type (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, primary_kind INTEGER NOT NULL, primary_name TEXT,
      table_name TEXT NOT NULL UNIQUE, UNIQUE (name, primary_kind));
    CREATE TABLE magic_field (
      type INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL, target INTEGER,
      column_name TEXT NOT NULL, PRIMARY KEY (type, id)) WITHOUT ROWID;
    CREATE TABLE magic_journal (
      id INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, tag INTEGER NOT NULL, root INTEGER NOT NULL, entries INTEGER,
      data BLOB NOT NULL);
    CREATE TABLE magic_run (
      first INTEGER PRIMARY KEY, replica INTEGER NOT NULL, sequence INTEGER NOT NULL, is_one INTEGER NOT NULL,
      UNIQUE (replica, sequence));
    CREATE TABLE magic_floor (
      replica INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, stamp INTEGER NOT NULL, tag INTEGER NOT NULL);
    CREATE TABLE magic_member (replica BLOB PRIMARY KEY, time INTEGER, frontier BLOB, expired INTEGER) WITHOUT ROWID;
    CREATE TABLE magic_absent (
      type INTEGER NOT NULL, object NOT NULL, z_index INTEGER NOT NULL, magic_last INTEGER NOT NULL,
      PRIMARY KEY (type, object)) WITHOUT ROWID;
    CREATE INDEX magic_absent_by_z_index ON magic_absent (type, z_index);
    CREATE TABLE magic_dropped_asset (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE magic_claim (
      type INTEGER NOT NULL, shown INTEGER NOT NULL, birth BLOB NOT NULL, number INTEGER NOT NULL,
      PRIMARY KEY (type, shown)) WITHOUT ROWID;
    PRAGMA application_id = \(applicationID);
    PRAGMA user_version = \(format);
    """

  static let selectDatabase = """
    SELECT d.data_set, d.settled, d.replica, r.uuid, d.last_stamp, d.store,
      j.id, j.stamp, l.first, l.replica, l.sequence, l.is_one, (SELECT count(*) FROM magic_field)
    FROM magic_database d JOIN magic_replica r ON r.id = d.replica
      LEFT JOIN magic_journal j ON j.id = (SELECT max(id) FROM magic_journal)
      LEFT JOIN magic_run l ON l.first = (SELECT max(first) FROM magic_run)
    """
  static let insertDatabase =
    "INSERT INTO magic_database (id, data_set, settled, replica, last_stamp, store, token) VALUES (1, ?, 0, ?, ?, ?, ?)"
  static let settle = "UPDATE magic_database SET data_set = ?, settled = 1"
  static let selectToken = "SELECT token FROM magic_database"
  static let updateToken = "UPDATE magic_database SET token = ?"
  static let moveClock = "UPDATE magic_database SET last_stamp = max(last_stamp, ?)"

  static let selectReplicas = "SELECT id, uuid FROM magic_replica"
  static let selectReplica = "SELECT id FROM magic_replica WHERE uuid = ?"
  static let insertReplica = "INSERT INTO magic_replica (uuid) VALUES (?)"

  static let selectTypes = "SELECT id, name, primary_kind, primary_name, table_name FROM magic_type ORDER BY id"
  static let selectFields = "SELECT type, name, kind, column_name, target, id FROM magic_field ORDER BY type, id"
  static let insertType =
    "INSERT INTO magic_type (id, name, primary_kind, primary_name, table_name) VALUES (?, ?, ?, ?, ?)"
  static let insertField = "INSERT INTO magic_field (type, id, name, kind, column_name, target) VALUES (?, ?, ?, ?, ?, ?)"

  static let insertRow = "INSERT INTO magic_journal (id, stamp, tag, root, entries, data) VALUES (?, ?, ?, ?, ?, ?)"
  static let updateRow = "UPDATE magic_journal SET data = ? WHERE id = ?"
  static let updateEntryCount = "UPDATE magic_journal SET entries = ? WHERE id = ?"
  static let selectData = "SELECT data FROM magic_journal WHERE id = ?"
  static let selectEntryRow = "SELECT stamp, root, data FROM magic_journal WHERE id = ?"
  static let selectStamp = "SELECT stamp FROM magic_journal WHERE id = ?"
  static let selectRowName = "SELECT stamp, tag FROM magic_journal WHERE id = ?"
  static let selectRows = """
    SELECT j.id, j.stamp, j.tag, r.uuid, j.entries, j.data
    FROM magic_journal j JOIN magic_replica r ON r.id = j.root WHERE j.id BETWEEN ? AND ? ORDER BY j.id
    """
  static let insertRun = "INSERT INTO magic_run (first, replica, sequence, is_one) VALUES (?, ?, ?, ?)"
  /// A replica's runs, with the last row of each, from the one that holds a sequence on.
  static let selectRuns = """
    SELECT m.first, m.sequence, m.is_one,
      coalesce((SELECT min(n.first) - 1 FROM magic_run n WHERE n.first > m.first), (SELECT max(id) FROM magic_journal), 0)
    FROM magic_run m
    WHERE m.replica = ?1 AND m.sequence > 0 AND m.sequence >= coalesce(
      (SELECT max(sequence) FROM magic_run WHERE replica = ?1 AND sequence <= ?2), 0)
    ORDER BY m.sequence LIMIT ?3
    """
  /// Lets a run begin with the transaction at a sequence, if it stands within another.
  static let splitRun = """
    INSERT INTO magic_run (first, replica, sequence, is_one)
      SELECT first + ?3 - sequence, ?1, ?4, 0 FROM magic_run
      WHERE replica = ?2 AND sequence = (SELECT max(sequence) FROM magic_run WHERE replica = ?2 AND sequence <= ?3) AND sequence < ?3
    """
  static let moveRuns = "UPDATE magic_run SET replica = ?1, sequence = sequence - ?3 + ?4 WHERE replica = ?2 AND sequence >= ?3"
  static let selectReplicaOfRow = "SELECT replica FROM magic_run WHERE first <= ? ORDER BY first DESC LIMIT 1"
  static let selectLastRun = """
    SELECT m.first, m.sequence, m.is_one,
      coalesce((SELECT min(n.first) - 1 FROM magic_run n WHERE n.first > m.first), (SELECT max(id) FROM magic_journal), 0)
    FROM magic_run m WHERE m.replica = ? AND m.sequence > 0 ORDER BY m.sequence DESC LIMIT 1
    """

  static let selectAllRuns = "SELECT first, replica, sequence, is_one FROM magic_run ORDER BY first"
  static let keepRun = "UPDATE magic_run SET sequence = -first, is_one = 0 WHERE first = ?"
  static let deleteRun = "DELETE FROM magic_run WHERE first = ?"
  static let hasRows = "SELECT 1 FROM magic_journal WHERE id BETWEEN ? AND ? LIMIT 1"
  static let selectFloor = """
    SELECT f.sequence, f.stamp, f.tag FROM magic_floor f JOIN magic_replica r ON r.id = f.replica WHERE r.uuid = ?
    """
  static let selectFloorSequence = "SELECT sequence FROM magic_floor WHERE replica = ?"
  static let selectFloors = """
    SELECT r.uuid, f.sequence, f.stamp, f.tag FROM magic_floor f JOIN magic_replica r ON r.id = f.replica
    """
  static let dropFloor = "DELETE FROM magic_floor WHERE replica = ?"
  static let setFloor = "INSERT OR REPLACE INTO magic_floor (replica, sequence, stamp, tag) VALUES (?, ?, ?, ?)"
  /// The rows of kept entries, those of one transaction together. The last row of all stays when nothing of it is left.
  static let selectKept = """
    WITH kept (first, last) AS (
      SELECT m.first, coalesce(
        (SELECT min(n.first) - 1 FROM magic_run n WHERE n.first > m.first), (SELECT max(id) FROM magic_journal), 0)
      FROM magic_run m WHERE m.sequence < 0)
    SELECT j.stamp, j.tag, r.uuid, j.id
    FROM kept k CROSS JOIN magic_journal j ON j.id BETWEEN k.first AND k.last AND j.entries IS NOT 0
      JOIN magic_replica r ON r.id = j.root
    ORDER BY j.stamp, j.tag, r.uuid, j.id
    """
  static let selectRootOfRow = "SELECT r.uuid FROM magic_journal j JOIN magic_replica r ON r.id = j.root WHERE j.id = ?"
  static let selectRoots = """
    SELECT DISTINCT r.uuid FROM magic_journal j JOIN magic_replica r ON r.id = j.root WHERE j.id BETWEEN ? AND ?
    """
  static let selectRowSizes = "SELECT sum(entries), sum(length(data)) FROM magic_journal WHERE id BETWEEN ? AND ?"

  static let createSurvivors = """
    CREATE TEMP TABLE IF NOT EXISTS magic_survivor (row INTEGER, place INTEGER, data BLOB, PRIMARY KEY (row, place)) WITHOUT ROWID;
    DELETE FROM temp.magic_survivor;
    """
  static let insertSurvivor = "INSERT INTO temp.magic_survivor (row, place, data) VALUES (?, ?, ?)"
  static let selectSurvivors = "SELECT row, place, data FROM temp.magic_survivor ORDER BY row, place"
  static let dropSurvivors = "DROP TABLE temp.magic_survivor"
  static let deleteRowsWithoutSurvivors = """
    DELETE FROM magic_journal WHERE id BETWEEN ?1 AND ?2 AND id < ?3
      AND id NOT IN (SELECT row FROM temp.magic_survivor WHERE row BETWEEN ?1 AND ?2)
    """
  static let updateKeptRow =
    "UPDATE magic_journal SET data = ?1, entries = ?2 WHERE id = ?3 AND (data <> ?1 OR entries IS NOT ?2)"

  static let selectMembers = "SELECT replica, time, frontier, expired FROM magic_member ORDER BY replica"
  static let insertMember = "INSERT OR REPLACE INTO magic_member (replica, time, frontier, expired) VALUES (?, ?, ?, ?)"

  static let selectPosition = "SELECT max(id) FROM magic_journal"
  static let selectTypeID = "SELECT id FROM magic_type WHERE name = ? AND primary_kind = ?"
  static let selectDataAfter = "SELECT data, id FROM magic_journal WHERE id > ? ORDER BY id"
  static let selectArrivals = "SELECT id, stamp, tag, root, entries, data FROM magic_journal WHERE id > ? ORDER BY id"
  static let selectOriginOfRow = """
    SELECT m.replica, r.uuid FROM magic_run m CROSS JOIN magic_replica r ON r.id = m.replica
    WHERE m.first <= ? ORDER BY m.first DESC LIMIT 1
    """

  static let selectAddressOfRow = """
    SELECT m.first, m.sequence, m.is_one, r.uuid FROM magic_run m CROSS JOIN magic_replica r ON r.id = m.replica
    WHERE m.first <= ? ORDER BY m.first DESC LIMIT 1
    """

  static let selectSize = "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)"
  /// Each row of what is kept under a floor has its own number of entries (J-32).
  static let selectJournalSize = """
    SELECT
      CASE WHEN EXISTS (SELECT 1 FROM magic_floor)
        THEN (SELECT count(*) FROM (SELECT DISTINCT stamp, tag, root FROM magic_journal WHERE entries > 0)) ELSE count(entries) END,
      sum(entries), sum(length(data))
    FROM magic_journal
    """
  static let setReplica = "UPDATE magic_database SET replica = ?"
  static let setStore = "UPDATE magic_database SET store = ?"

  static let selectAbsent = "SELECT z_index, magic_last FROM magic_absent WHERE type = ? AND object = ?"
  static let insertAbsent = "INSERT OR REPLACE INTO magic_absent (type, object, z_index, magic_last) VALUES (?, ?, ?, ?)"
  static let selectAbsentKey = "SELECT object FROM magic_absent WHERE type = ? AND z_index = ?"
  static let hasAbsent = "SELECT 1 FROM magic_absent WHERE type = ? LIMIT 1"
  static let selectAllAbsent = "SELECT object, z_index, magic_last FROM magic_absent WHERE type = ?"
  static let deleteAbsent = "DELETE FROM magic_absent WHERE type = ? AND object = ?"
  static let deleteAbsentAt = "DELETE FROM magic_absent WHERE type = ? AND z_index = ?"

  static let hasDroppedAssets = "SELECT 1 FROM magic_dropped_asset LIMIT 1"
  static let selectDroppedAssets = "SELECT name FROM magic_dropped_asset"
  static let deleteDroppedAsset = "DELETE FROM magic_dropped_asset WHERE name = ?"
  static let insertDroppedAsset = "INSERT OR IGNORE INTO magic_dropped_asset (name) VALUES (?)"
  static let createUnsentAssets = "CREATE TABLE IF NOT EXISTS magic_unsent_asset (name TEXT PRIMARY KEY) WITHOUT ROWID"
  static let selectUnsentAssets = "SELECT name FROM magic_unsent_asset"
  static let insertUnsentAsset = "INSERT OR IGNORE INTO magic_unsent_asset (name) VALUES (?)"
  static let deleteUnsentAsset = "DELETE FROM magic_unsent_asset WHERE name = ?"
  static let createSent =
    "CREATE TABLE IF NOT EXISTS magic_sent (replica BLOB PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID"
  static let selectSent = "SELECT sequence FROM magic_sent WHERE replica = ?"
  static let selectAllSent = "SELECT replica, sequence FROM magic_sent"
  static let insertSent = "INSERT OR REPLACE INTO magic_sent (replica, sequence) VALUES (?, ?)"
  static let createLeft =
    "CREATE TABLE IF NOT EXISTS magic_left (replica BLOB PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID"
  static let selectLeft = "SELECT replica, sequence FROM magic_left"
  static let insertLeft = "INSERT OR REPLACE INTO magic_left (replica, sequence) VALUES (?, ?)"
  static let deleteLeft = "DELETE FROM magic_left WHERE replica = ? AND sequence = ?"

  static let has = "SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE"
  static let hasTable = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
  static let selectClaim = "SELECT birth, number FROM magic_claim WHERE type = ? AND shown = ?"
  static let selectClaims = "SELECT shown, birth, number FROM magic_claim WHERE type = ?"
  static let insertClaim = "INSERT INTO magic_claim (type, shown, birth, number) VALUES (?, ?, ?, ?)"
  static let deleteClaim = "DELETE FROM magic_claim WHERE type = ? AND shown = ?"
  static let selectHighestClaim = "SELECT shown FROM magic_claim WHERE type = ? AND shown < ? ORDER BY shown DESC LIMIT 1"
  static let selectHighestAbsent =
    "SELECT object FROM magic_absent WHERE type = ? AND object < ? ORDER BY object DESC LIMIT 1"

  static let createRemotes =
    "CREATE TABLE IF NOT EXISTS magic_remote (name TEXT PRIMARY KEY, address TEXT NOT NULL) WITHOUT ROWID"
  static let selectRemotes = "SELECT name, address FROM magic_remote ORDER BY name"
  static let insertRemote = "INSERT OR IGNORE INTO magic_remote (name, address) VALUES (?, ?)"
  static let deleteRemote = "DELETE FROM magic_remote WHERE name = ?"
  static let createRemoteOptions = """
    CREATE TABLE IF NOT EXISTS magic_remote_option (
      name TEXT NOT NULL, option TEXT NOT NULL, address TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, option)
    ) WITHOUT ROWID
    """
  static let selectRemoteOptions =
    "SELECT o.name, o.option, o.value FROM magic_remote_option o JOIN magic_remote r ON r.name = o.name AND r.address = o.address"
  static let insertRemoteOption = "INSERT INTO magic_remote_option (name, option, address, value) VALUES (?, ?, ?, ?)"
  static let deleteRemoteOptions = "DELETE FROM magic_remote_option WHERE name = ?"

  static let createMetFolders = """
    CREATE TABLE IF NOT EXISTS magic_met_folder (
      path TEXT PRIMARY KEY, data_set BLOB NOT NULL, replica BLOB NOT NULL
    ) WITHOUT ROWID
    """
  static let selectMetFolder = "SELECT data_set, replica FROM magic_met_folder WHERE path = ?"
  static let insertMetFolder = "INSERT OR REPLACE INTO magic_met_folder (path, data_set, replica) VALUES (?, ?, ?)"
  static let deleteMetFolder = "DELETE FROM magic_met_folder WHERE path = ?"

  static let createBranches =
    "CREATE TABLE IF NOT EXISTS magic_branch (replica BLOB NOT NULL, first INTEGER NOT NULL, branch BLOB)"
  static let selectBranches = "SELECT replica, first, branch FROM magic_branch"
  static let insertBranch = "INSERT INTO magic_branch (replica, first, branch) VALUES (?, ?, ?)"

  static let createDigests = """
    CREATE TABLE IF NOT EXISTS magic_digest (
      replica BLOB PRIMARY KEY, time INTEGER NOT NULL, digest BLOB NOT NULL
    ) WITHOUT ROWID
    """
  static let selectDigests = "SELECT replica, time, digest FROM magic_digest"
  static let insertDigest = "INSERT OR REPLACE INTO magic_digest (replica, time, digest) VALUES (?, ?, ?)"
  static let createLook = """
    CREATE TABLE IF NOT EXISTS magic_look (
      id INTEGER PRIMARY KEY CHECK (id = 1), due INTEGER NOT NULL, bytes INTEGER NOT NULL
    )
    """
  static let selectLook = "SELECT due, bytes FROM magic_look"
  static let setLook = "INSERT OR REPLACE INTO magic_look (id, due, bytes) VALUES (1, ?, (\(selectSize)))"

  static let createAcceptedTime =
    "CREATE TABLE IF NOT EXISTS magic_accepted (id INTEGER PRIMARY KEY CHECK (id = 1), milliseconds INTEGER NOT NULL)"
  static let selectAcceptedTime = "SELECT milliseconds FROM magic_accepted"
  static let setAcceptedTime = "INSERT OR REPLACE INTO magic_accepted (id, milliseconds) VALUES (1, ?)"

  static let createNames = """
    CREATE TABLE IF NOT EXISTS magic_name (
      replica BLOB PRIMARY KEY, time INTEGER NOT NULL, name TEXT NOT NULL
    ) WITHOUT ROWID
    """
  static let selectNames = "SELECT replica, time, name FROM magic_name"
  static let insertName = "INSERT OR REPLACE INTO magic_name (replica, time, name) VALUES (?, ?, ?)"

  /// Conditions with AND between them: halves within halves, since SQLite takes expressions of a depth of 1,000.
  static func all(_ conditions: [String]) -> String {
    guard conditions.count > mostInRow else { return conditions.joined(separator: " AND ") }
    let middle = conditions.count / 2
    return "(\(all(Array(conditions[..<middle])))) AND (\(all(Array(conditions[middle...]))))"
  }

  static let mostInRow = 64

  /// The one place where an identifier is quoted.
  static func quoted(_ name: String) -> String { "\"\(name.escaping("\"", as: "\"\""))\"" }
}
