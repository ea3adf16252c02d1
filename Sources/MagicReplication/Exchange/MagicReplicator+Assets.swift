package import Foundation
package import MagicData
internal import MagicJournal

extension MagicReplicator {
  /// F-14: fetches contents that rows name and that are not here.
  func fetchAssets(_ names: [String], _ remote: any OpenRemote, _ report: inout PullReport) async throws {
    var rest = names[...]
    while !rest.isEmpty {
      let (folder, asked) = try await remote.contents(rest, for: magic)
      try await magic.store.fetchAssets(Array(rest.prefix(asked)), from: .folder(folder), &report)
      try await remote.forget(contents: rest.prefix(asked), for: magic)
      rest = rest.dropFirst(asked)
    }
  }

  /// F-13: sends contents that rows name and that the remote lacks, and those that a merge let go of before they were sent
  /// (F-15).
  func sendAssets(_ remote: any OpenRemote, _ report: inout PushReport) async throws {
    guard remote.takesContents else { return }
    let before = report.unread.count
    let sent = try await sendPinnedAssets(remote, &report)
    let lacking = report.lacking
    report.missingAssets += Set(lacking.intersection(sent.names).map(AssetContent.digits)).count
    // What could not be read this time may be the only copy (F-15), and so may what was missed while the whole folder is away;
    // what is damaged is lost.
    guard report.unread[before...].allSatisfy({ $0.code == .damaged }), lacking.isEmpty || magic.store.assets.exists
    else { return }
    // A bundle may never be written, or lie where nobody looks (F-15).
    if let folder = remote as? FolderRemote, folder.isForTheTime { return }
    guard !sent.unsent.isSubset(of: lacking) || sent.isNews else { return }
    do {
      try await magic.store.write { db in
        try UnsentAssets.sent(
          sent.unsent, without: lacking, through: sent.sequence, of: sent.replica, left: sent.left, db)
      }
    } catch let error as MagicDataError where [.notAllowed, .busy, .full].contains(error.code) {
      // What was to be sent is sent. That it is not noted, as in a database that may only be read, costs the next push another
      // look.
    }
  }

  private struct Sending: Sendable {
    let names: Set<String>
    let unsent: Set<String>
    /// What this database has written when its names were read, and whether that, or what it wrote under other ids, is more
    /// than was sent before.
    let replica: ReplicaID
    let sequence: UInt64
    let left: [ReplicaID: UInt64]
    let isNews: Bool

    init(_ db: Connection) throws {
      (names, unsent) = (try StoredSchema(db).assetNames(db), try UnsentAssets(db).names)
      replica = try DatabaseState(db).replica
      sequence = try JournalIndex(db).frontier()[replica]
      left = try UnsentAssets.left(db)
      isNews = try !left.isEmpty || UnsentAssets.sentSequence(of: replica, db) < sequence
    }
  }

  private func sendPinnedAssets(_ remote: any OpenRemote, _ report: inout PushReport) async throws -> Sending {
    let store = magic.store
    // What rows name stays until it is sent.
    let pin = try await store.assets.pin()
    defer { withExtendedLifetime(pin) {} }
    let sending = try await store.read { db in try Sending(db) }
    report = try await remote.deliver(assets: sending.names.union(sending.unsent), magic, report)
    return sending
  }
}

extension MagicReplicator {
  /// Contents that the next push would send, and those that rows name and that are not here.
  func waitingAssets(_ remote: any OpenRemote) async throws -> (out: Int, in: Int) {
    let assets = magic.store.assets
    let (named, unsent) = try await magic.store.read { db in (try StoredSchema(db).assetNames(db), try UnsentAssets(db).names) }
    let (lengths, lacking) = try await assets.travelling { checkCancelled in
      var lengths: [String: Set<Int>] = [:]
      for name in named.union(unsent) {
        try checkCancelled()
        guard let length = ChunkReader.length(of: assets.place(of: name)) else { continue }
        lengths[AssetContent.digits(of: name), default: []].insert(length)
      }
      return (lengths, assets.lacking(named).count)
    }
    guard remote.takesContents, !lengths.isEmpty else { return (0, lacking) }
    return (try await remote.lacking(contents: lengths), lacking)
  }
}

extension FolderRemote {
  package func lacking(contents lengths: [String: Set<Int>]) throws -> Int {
    // One in doubt is looked at by the push, and mended if it has to be.
    let doubted = try doubted()
    return lengths.count { digits, lengths in
      doubted.contains(digits) || ChunkReader.length(of: content(digits)).map { !lengths.contains($0) } ?? true
    }
  }

  package func deliver(assets names: Set<String>, _ magic: MagicData, _ report: PushReport) async throws -> PushReport {
    let assets = magic.store.assets
    return try await assets.travelling { checkCancelled in
      try AssetPush(remote: self, assets: assets).send(names, report, checkCancelled)
    }
  }
}

/// Where contents are fetched from.
enum AssetOrigin: Sendable {
  case folder(FolderRemote)
  case database(AssetFolder)
  /// The own ones, by their digits; the others where they belong, where there is nothing.
  case copies([String: URL], AssetFolder)

  fileprivate func file(_ name: String) -> URL {
    switch self {
    case .folder(let remote): remote.content(AssetContent.digits(of: name))
    case .database(let assets): assets.place(of: name)
    case .copies(let files, let assets): files[AssetContent.digits(of: name)] ?? assets.place(of: name)
    }
  }

  /// Why nothing is to be read there at all.
  fileprivate func obstacle(_ name: String) -> MagicDataError? {
    if case .folder(let remote) = self { remote.checkWay(to: AssetContent.digits(of: name)) } else { nil }
  }

  fileprivate func doubt(_ name: String) {
    if case .folder(let remote) = self { remote.doubt(AssetContent.digits(of: name)) }
  }
}

extension Store {
  /// Those that rows name and whose files are not here.
  func lackingAssets() async throws -> [String] {
    try await read { [assets] db in assets.lacking(try StoredSchema(db).assetNames(db)) }
  }

  /// Copies contents that are here under other names, as with another extension: a server that has them is not sent them again.
  ///
  /// - Parameter names: of contents that are not here.
  /// - Returns: those that still are not.
  func copyAssets(_ names: [String], _ report: inout PullReport) async throws -> [String] {
    guard !names.isEmpty else { return names }
    let (assets, digits) = (assets, Set(names.map(AssetContent.digits)))
    let files: [String: URL] = try await read { db in
      var files: [String: URL] = [:]
      for name in try StoredSchema(db).assetNames(db).union(UnsentAssets(db).names) {
        let own = AssetContent.digits(of: name)
        guard digits.contains(own), case let file = assets.place(of: name) else { continue }
        if ChunkReader.length(of: file) != nil { files[own] = file }
      }
      return files
    }
    guard !files.isEmpty else { return names }
    // One that turns out to be damaged is looked for elsewhere, and told of then.
    var copied = PullReport()
    try await fetchAssets(
      names.filter { files[AssetContent.digits(of: $0)] != nil }, from: .copies(files, assets), &copied)
    report.assets += copied.assets
    report.assetBytes += copied.assetBytes
    return assets.lacking(Set(names))
  }

  /// Fetches contents, of which those stay that rows name; or all, as ones that were let go of before they came (F-15).
  func fetchAssets(
    _ names: [String], from origin: AssetOrigin, _ report: inout PullReport, areUnsent: Bool = false
  ) async throws {
    var rest = names[...]
    while !rest.isEmpty {
      let (assets, part) = (assets, rest)
      let fetched = try await assets.travelling { checkCancelled in
        try AssetFetch(origin: origin, assets: assets).fetch(part, checkCancelled)
      }
      if !fetched.received.isEmpty { try await keep(fetched.received, areUnsent: areUnsent) }
      report.assets += fetched.received.count
      report.assetBytes += fetched.bytes
      report.missingAssets += fetched.asked - fetched.received.count
      report.unread += fetched.unread
      rest = rest.dropFirst(fetched.asked)
    }
  }
}

/// So many contents as are given their names at once.
private struct AssetFetch {
  let origin: AssetOrigin
  let assets: AssetFolder

  struct Fetched: Sendable {
    /// How many names were asked for.
    var asked = 0
    var received: [StagedAsset] = []
    var bytes = 0
    var unread: [UnreadFile] = []
  }

  /// What a break costs at most, and how long a writer waits for those that are given their names.
  private static let (maxFiles, maxBytes) = (200, 1 << 25)

  func fetch(_ names: ArraySlice<String>, _ checkCancelled: () throws -> Void) throws -> Fetched {
    var fetched = Fetched()
    for name in names where fetched.received.count < AssetFetch.maxFiles && fetched.bytes < AssetFetch.maxBytes {
      try checkCancelled()
      fetched.asked += 1
      let file = origin.file(name)
      let copied =
        try origin.obstacle(name).map(AssetContent.Copied.faulty) ?? assets.receive(name, from: file, checkCancelled)
      switch copied {
      case .whole(let copy):
        fetched.received.append(copy.asset)
        fetched.bytes += copy.bytes
      case .faulty(let fault) where fault.code == .notFound: break
      case .faulty(let fault):
        if fault.code == .damaged { origin.doubt(name) }
        let remedy = fault.code == .damaged ? "; whoever has the content writes it again with the next push" : ""
        fetched.unread.append(UnreadFile(path: file.path, code: fault.code, message: fault.message + remedy))
      }
    }
    return fetched
  }
}

private struct AssetPush {
  let remote: FolderRemote
  let assets: AssetFolder

  func send(_ names: Set<String>, _ before: PushReport, _ checkCancelled: () throws -> Void) throws -> PushReport {
    var report = before
    let doubted = try remote.doubted()
    // Assets of one content share a file there.
    for (digits, names) in Dictionary(grouping: names.sorted(), by: AssetContent.digits).sorted(by: { $0.key < $1.key }) {
      try checkCancelled()
      try send(digits, names, isDoubted: doubted.contains(digits), &report, checkCancelled)
    }
    return report
  }

  private func send(
    _ digits: String, _ names: [String], isDoubted: Bool, _ report: inout PushReport, _ checkCancelled: () throws -> Void
  ) throws {
    let target = remote.content(digits)
    if let fault = remote.checkWay(to: digits) { throw fault }
    let there = ChunkReader.length(of: target)
    let sources = assets.files(of: names)
    guard !sources.isEmpty else {
      if there == nil { report.noteLack(of: names, in: assets) }
      return
    }
    let isWhole = try isDoubted && there != nil ? AssetContent.check(target, digits, checkCancelled) == nil : true
    guard !isWhole || !sources.contains(where: { $0.length == there }) else {
      if isDoubted { remote.settleDoubt(digits) }
      return
    }
    try remote.makeContents(digits)
    for (source, _) in sources {
      switch try AssetContent.copy(source, digits, to: target, checkCancelled) {
      case .whole(let bytes):
        report.assets += 1
        report.assetBytes += bytes
        if isDoubted { remote.settleDoubt(digits) }
        return
      case .faulty(let fault):
        report.note(fault, of: source)
      }
    }
    if there == nil { report.missingAssets += 1 }
  }
}

extension AssetFolder {
  /// The files of assets of one content, and how long they are.
  package func files(of names: [String]) -> [(file: URL, length: Int)] {
    names.map(place).compactMap { file in ChunkReader.length(of: file).map { (file, $0) } }
  }
}

extension PushReport {
  /// What cannot be looked at is not taken for one that is not here.
  package mutating func noteLack(of names: [String], in assets: AssetFolder) {
    for name in names {
      let file = assets.place(of: name)
      if let fault = ChunkReader.hindrance(to: file) {
        unread.append(UnreadFile(path: file.path, code: fault.code, message: fault.message))
      } else {
        lacking.insert(name)
      }
    }
  }

  package mutating func note(_ fault: MagicDataError, of asset: URL) {
    unread.append(
      UnreadFile(
        path: asset.path, code: fault.code,
        message: fault.message + "; delete it and pull from a remote that has it, or put it back from a copy"))
  }
}
