import Foundation
import MagicData
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// What every kind of remote has to do alike is asked of each of them.
enum RemoteKind: String, CaseIterable, CustomTestStringConvertible, Sendable {
  case folder, hub, hubOverUnix, hubOverTLS, hubOverSSH, peer

  var testDescription: String { rawValue }
  /// Whether it keeps segments as files.
  var hasFiles: Bool { self != .peer }
}

/// A remote of some kind, and replicas that exchange through it.
final class Place {
  let kind: RemoteKind
  let folder: TemporaryFolder
  let world = World()
  private(set) var server: RunningServer?
  private(set) var served: MagicData?

  init(_ kind: RemoteKind) async throws {
    self.kind = kind
    folder = try TemporaryFolder()
    try await start()
  }

  /// Where the hub's files are.
  var files: URL { folder["remote"] }

  func start() async throws {
    switch kind {
    case .folder: break
    case .hub:
      server = try await RunningServer(
        MagicServer(folder: FolderRemote(files), at: ["tcp://127.0.0.1:0"], options: RunningServer.quiet))
    case .hubOverUnix:
      server = try await RunningServer(
        MagicServer(folder: FolderRemote(files), at: ["unix:\(folder["s"].path)"], options: RunningServer.quiet))
    case .hubOverTLS:
      var options = RunningServer.quiet
      let certificate = try TestCertificate.shared.get()
      (options.certificate, options.key) = (certificate.file, certificate.key)
      server = try await RunningServer(
        MagicServer(folder: FolderRemote(files), at: ["tls://127.0.0.1:0"], options: options))
    case .hubOverSSH:
      // Its last argument is run by a shell, as sshd does it.
      try Data("#!/bin/sh\nfor last; do :; done\nexec /bin/sh -c \"$last\"\n".utf8).write(to: folder["ssh"])
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder["ssh"].path)
    case .peer:
      let magic = try magic("served")
      served = magic
      server = try await RunningServer(MagicServer(magic, at: ["tcp://127.0.0.1:0"], options: RunningServer.quiet))
    }
  }

  func stop() async throws {
    try await server?.stop()
    try await served?.close()
    (server, served) = (nil, nil)
  }

  func magic(_ name: String, skew: Int64 = 0) throws -> MagicData {
    MagicData(store: try Store(.file(DatabaseLocation(folder[name]), mustExist: false), world.surroundings(skew: skew)))
  }

  func replica(_ name: String) throws -> Replica { Replica(try magic(name), try remote()) }

  /// A database `a`, with a note in the remote, and `copy`, which nothing tells from it.
  func makeTwins() async throws {
    let a = try replica("a")
    try await a.magic.update(Note("1", "before"))
    try await a.replicator.push()
    try await a.magic.close()
    try copyUnnoticed(folder["a"], to: folder["copy"])
  }

  func remote() throws -> any Remote {
    var options = SocketRemote.Options()
    if kind == .hubOverSSH {
      options.ssh = folder["ssh"].path
      options.remoteProgram = Tool.sync.path.path
      return try SocketRemote("ssh://far.example.org" + files.path, options: options)
    }
    guard let server else { return FolderRemote(files) }
    if kind == .hubOverTLS { options.authority = try TestCertificate.shared.get().file }
    return try SocketRemote(server.address, options: options)
  }
}

struct Replica {
  let magic: MagicData
  let replicator: MagicReplicator

  init(_ magic: MagicData, _ remote: any Remote) {
    self.magic = magic
    replicator = MagicReplicator(magic, over: remote)
  }

  func titles() async throws -> [String] {
    try await magic.object(of: Note.self).map(\.title).sorted()
  }
}

/// All hold the same, as an independent look at their rows tells.
func expectEqual(_ all: [MagicData], _ comment: Comment? = nil) async throws {
  let first = try await (Dump(all[0]), all[0].digest())
  for magic in all.dropFirst() {
    #expect(try await Dump(magic) == first.0, comment)
    #expect(try await magic.digest() == first.1, comment)
  }
}

func expectCode(_ code: MagicDataError.Code, naming text: String = "", _ body: () async throws -> Void) async {
  do {
    try await body()
    Issue.record("nothing was thrown, where \(code) belongs")
  } catch {
    #expect((error as? MagicDataError)?.code == code, "\(error)")
    #expect(text.isEmpty || "\(error)".contains(text), "\(error)")
  }
}
