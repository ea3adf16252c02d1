package import Foundation
internal import MagicData
package import MagicJournal

/// Stores and forwards: needs no schema, merges nothing, and opens no database.
package final class ServedFolder: Served {
  package let changes = ChangeSignal()
  let remote: FolderRemote
  let state = Locked(State())
  /// What is known of the folder's acknowledgements.
  private let members = Locked(FolderMembers())
  /// One looks at a time, or an older look could take the place of a later one.
  let looking = NSLock()
  /// One reads files for names at a time, whoever asks.
  private let inflating = Gate(places: 1)
  /// One looks at contents in doubt at a time.
  let checking = Gate(places: 1)

  /// Bytes that are read for the names of one answer, as they lie and inflated: twice the largest file, or thousands of such as
  /// replicas mostly have.
  private static let inflatedBytes = 8 * Limits.segmentCut
  /// So many names are remembered, and so many files that are whole.
  private static let maxNames = 10_000
  /// So many contents are looked for before it is asked whether who wants them is there still.
  private static let contentsAtOnce = 500
  /// After which the folder is listed though nothing shows that it is another: not every file system says.
  static let longest = Duration.seconds(60)
  /// For how long: what a disk does to a file does not show in the file's times. Who gets it compares its checksum as well.
  private static let trust = Duration.seconds(600)

  package init(_ remote: FolderRemote) {
    self.remote = remote
  }

  package var text: String { remote.text }
  package func replica() -> ReplicaID? { nil }

  package func dataSet() async throws -> DataSetID? {
    try await offPool { [remote, state] in
      let file = OpenFile.State(of: remote.marker)
      if let known = state.withLock({ $0.dataSet }), known.in == file, known.until > .now { return known.0 }
      do {
        let dataSet = try remote.dataSet()
        state.withLock {
          $0.dataSet = file.flatMap { $0.isOlder(than: Date()) ? (dataSet, in: $0, until: .now + ServedFolder.longest) : nil }
        }
        return dataSet
      } catch let error as MagicDataError where error.code == .notFound {
        return nil
      }
    }
  }

  package func make(_ dataSet: DataSetID) async throws -> DataSetID {
    try await offPool { [remote] in try remote.dataSet(orMake: dataSet) }
  }

  package func standing(
    _ dataSet: DataSetID, comparedWith runs: [HeldRun], of client: ReplicaID, isThere: Presence = {}
  ) async throws -> Standing {
    let (seen, standing, inside) = try await offPool { [self] in
      let look = try self.look(dataSet)
      var inside: [(run: HeldRun, file: FolderListing.File)] = []
      for run in runs where run.replica != client && run.last <= look.frontier[run.replica] {
        switch place(of: run.last, of: run.replica, in: look) {
        case .name(let name): try compare(name, with: run, look.listing)
        case .file(let file): inside.append((run, file))
        case .nowhere: continue
        }
      }
      return (look, self.standing(look), inside)
    }
    guard !inside.isEmpty else { return standing }
    // However many ask, it takes one thread.
    try await inflating.enter()
    defer { inflating.leave() }
    try isThere()
    try await offPool { [self] in
      var room = ServedFolder.inflatedBytes
      // What there is no room for is compared the next time, when these are known, or by who pulls it.
      for (run, file) in inside where file.header.bodyLength + file.header.storedLength <= room {
        room -= file.header.bodyLength + file.header.storedLength
        if let name = try name(at: run.last, in: file) { try compare(name, with: run, seen.listing) }
      }
    }
    return standing
  }

  private func compare(_ name: TransactionName, with run: HeldRun, _ listing: FolderListing) throws {
    // Of two floors the client has to see for itself (K-20).
    let isOfFloor = listing.checkpoints.contains { $0.floor[run.replica]?.name == name }
    guard name == run.name || isOfFloor else { throw MagicDataError.fork(run.replica) }
  }

  private func standing(_ look: Look) -> Standing {
    if let standing = look.standing { return standing }
    // Acknowledgements that cannot be read say nothing of anybody (K-7).
    let standing = Standing(
      look.listing, look.rows, members: (try? remote.acknowledged(look.dataSet)).map { Array($0.files.keys) } ?? [])
    state.withLock { state in
      guard let now = state.look, now.until == look.until, now.changes == look.changes else { return }
      state.look?.standing = standing
    }
    return standing
  }

  /// Where the name of a transaction is found.
  private enum NamePlace {
    case name(TransactionName)
    /// Within a file, which has to be inflated.
    case file(FolderListing.File)
    case nowhere
  }

  private func place(of sequence: UInt64, of replica: ReplicaID, in look: Look) -> NamePlace {
    let listing = look.listing
    if let end = listing.checkpoints.lazy.compactMap({ $0.floor[replica] }).first(where: { $0.sequence == sequence }) {
      return .name(end.name)
    }
    guard sequence > 0,
      let file = look.rows[replica]?.next(after: sequence - 1) ?? listing.next(after: sequence - 1, of: replica)
    else { return .nowhere }
    if file.name.last == sequence { return .name(file.header.lastName) }
    if let name = state.withLock({ $0.names[Address(file: file.name, sequence: sequence)] }) {
      return name.map(NamePlace.name) ?? .nowhere
    }
    return file.header.bodyLength <= 4 * Limits.segmentCut ? .file(file) : .nowhere
  }

  /// The name of a transaction that a file holds; `nil` if none can be read.
  private func name(at sequence: UInt64, in file: FolderListing.File) throws -> TransactionName? {
    let address = Address(file: file.name, sequence: sequence)
    // Somebody else may have looked meanwhile.
    if let name = state.withLock({ $0.names[address] }) { return name }
    guard let opened = try whole(file), let bytes = try? opened.bytes(at: 0, opened.length) else { return nil }
    let name = ServedFolder.name(at: sequence, in: bytes, file.header)
    state.withLock { state in
      if state.names.count >= ServedFolder.maxNames { state.names = [:] }
      state.names[address] = .some(name)
    }
    return name
  }

  /// A hub does not read what it carries, but for names, and of no body that may be larger than segments mostly are. A file
  /// whose bytes are right and that is no segment gives no name, and so no fork; who gets it says what it is.
  private static func name(at sequence: UInt64, in bytes: [UInt8], _ header: SegmentHeader) -> TransactionName? {
    guard header.first <= sequence, sequence <= header.last, let names = try? SegmentReader(bytes).names(),
      names.last == header.lastName
    else { return nil }
    return names[Int(sequence - header.first)]
  }

  /// An open file, if its checksum is that of its header; else it counts no more, and whoever has what it held sends it again.
  func whole(_ file: FolderListing.File) throws -> OpenFile? {
    let error: MagicDataError
    var found: OpenFile.State?
    do {
      let opened = try OpenFile(file.url)
      found = opened.state
      let (known, damage) = state.withLock { ($0.whole[file.name], $0.damaged[file.name]) }
      if let known, known.state == opened.state, known.until > .now { return opened }
      if let damage, damage.state == opened.state { return nil }
      if try ServedFolder.isWhole(opened, file.header) {
        remember(file.name, opened)
        state.withLock { $0.damaged[file.name] = nil }
        return opened
      }
      error = MagicDataError(.damaged, "\(file.url.path) is damaged: its bytes do not match its checksum")
      remote.doubt(file.name.text)
    } catch let failure as MagicDataError {
      guard failure.code != .notFound else { return nil }
      error = failure
    }
    state.withLock { state in
      state.damaged[file.name] = Damage(error: error, state: found)
      state.look?.reject(file.name, error)
    }
    return nil
  }

  /// Whether a file has the transactions that a header names, is as long as its own header says, and goes on with bytes of its
  /// checksum. It may have taken the place of one that was cut or compressed otherwise (S-3).
  static func isWhole(_ file: OpenFile, _ known: SegmentHeader) throws -> Bool {
    // What cannot be read is not whole, whatever keeps it from that.
    guard let header = try? SegmentHeader(file.bytes(at: 0, SegmentHeader.length)), header.isOfSameRun(as: known),
      file.length == SegmentHeader.length + header.storedLength
    else { return false }
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { piece.deallocate() }
    var (offset, checksum) = (SegmentHeader.length, UInt32(0))
    while offset < file.length {
      let part = UnsafeMutableRawBufferPointer(rebasing: piece[..<min(piece.count, file.length - offset)])
      try file.read(part, at: offset)
      checksum = Zlib.checksum(UnsafeRawBufferPointer(part), after: checksum)
      offset += part.count
    }
    return checksum == header.storedChecksum
  }

  /// Many clients take the same files; comparing each time would take longer than sending.
  private func remember(_ name: SegmentFileName, _ file: OpenFile) {
    guard file.state.isOlder(than: Date()) else { return }
    state.withLock { state in
      if state.whole.count >= ServedFolder.maxNames { state.whole = [:] }
      state.whole[name] = Whole(state: file.state, until: .now + ServedFolder.trust)
    }
  }

  /// Acknowledgements that cannot be read say nothing (K-7). Each comparison asks: however many come, they are looked at once a
  /// second.
  package func acceptedTime(_ dataSet: DataSetID) async throws -> Int64 {
    try await offPool { [remote, members] in
      members.withLock { members in
        guard members.wasLookedAt(dataSet, within: .seconds(1)) || (try? members.look(remote, dataSet)) != nil else { return 0 }
        return members.acceptedTime
      }
    }
  }

  package func checkpoint(
    _ dataSet: DataSetID, after frontier: Frontier, isThere: Presence = {}
  ) async throws -> ServedCheckpoint? {
    try await offPool { [self] in
      var listing = try look(dataSet).listing
      while let checkpoint = listing.needed(by: frontier) {
        do {
          if try listing.isWhole(checkpoint) { return try ServedCheckpoint(checkpoint) }
        } catch let error as MagicDataError where error.code == .notFound {
          // It is looked for below.
        }
        state.withLock { $0.look?.outdate() }
        if OpenFile.State(of: checkpoint.url) == nil {
          // It went while it was read, and what took its place is there (F-20).
          listing = try look(dataSet).listing
        } else {
          // It does not count from the next look on.
          remote.doubt(checkpoint.url.lastPathComponent)
        }
      }
      return nil
    }
  }

  package func acknowledged(
    _ dataSet: DataSetID, _ said: Data, by client: ReplicaID, atMost limit: Int,
    before keeping: @Sendable @escaping () throws -> Void = {}, isThere: Presence = {}
  ) async throws -> [Data] {
    try await offPool { [remote, members] in
      let file = AckFile(said, of: client, dataSet)
      if file != nil {
        try keeping()
        try remote.write(acknowledgement: said, of: client)
      }
      let known = try members.withLock { members in
        if let file { members.take(file, in: remote) }
        try members.look(remote, dataSet)
        return members
      }
      return try (file ?? AckFile(replica: client, members: [:])).news(
        among: known.all.values, closings: known.closings, acceptedTime: known.acceptedTime, names: known.names.all, dataSet,
        atMost: limit)
    }
  }

  package func segments(
    _ dataSet: DataSetID, after frontier: Frontier, isThere: Presence = {},
    _ take: @Sendable (ServedSegment) async throws -> Void
  ) async throws -> [String] {
    let seen = try await offPool { [self] in try look(dataSet) }
    var (listing, rows, isNew) = (seen.listing, seen.rows, true)
    var held = frontier
    // Files that are gone were replaced, or will be (F-20).
    while isNew {
      for replica in listing.replicas {
        // What is told to be here, and then what may be another branch's.
        while let file = rows[replica]?.next(after: held[replica]) ?? listing.next(after: held[replica], of: replica) {
          guard let whole = try await offPool({ [self] in try whole(file) }) else {
            let error = state.withLock { $0.damaged[file.name]?.error }
            listing.reject(file, error ?? MagicDataError(.notFound, "\(file.url.path) is gone"))
            rows = listing.rows
            continue
          }
          let header = try whole.bytes(at: 0, SegmentHeader.length)
          try await take(ServedSegment(name: file.name.name, header: header, body: .file(whole)))
          held[replica] = file.name.last
        }
      }
      (listing, isNew) = try await offPool { [listing] in
        var listing = listing
        let isNew = try listing.lookAgain()
        return (listing, isNew)
      }
      if isNew { rows = listing.rows }
    }
    // Nor does what the client has already.
    var reached = listing.frontier
    reached.raise(to: frontier)
    let errors =
      listing.rejectedSegments(beyond: reached).map(\.error)
      + listing.rejectedCheckpoints(beyond: reached, isLacking: reached.replicas.isEmpty).map(\.error)
    // Where the folder is does not concern a client.
    return errors.map { error in
      [remote.segments, remote.checkpoints].reduce(error.message) { $0.replacingOccurrences(of: $1.path + "/", with: "") }
    }
  }

  package func inbox(_ dataSet: DataSetID) throws -> any Inbox {
    try remote.makeSegments()
    return FolderInbox(self, remote)
  }

  package func contents(_ digits: Set<String>, isThere: Presence = {}) async throws -> [String: URL] {
    let (all, doubted) = (Array(digits), try await offPool { [remote] in (try? remote.doubted()) ?? [] })
    var (files, inDoubt) = ([String: URL](), [String]())
    for start in stride(from: 0, to: all.count, by: ServedFolder.contentsAtOnce) {
      // On a slow disk each takes a while, and who asked may have gone.
      try isThere()
      let part = all[start..<min(start + ServedFolder.contentsAtOnce, all.count)]
      let (found, unsure) = try await offPool { [self] in look(for: part, doubted: doubted) }
      files.merge(found) { $1 }
      inDoubt += unsure
    }
    for digits in inDoubt {
      // However many ask, it takes one thread; and one who has few waits for none who has many.
      try await checking.enter()
      defer { checking.leave() }
      try isThere()
      files[digits] = try await offPool { [self] in try wholeContent(digits) }
    }
    return files
  }

  private func look(
    for contents: ArraySlice<String>, doubted: Set<String>
  ) -> (found: [String: URL], inDoubt: [String]) {
    var (files, inDoubt) = ([String: URL](), [String]())
    for digits in contents where remote.checkWay(to: digits) == nil {
      if doubted.contains(digits) {
        inDoubt.append(digits)
      } else if case let file = remote.content(digits), ChunkReader.length(of: file) != nil {
        files[digits] = file
      }
    }
    return (files, inDoubt.filter { !isKnownDamaged($0) })
  }

  /// Whether a content is the file that was read and is damaged. Another copy may have taken its place.
  private func isKnownDamaged(_ digits: String) -> Bool {
    guard let known = state.withLock({ $0.damagedContents[digits] }) else { return false }
    return OpenFile.State(of: remote.content(digits)) == known
  }

  /// A content in doubt, if it is whole: then it was on its way when somebody read it (F-16).
  private func wholeContent(_ digits: String) throws -> URL? {
    // Somebody else may have looked meanwhile.
    guard !isKnownDamaged(digits) else { return nil }
    let file = remote.content(digits)
    guard ChunkReader.length(of: remote.doubts.appendingPathComponent(digits)) != nil else {
      return ChunkReader.length(of: file).map { _ in file }
    }
    let before = OpenFile.State(of: file)
    let fault = try AssetContent.check(file, digits) {}
    state.withLock { state in
      state.damagedContents[digits] = nil
      // A file that changed a moment ago may change again unseen.
      guard fault?.code == .damaged, let before, before.isOlder(than: Date()) else { return }
      if state.damagedContents.count >= ServedFolder.maxNames { state.damagedContents = [:] }
      state.damagedContents[digits] = before
    }
    guard fault == nil else { return nil }
    remote.settleDoubt(digits)
    return ChunkReader.length(of: file).map { _ in file }
  }

  package func doubt(content digits: String) async { _ = try? await offPool { [remote] in remote.doubt(digits) } }

  package func frontier() -> Frontier { state.withLock { $0.look?.frontier ?? Frontier() } }
  package func replicas() async throws -> Set<ReplicaID> {
    // Before somebody has looked for the first time nothing is known, which is not the same as nothing being here.
    if state.withLock({ $0.look == nil }), let dataSet = try await dataSet() {
      _ = try await offPool { [self] in try look(dataSet) }
    }
    return state.withLock { $0.look.map { $0.arrived.union($0.listing.allReplicas) } ?? [] }
  }
  package func digest(at frontier: Frontier, isThere: Presence = {}) -> String? { nil }

  /// Between two looks at the times of the folder's files, for what others write: over ssh each session has a server of its
  /// own.
  private static let pause = Duration.milliseconds(50)

  package func watch() async {
    // Others may write to the folder as well, by themselves or through a service that carries it.
    var (told, seen, until, earliest) = (frontier(), FolderState?.none, ContinuousClock.now, ContinuousClock.now)
    while !Task.isCancelled {
      // A change soon after another may leave a folder's times as they are, so it is listed now and then without a sign.
      let state = try? await offPool { [remote] in FolderState(remote) }
      if state != seen && .now >= earliest || .now >= until {
        let start = ContinuousClock.now
        if let dataSet = try? await dataSet() { _ = try? await offPool { [self] in try look(dataSet, isCertain: true) } }
        // A tenth of the time, however many files there are.
        (seen, until, earliest) = (state, .now + .seconds(1), .now + start.duration(to: .now) * 10)
      }
      // Whoever has looked meanwhile has told nobody.
      let now = frontier()
      if now != told { changes.tell() }
      told = now
      try? await Task.sleep(for: ServedFolder.pause)
    }
  }

  func received(_ name: SegmentFileName, _ header: SegmentHeader) {
    remote.settleDoubt(name.text)
    // Not while somebody looks, who may have passed over the file already.
    looking.withLock {
      state.withLock { state in
        state.damaged = state.damaged.filter {
          $0.key.replica != header.replica || $0.key.first != header.first || $0.key.last != header.last
        }
        if state.look?.dataSet == header.dataSet { state.look?.add(name, header) }
      }
    }
  }

  func receivedCheckpoint(_ name: String, _ replicas: Set<ReplicaID>) {
    remote.settleDoubt(name)
    looking.withLock { state.withLock { $0.look?.outdate(with: replicas) } }
  }
}
