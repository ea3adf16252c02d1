internal import GRDB
internal import GRDBSQLite

/// Reads rows where SQLite finds them.
///
/// `magic_take(column…)` is an aggregate function of each of our connections: SQLite calls it for each row that a statement
/// would give out, once, and the statement is stepped once for all of them. From `sqlite3_step` to `sqlite3_step`, with a call
/// for each column between, SQLite takes a third longer for a row. Which row comes when is its to choose: aggregates have no
/// order.
enum RowFunction {
  /// What a statement has to start with; the columns follow, and `)`.
  static let start = "SELECT magic_take("
  /// SQLite's own limit are 127 arguments, and 100 in old versions (https://sqlite.org/limits.html, 6).
  static let mostColumns = 100

  /// What reads the rows of the statement that a connection runs, and what it threw.
  private struct Run {
    let reading: UnsafeMutablePointer<RowReading>
    var failure: (any Error)?
  }

  /// Where a connection has the run of its statement, while there is one.
  private typealias Place = UnsafeMutablePointer<UnsafeMutablePointer<Run>?>

  // @unchecked: an address of which only the connection's own thread asks what stands there.
  private struct OpenPlace: @unchecked Sendable {
    let place: Place
  }

  /// By connection, of those that are open.
  private static let places = Locked<[OpaquePointer: OpenPlace]>([:])

  /// - Throws: what reading a row throws.
  static func run(_ statement: inout SQL, _ db: Database, _ reading: inout RowReading) throws {
    guard let connection = db.sqliteConnection, let place = places.withLock({ $0[connection]?.place }) else {
      throw MagicDataError(.failed, "a connection has no function for rows")
    }
    try withUnsafeMutablePointer(to: &reading) { reading in
      var run = Run(reading: reading)
      do {
        try withUnsafeMutablePointer(to: &run) { run in
          place.pointee = run
          defer { place.pointee = nil }
          _ = try statement.readOnce { _ in }
        }
      } catch {
        throw run.failure ?? error
      }
    }
  }

  static func add(to db: Database) {
    guard let connection = db.sqliteConnection else { return }
    let place = Place.allocate(capacity: 1)
    place.initialize(to: nil)
    places.withLock { $0[connection] = OpenPlace(place: place) }
    sqlite3_create_function_v2(
      connection, "magic_take", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, place, nil,
      { context, _, values in
        guard let values, let run = sqlite3_user_data(context)?.assumingMemoryBound(to: UnsafeMutablePointer<Run>?.self).pointee
        else { return }
        do {
          try run.pointee.reading.pointee.read(UnsafePointer(values))
        } catch {
          run.pointee.failure = error
          sqlite3_result_error(context, "a row could not be taken", -1)
        }
      }, { _ in },
      { place in
        guard let place = place?.assumingMemoryBound(to: UnsafeMutablePointer<Run>?.self) else { return }
        RowFunction.places.withLock { places in places = places.filter { $0.value.place != place } }
        place.deallocate()
      })
  }
}
