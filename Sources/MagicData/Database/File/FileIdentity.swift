internal import CPlatform
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
    self.init(status)
  }

  /// The identity of what has this name itself: of a link, and not of what it leads to.
  init?(path: UnsafePointer<CChar>) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    self.init(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
  }
}

/// What stays of a file when its volume is mounted under another device's number: when it was made, and on which volume.
struct FileBirth: Hashable, Sendable {
  let nanoseconds: UInt64
  /// A snapshot by a file system has files with the same numbers and times, and another name of its own, one of a block device
  /// has not; 0 where the system knows none.
  let volume: UInt64

  init(nanoseconds: UInt64, volume: UInt64) {
    self.nanoseconds = nanoseconds
    self.volume = volume
  }

  /// `nil` if there is none, or the system does not know.
  init?(of file: URL) {
    var (nanoseconds, volume): (UInt64, UInt64) = (0, 0)
    guard c_file_birth(file.path, &nanoseconds, &volume) else { return nil }
    self.init(nanoseconds: nanoseconds, volume: volume)
  }

  private static let prefix = "born-"

  /// A word of the mark.
  var word: String { FileBirth.prefix + nanoseconds.digits + volume.digits }

  init?(word: Substring) {
    let digits = word.dropFirst(FileBirth.prefix.count)
    guard word.hasPrefix(FileBirth.prefix), let nanoseconds = UInt64(digits: digits.prefix(16)),
      let volume = UInt64(digits: digits.dropFirst(16))
    else { return nil }
    self.init(nanoseconds: nanoseconds, volume: volume)
  }
}
