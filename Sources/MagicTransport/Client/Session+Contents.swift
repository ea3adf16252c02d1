internal import Foundation
internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore

/// Contents of assets (W-14, W-15).
extension Session {
  /// What a break costs at most, and how much lies beside the assets until it is given its names.
  private static let (maxFiles, maxBytes) = (200, 1 << 25)

  func contents(_ names: ArraySlice<String>, for magic: MagicData) async throws -> (folder: FolderRemote, asked: Int) {
    let folder = magic.store.assets.incoming
    guard offers("assets") else { return (folder, names.count) }
    let part = names.prefix(Session.maxFiles)
    let digits = part.map { AssetContent.digits(of: $0) }
    let lengths = try await lengths(of: digits)
    var (asked, bytes) = (0, 0)
    for (digits, length) in zip(digits, lengths) where bytes < Session.maxBytes {
      asked += 1
      guard let length, ChunkReader.length(of: folder.content(digits)) == nil else { continue }
      bytes += length
      try await fetch(digits, into: folder)
    }
    return (folder, asked)
  }

  func forget(contents names: ArraySlice<String>, for magic: MagicData) async throws {
    let folder = magic.store.assets.incoming
    try await offPool { for name in names { folder.forget(AssetContent.digits(of: name)) } }
  }

  private func lengths(of digits: [String]) async throws -> [Int?] {
    let answer = try await ask(.which(digits), for: .have)
    let lengths = try reading { () throws(WireError) in try answer.have() }
    guard lengths.count == digits.count else { throw MagicDataError(.failed, "\(text) answered for other contents") }
    return lengths
  }

  private func fetch(_ digits: String, into folder: FolderRemote) async throws {
    let content: ArrivingContent
    do {
      content = try ArrivingContent(digits, in: folder)
    } catch let error as MagicDataError where error.code == .busy {
      return
    }
    let answer = try await ask(.content(.fetch, digits, content.offset), for: .content)
    guard let length = try reading({ () throws(WireError) in try answer.length() }) else { return }
    var left = length - content.offset
    guard left >= 0 else { return try content.restart() }
    while left > 0 {
      let piece = try await self.answer(.data).body
      guard piece.readableBytes <= left else { throw MagicDataError(.failed, "\(text) sent more than it said") }
      try piece.withUnsafeReadableBytes { try content.append($0) }
      left -= piece.readableBytes
    }
    let whole = Whole(content)
    do {
      try await offPool { try whole.arrived.finish() }
    } catch let error as MagicDataError where error.code == .damaged {
      // It counts as one that the remote lacks, and is looked for again.
    }
  }

  var takesContents: Bool { offers("assets") }

  /// A hub's folder lacks what is not there as a file of the own one's length (F-13). A peer looks after its own.
  private func lacks(_ there: Int?, _ own: (Int) -> Bool) -> Bool {
    there.map { welcome.replica == nil && !own($0) } ?? true
  }

  func lacking(contents lengths: [String: Set<Int>]) async throws -> Int {
    var (rest, lacking) = (lengths.keys.sorted()[...], 0)
    while !rest.isEmpty {
      let part = Array(rest.prefix(WireLimits.contents))
      lacking += try await zip(part, self.lengths(of: part)).count { digits, there in
        lacks(there) { lengths[digits]?.contains($0) ?? true }
      }
      rest = rest.dropFirst(WireLimits.contents)
    }
    return lacking
  }

  func deliver(assets names: Set<String>, _ magic: MagicData, _ report: PushReport) async throws -> PushReport {
    guard takesContents else { return report }
    var report = report
    let assets = magic.store.assets
    let all = Dictionary(grouping: names.sorted(), by: AssetContent.digits).sorted { $0.key < $1.key }
    var rest = all[...]
    var (sent, bytes) = (0, 0)
    while !rest.isEmpty {
      let part = Array(rest.prefix(WireLimits.contents))
      rest = rest.dropFirst(WireLimits.contents)
      for ((digits, names), there) in zip(part, try await lengths(of: part.map(\.key))) {
        let files = assets.files(of: names)
        guard lacks(there, { there in files.isEmpty || files.contains { $0.length == there } }) else { continue }
        guard !files.isEmpty else {
          report.noteLack(of: names, in: assets)
          continue
        }
        var isSent = false
        for (file, length) in files where !isSent {
          if let fault = try await offPool({ try AssetContent.check(file, digits) {} }) {
            report.note(fault, of: file)
            continue
          }
          report.assetBytes += try await store(digits, file, length)
          bytes += length
          isSent = true
        }
        if isSent {
          report.assets += 1
          sent += 1
          // What a hub has whole has its name; a peer gives it one then.
          if welcome.replica != nil, sent >= Session.maxFiles || bytes >= Session.maxBytes {
            try await settle(Frontier())
            (sent, bytes) = (0, 0)
          }
        } else if there == nil {
          report.missingAssets += 1
        }
      }
    }
    if sent > 0 { try await settle(Frontier()) }
    return report
  }

  /// How many bytes were sent: fewer than there are, if some were there from before a break.
  private func store(_ digits: String, _ file: URL, _ length: Int) async throws -> Int {
    guard welcome.rights.contains(.write) else { throw mayOnlyRead(lacking: "contents of assets", isOwn: false) }
    let answer = try await ask(.content(.store, digits, length), for: .from)
    guard let offset = try reading({ () throws(WireError) in try answer.length() }), offset <= length else {
      throw MagicDataError(.failed, "\(text) asked for what is not in a content")
    }
    try await FileChunks(file).forEach(from: offset, through: length) { try await send(Frame(.data, $0)) }
    _ = try await self.answer(.stored)
    return length - offset
  }
}
