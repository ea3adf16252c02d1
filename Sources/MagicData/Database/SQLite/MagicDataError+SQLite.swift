internal import GRDB
internal import MagicJournal

extension MagicDataError {
  /// What SQLite or a decoder refused, as something that a caller can act on. `doing` says what failed, up to the reason.
  package init(_ error: any Error, _ doing: String) {
    switch error {
    case let error as MagicDataError:
      self =
        error.cause == nil && error.code == .notADatabase ? MagicDataError(error.code, "\(doing): \(error.message)") : error
    case let error as JournalError:
      self.init(Code(error), "\(doing): \(error)", cause: error)
    case let error as DatabaseError:
      self.init(Code(error), "\(doing): \(MagicDataError.reason(error))", cause: error)
    default:
      self.init(.failed, "\(doing): \(error)", cause: error)
    }
  }

  private static func reason(_ error: DatabaseError) -> String {
    switch error.resultCode {
    case .SQLITE_BUSY, .SQLITE_LOCKED: "another process holds it; try again"
    case _ where error.isFull: "no space is left on the disk; free some and try again"
    case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH: "it may not be written; check the permissions of the file and its folder"
    case .SQLITE_CANTOPEN: "the file cannot be opened; check the path and its permissions"
    case .SQLITE_NOTADB: "it is not an SQLite file; if it was, restore it from a copy or from another replica"
    case .SQLITE_CORRUPT: "the file is damaged; restore it from a copy or from another replica"
    default: "\(error.message ?? "SQLite gives no reason") (SQLite \(error.extendedResultCode.rawValue))"
    }
  }
}

extension DatabaseError {
  /// A file beside the database that cannot grow is one as well (https://www.sqlite.org/rescode.html#ioerr_shmsize).
  fileprivate var isFull: Bool { resultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_SHMSIZE }
}

extension MagicDataError.Code {
  fileprivate init(_ error: JournalError) {
    self =
      switch error.code {
      case .damaged: .damaged
      case .unsupported: .incompatible
      case .tooLarge: .tooLarge
      case .clock: .failed
      }
  }

  fileprivate init(_ error: DatabaseError) {
    self =
      switch error.resultCode {
      case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
      case _ where error.isFull: .full
      case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_CANTOPEN: .notAllowed
      case .SQLITE_NOTADB, .SQLITE_CORRUPT: .notADatabase
      default: .failed
      }
  }
}
