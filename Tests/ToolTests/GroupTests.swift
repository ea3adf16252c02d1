import Foundation
import MagicData
import TestSupport
import Testing

/// Several users of one system share a database by their group. Only root can be somebody else.
@Suite(.enabled(if: geteuid() == 0)) struct GroupTests {
  private static let (user, group, otherGroup) = (4_001, 4_002, 4_003)
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// As a user whose first group is his own.
  private func run(in group: Int, _ arguments: String...) throws -> Tool.Result {
    let script = """
      import os, sys
      os.setgroups([int(sys.argv[2])])
      os.setgid(int(sys.argv[1]))
      os.setuid(int(sys.argv[1]))
      os.umask(0o022)
      os.execv(sys.argv[3], sys.argv[3:])
      """
    return try Tool.python.run(
      arguments: ["-c", script, "\(Self.user)", "\(group)", Tool.sync.path.path] + arguments)
  }

  /// J-30: the one would take a fresh id after each turn of the other if the other's mark were hidden from him.
  @Test(arguments: [true, false]) func whoMayUseTheDatabaseByItsGroupMayReadItsMark(isMember: Bool) async throws {
    // The tool may be where nobody else may look.
    guard try run(in: Self.group, "--version").status == 0 else { return }
    try await MagicData(path: folder["a"]).close()
    let mark = folder["a/default.sqlite3-replica"].path
    #expect(unlink(mark) == 0)
    try FileManager.default.createDirectory(at: folder["remote"], withIntermediateDirectories: false)
    for name in try folder.contents().keys {
      let path = folder[name].path
      #expect(chown(path, uid_t(Self.user), gid_t(Self.group)) == 0)
      #expect(chmod(path, name.contains("/") ? 0o660 : 0o770) == 0)
    }
    let result = try run(
      in: isMember ? Self.group : Self.otherGroup, "sync", folder["a"].path, folder["remote"].path)
    #expect(result.status == 0, "\(result)")
    var status = stat()
    let isThere = stat(mark, &status) == 0
    #expect(isThere && status.st_mode & 0o777 == (isMember ? 0o660 : 0o664))
    #expect(status.st_gid == gid_t(isMember ? Self.group : Self.user))
  }
}
