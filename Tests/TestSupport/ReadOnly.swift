package import Foundation

/// Takes the right to write away; from the superuser, whom permissions do not hold off, by an attribute.
package struct ReadOnly {
  private let paths: [String]
  private let isByAttribute: Bool

  /// `nil` if writing stays allowed all the same.
  ///
  /// - Parameter isDeep: whether it is also taken away of what is in a folder already.
  package init?(_ root: URL, isDeep: Bool) {
    let inner =
      isDeep ? (FileManager.default.subpaths(atPath: root.path) ?? []).map { root.appendingPathComponent($0).path } : []
    paths = [root.path] + inner
    isByAttribute = getuid() == 0
    for path in paths {
      let isDone = isByAttribute ? ReadOnly.setImmutable(path, true) : chmod(path, ReadOnly.isFolder(path) ? 0o555 : 0o444) == 0
      guard isDone else { return nil }
    }
  }

  package func end() {
    for path in paths {
      if isByAttribute { _ = ReadOnly.setImmutable(path, false) } else { chmod(path, ReadOnly.isFolder(path) ? 0o755 : 0o644) }
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }

  /// As `chattr +i` does.
  private static func setImmutable(_ path: String, _ isImmutable: Bool) -> Bool {
    #if os(Linux)
      let (getFlags, setFlags, immutable): (UInt, UInt, CInt) = (0x8008_6601, 0x4008_6602, 0x10)
      let file = open(path, O_RDONLY)
      guard file >= 0 else { return false }
      defer { close(file) }
      var flags: CInt = 0
      guard ioctl(file, getFlags, &flags) == 0 else { return false }
      flags = isImmutable ? flags | immutable : flags & ~immutable
      return ioctl(file, setFlags, &flags) == 0
    #else
      return false
    #endif
  }
}
