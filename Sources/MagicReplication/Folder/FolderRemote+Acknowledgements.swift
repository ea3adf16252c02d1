internal import Foundation
internal import MagicData
internal import MagicJournal

extension FolderRemote {
  /// What replicas say of themselves and of others, as far as it can be read.
  func acknowledged(_ dataSet: DataSetID) throws -> [ReplicaID: AckFile] {
    guard isOwnFolder(acks) else { return [:] }
    var files: [ReplicaID: AckFile] = [:]
    for name in try listing(of: acks) {
      guard let replica = AckFile.replica(ofName: name) else { continue }
      files[replica] = AckFile(acks.appendingPathComponent(name), of: replica, dataSet)
    }
    return files
  }

  func write(_ file: AckFile, _ dataSet: DataSetID) throws {
    try makeOwn(acks)
    try DurableFile.write(try file.bytes(dataSet), to: acks.appendingPathComponent(AckFile.name(of: file.replica)))
  }
}
