internal import Foundation

/// The databases of which this thread has a connection, the innermost first.
///
/// Code of the app's own runs there as well, which reads a value, or converts one of a former kind. What it asked of the same
/// database would wait for itself, or end the program: GRDB's pool takes it for an error of the program if a thread that reads
/// asks for another reader. So it is told beforehand.
package struct HeldConnection {
  private let store: ObjectIdentifier
  private let outer: UnsafeMutableRawPointer?

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key, nil)
    precondition(status == 0, "a thread has a place for what it holds")
    return key
  }()

  /// Runs what has a connection, on the thread that has it: once for each access, whatever that reads.
  static func run<Result>(of store: Store, _ body: () throws -> Result) throws -> Result {
    let held = HeldConnection(store: ObjectIdentifier(store), outer: pthread_getspecific(key))
    return try withUnsafePointer(to: held) { place in
      pthread_setspecific(key, place)
      defer { pthread_setspecific(key, held.outer) }
      return try body()
    }
  }

  /// Runs `body` as if this thread held no connection, so that it may ask the database.
  package static func outside<Result>(_ body: () throws -> Result) rethrows -> Result {
    let held = pthread_getspecific(key)
    pthread_setspecific(key, nil)
    defer { pthread_setspecific(key, held) }
    return try body()
  }

  /// For whoever holds up the thread until the database has done something.
  ///
  /// - Throws: `MagicDataError` with `transaction` if the thread has a connection of it.
  static func checkNone(of store: Store) throws {
    var place: UnsafeMutableRawPointer? = pthread_getspecific(key)
    while let held = place?.assumingMemoryBound(to: HeldConnection.self).pointee {
      guard held.store != ObjectIdentifier(store) else {
        throw MagicDataError(
          .transaction,
          "what the database calls while it reads, as for a value, cannot ask the database: it would wait for itself")
      }
      place = held.outer
    }
  }
}
