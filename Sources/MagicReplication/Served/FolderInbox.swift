internal import MagicData
internal import MagicJournal

/// What a client sends to a folder.
struct FolderInbox: Inbox {
  private let served: ServedFolder
  let folder: FolderRemote
  var isDurable: Bool { true }

  init(_ served: ServedFolder, _ folder: FolderRemote) {
    self.served = served
    self.folder = folder
  }

  var contents: FolderRemote { folder }

  func received(_ name: SegmentFileName, _ header: SegmentHeader) { served.received(name, header) }
  func receivedCheckpoint(_ name: String, _ replicas: Set<ReplicaID>) { served.receivedCheckpoint(name, replicas) }
  func received(_ digits: String) {}

  func settle(_ runs: [HeldRun]) async throws {
    try await offPool { [folder] in try DurableFile.sync(folder.segments) }
  }
}
