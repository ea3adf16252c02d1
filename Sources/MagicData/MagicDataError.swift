public import Foundation

/// Why something could not be done. The database is as it was before, unless the call's own documentation says what stays.
public struct MagicDataError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Sendable {
    /// The file is no MagicData database, or a damaged one.
    case notADatabase
    /// The database, or a remote, is of another format or another data set.
    case incompatible
    /// There is no such object, database or folder.
    case notFound
    /// It is there already.
    case exists
    /// A required value was never set.
    case unsetValue
    /// `remove` of an object that was never saved.
    case notSaved
    /// The type cannot be stored: two primary values, none at all where one is needed, a name or kind that changed.
    case model
    /// A stored value cannot be read as the property's type, or a property's value cannot be encoded.
    case value
    /// A query asks for what the database cannot tell: a property that is worked out, the order of a coded value, a negative
    /// limit.
    case query
    /// A value or a transaction is above a limit.
    case tooLarge
    /// The transaction is over, or was not used where it has to be; or what reads a value asks the database that is being read.
    case transaction
    /// Somebody else holds the database: another process or, where a call blocks, a writer of this one; try again.
    case busy
    /// No space is left.
    case full
    /// The file or its folder may not be read or written.
    case notAllowed
    /// Nobody answers at a remote's address, or the connection broke; try again.
    case unreachable
    /// A remote does not let this client do it: its token, the token's rights, its replica or a certificate.
    case unauthorized
    /// Bytes of a remote, or the file of an asset, do not hold what they should.
    case damaged
    /// One database is in use as two (a copy, a restored backup); a person has to decide.
    case fork
    /// Anything else that SQLite or the system refused.
    case failed
  }

  /// What kind of failure it is, to switch on.
  public let code: Code
  /// What failed and what remedies it. Names types, properties and files, never their contents.
  public let message: String
  /// The error underneath, if there is one.
  public let cause: (any Error)?

  package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  public var description: String { message }
}

extension MagicDataError: LocalizedError {
  public var errorDescription: String? { message }
}
