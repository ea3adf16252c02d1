internal import Foundation

/// Standard input, output and errors.
enum StandardFiles {
  /// Opens those that are closed: the next file that is opened, such as a database, would take their place, and be written to by who prints.
  static func assure() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // It gets the lowest number that is free.
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// Who reads may go away: that a write fails says so, and what was begun is cleaned up. Programs that are started get the default back.
  static func outliveReaders() {
    signal(SIGPIPE, SIG_IGN)
  }
}
