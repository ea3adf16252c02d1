package import Foundation
internal import MagicJournal

/// Which file a path leads to, whatever it is called.
package struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let number: UInt64

  init(device: UInt64, number: UInt64) {
    self.device = device
    self.number = number
  }

  /// The token of a file beside which no mark can be written (J-30).
  var token: Identifier { Identifier(device, number) }

  /// `nil` if there is none, or nobody may know.
  package init?(of file: URL) {
    var status = stat()
    guard stat(file.path, &status) == 0 else { return nil }
    self.init(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
  }
}
