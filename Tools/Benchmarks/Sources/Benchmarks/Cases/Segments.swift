import Foundation
import MagicData
import MagicReplication

/// What a hub gives out, against a plain copy of the same files.
extension Case {
  static func segments(_ sizes: Sizes) -> [Case] {
    let megabytes = 256
    return [
      Case(name: "segments of 1 MB from a hub", size: megabytes, count: megabytes, target: .ratio(2)) { workspace in
        let stored = try await workspace.parcels(megabytes)
        // One that has served them to somebody before, and so has compared their checksums, as the first round does.
        let server = try ServerProcess(serving: stored.file("remote"))
        return [
          Side("magic-sync serve") { _ in
            let socket = try WireSocket(port: server.port)
            try socket.enter()
            return { try pull(socket) }
          },
          Side("copy") { _ in
            let (sender, receiver) = try WireSocket.pair()
            return { try copy(stored.file("remote").file("segments"), sender, receiver) }
          },
        ]
      }
    ]
  }

  private static func pull(_ socket: WireSocket) throws -> Int {
    // From the beginning.
    try socket.send(.pull, [0])
    var bytes = 0
    try WireFrames(socket).read { kind, length in
      if kind == WireSocket.Kind.data.rawValue { bytes += length }
      guard kind != WireSocket.Kind.error.rawValue else { throw Failure("the server refused") }
      return kind != WireSocket.Kind.pulled.rawValue
    }
    return bytes
  }

  /// Reads files on a thread and writes what is in them to one end; takes it from the other. The headers count not, as they are
  /// no data on the wire.
  private static func copy(_ folder: URL, _ sender: WireSocket, _ receiver: WireSocket) throws -> Int {
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    Thread.detachNewThread {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)
      defer { buffer.deallocate() }
      for file in files {
        let descriptor = open(file.path, O_RDONLY)
        defer { close(descriptor) }
        while case let count = read(descriptor, buffer.baseAddress, buffer.count), count > 0 {
          // Who takes them misses what is not sent.
          try? sender.send(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
      }
      shutdown(sender.descriptor, Int32(SHUT_WR))
    }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    var bytes = 0
    while case let count = try receiver.take(buffer), count > 0 { bytes += count }
    return bytes - files.count * 124
  }

  private static let piece = 1 << 16
}

extension Workspace {
  /// `remote`, a folder with so many segments of a megabyte, of content that does not pack.
  fileprivate func parcels(_ count: Int) async throws -> URL {
    try await fixture("parcels-\(count)") { folder in
      let magic = try await MagicData(path: folder.file("ours"))
      let replicator = MagicReplicator(magic, remote: FolderRemote(folder.file("remote")))
      for number in 0..<count {
        try await magic.update(Parcel(number: number, bytes: 1 << 20))
        // A segment each.
        try await replicator.push()
      }
      try await magic.close()
    }
  }
}
