internal import Foundation
internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore

/// What the server has and the database lacks, on its way here (W-7).
extension Session {
  func arrivals(for magic: MagicData, _ dataSet: DataSetID) async throws -> IncomingSegments {
    if let known = inStep { return IncomingSegments(.nothing, known.there) }
    return try await arrivalsNow(for: magic, dataSet)
  }

  func arrivalsNow(for magic: MagicData, _ dataSet: DataSetID) async throws -> IncomingSegments {
    let found = try await compare(magic)
    let there = found.there
    frontierThere.withLock { $0 = there.frontier }
    var held = found.known
    // All that is there under such an id: where it begins to differ shows in the segments.
    if found.isBranch { held[replica] = 0 }
    for suspect in found.suspects { held[suspect] = 0 }
    compared.withLock { $0 = found.isSure ? found : nil }
    // As after a push, for who only pulls.
    if found.isSure, there.frontier == found.held { returns.withLock { $0 = Returns() } }
    // What cannot be read there, and is not held here, is said to who pulls.
    guard !found.isSure || there.parts.contains(where: { $0.held.last > held[$0.held.replica] || $0.hasUnread }) else {
      return IncomingSegments(.nothing, there)
    }
    let spool = try Spool()
    do {
      let unread = try await pull(after: held, of: there, dataSet, into: spool.folder)
      tellsNames.withLock { $0 = true }
      return IncomingSegments(spool, there, unread: unread)
    } catch let error as MagicDataError where error.code == .unreachable {
      // What came whole stays.
      return IncomingSegments(spool, there, interruption: error)
    }
  }

  private func pull(
    after held: Frontier, of there: Standing, _ dataSet: DataSetID, into folder: FolderRemote
  ) async throws -> [UnreadFile] {
    try await send(.frontier(.pull, held))
    var isNothing = true
    while true {
      let frame = try await mailbox.take()
      if frame.kind == .pulled {
        let unread = try reading { () throws(WireError) in try frame.texts() }.map {
          UnreadFile(path: text, code: .damaged, message: "\(text): \($0)")
        }
        guard isNothing, unread.isEmpty else { return unread }
        let notSent = notSent(there, after: held)
        // What it has told is so no more: the push asks anew.
        if !notSent.isEmpty { compared.withLock { $0 = nil } }
        return notSent
      }
      isNothing = false
      if frame.kind == .checkpoint {
        try await takeCheckpoint(frame, dataSet, into: folder)
        continue
      }
      guard frame.kind == .segment else { throw Session.unexpected(frame, text) }
      let (name, head) = try reading { () throws(WireError) in try frame.segment() }
      let segment: ArrivingSegment
      do {
        segment = try ArrivingSegment(head, name: name, in: folder, isDurable: false)
      } catch let error as JournalError {
        throw MagicDataError(error, "\(text) sent what is no segment that this program reads")
      }
      guard segment.header.dataSet == dataSet else {
        throw MagicDataError(.incompatible, "\(text) serves another data set than it did; nothing of that was taken")
      }
      while segment.lacking > 0 { try await answer(.data).body.withUnsafeReadableBytes { try segment.append($0) } }
      try segment.finish()
    }
  }

  /// What the server has told of and not sent, without a reason: its folder may have been emptied meanwhile. Of what came, the
  /// next question shows what is lacking still.
  private func notSent(_ there: Standing, after held: Frontier) -> [UnreadFile] {
    there.parts.map(\.held).filter { $0.last > held[$0.replica] }.map { run in
      let what = "transactions \(held[run.replica] + 1) to \(run.last) of replica \(run.replica)"
      return UnreadFile(
        path: text, code: .busy, message: "\(text) told of \(what) and did not send them; the next pull asks again")
    }
  }

  private func takeCheckpoint(_ frame: Frame, _ dataSet: DataSetID, into folder: FolderRemote) async throws {
    guard let length = try reading({ () throws(WireError) in try frame.length() }) else {
      throw MagicDataError(.failed, "\(text) sent a checkpoint without a length")
    }
    let checkpoint = try ArrivingCheckpoint(length, of: dataSet, in: folder, isDurable: false)
    while checkpoint.lacking > 0 { try await answer(.data).body.withUnsafeReadableBytes { try checkpoint.append($0) } }
    try checkpoint.finish()
  }
}

extension FolderRemote {
  /// Where there is no folder there are no files.
  fileprivate static let nothing = FolderRemote(
    FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString.lowercased()))
}
