internal import Foundation
internal import GRDB
internal import MagicJournal

/// The folder of a database's assets: files that are named after their content and never change.
///
/// Why no row of a committed transaction names a file that is not there, whoever else works on the same database:
/// - A file gets its name within the transaction that names it in a row, and goes away within a transaction that found no row
///   naming it. SQLite lets in one writer at a time, so the one never comes between the look and the deed of the other.
/// - Its content, and then its name, are on the disk before the row can be; the commit that lets go of it is on the disk before
///   the file goes away.
/// - Before it has its name, it is held under a temporary name (a second link, where the content is here already), so that
///   whoever lets go of the same content meanwhile does not take it away.
///
/// What a crash or a rollback leaves is a file too many, which `Store.settleAssets` finds.
package final class AssetFolder: Sendable {
  let url: URL
  private let unsettled = Locked(Unsettled())
  /// Contents are read and written here, and not on the threads that all tasks share.
  private let queue = DispatchQueue(label: "magicdata.assets")
  /// What comes and goes may take long, and holds up no save.
  let travels = DispatchQueue(label: "magicdata.assets.travels", attributes: .concurrent)

  init(_ url: URL) {
    self.url = url
  }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }
  package var exists: Bool { access(url.path, F_OK) == 0 }
  func has(_ name: String) -> Bool { access(file(name).path, F_OK) == 0 }

  // MARK: Reading

  func content(of name: String) throws -> Data {
    let file = file(name)
    let content: Data
    do {
      content = try Data(contentsOf: file)
    } catch {
      guard access(file.path, F_OK) == 0 || errno != ENOENT && errno != ENOTDIR else {
        throw MagicDataError(
          .notFound,
          """
          the asset's file \(file.path) is not here: its object was changed or removed since it was fetched, or the content has not \
          arrived from the replica that wrote it, and is fetched by the next pull that finds it
          """, cause: error)
      }
      throw MagicDataError(.notAllowed, "the asset's file \(file.path) could not be read", cause: error)
    }
    let pathExtension = name.count > 64 ? String(name.dropFirst(65)) : nil
    guard content.withUnsafeBytes({ AssetName.name(of: $0, pathExtension: pathExtension) }) == name else {
      throw MagicDataError(
        .damaged,
        """
        the asset's file \(file.path) does not hold what its name says; delete it and pull from a remote that has it, restore it from a copy, \
        or give the property its value again
        """
      )
    }
    return content
  }

  @inline(never) func loadedContent(of name: String) async throws -> Data {
    try await onQueue { try self.content(of: name) }
  }

  // MARK: Writing

  /// Brings a content to the disk under a temporary name.
  ///
  /// - Parameter content: of an asset that the app made; one that was fetched is taken from where it is.
  @inline(never) func stage(_ place: AssetPlace, _ content: Data?) async throws -> StagedAsset {
    try await onQueue { try self.staged(place, content) }
  }

  private func onQueue<Result: Sendable>(_ body: @Sendable @escaping () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result(catching: body)) }
    }
  }

  /// Stages a content on the caller's thread.
  func staged(_ place: AssetPlace, _ content: Data?) throws -> StagedAsset {
    try make()
    guard let content else {
      guard let name = place.name else { throw MagicDataError(.unsetValue, "the asset has no value yet") }
      if let link = link(name) { return StagedAsset(name, link, place, self) }
      return StagedAsset(name, try DurableFile.writeTemporary(place.content(), beside: file(name)), place, self)
    }
    let wasNamed = place.name != nil
    let name = try place.named(after: content)
    if holds(content, name), let link = link(name) { return StagedAsset(name, link, place, self) }
    // A file that is damaged is written anew; one of another content stays what it is.
    if wasNamed { try place.checkNamed(after: content) }
    return StagedAsset(name, try DurableFile.writeTemporary(content, beside: file(name)), place, self)
  }

  private func holds(_ content: Data, _ name: String) -> Bool {
    do {
      return try DurableFile.head(of: file(name), 0).length == content.count && Data(contentsOf: file(name)) == content
    } catch {
      return false
    }
  }

  /// A second name for a file that is here already; `nil` if there is none, or where a file has but one name.
  private func link(_ name: String) -> URL? {
    let temporary = DurableFile.temporary(beside: file(name))
    guard Foundation.link(file(name).path, temporary.path) == 0 else { return nil }
    // Not old, for who clears up.
    utimes(temporary.path, nil)
    return temporary
  }

  func make() throws {
    guard !exists else { return }
    guard mkdir(url.path, 0o777) == 0 || errno == EEXIST else { throw DurableFile.failure("could not be made", url) }
    try DurableFile.sync(url.deletingLastPathComponent())
  }

  /// Gives files their names, within the transaction that names them.
  func place(_ files: [StagedAsset]) throws {
    try finish()
    // From here on they may be there without a row: if it comes to a rollback.
    unsettled.withLock { $0.names.formUnion(files.map(\.name)) }
    for staged in files {
      let file = file(staged.name)
      guard rename(staged.temporary.path, file.path) == 0 || errno == ENOENT && has(staged.name) else {
        throw DurableFile.failure("could not be written", file)
      }
      staged.place.isKept(in: self)
    }
    try DurableFile.sync(url)
  }

  // MARK: Clearing up

  /// Keeps all files, whoever may let go of them, in whatever process, until it goes away. Waits for who takes files away.
  ///
  /// - Throws: `MagicDataError` with `busy` if somebody else has locked the folder, and for longer than a writer waits for a
  ///   database.
  @inline(never) package func pin() async throws -> AssetPin {
    let folder = url.deletingLastPathComponent()
    let pin = try AssetPin(folder)
    return try await SystemLock.wait(
      """
      another program has locked the folder \(folder.path) (flock), so that its assets cannot be copied; end that program, or try again when it is done
      """
    ) { pin.take(LOCK_SH) ? pin : nil }
  }

  /// Runs `body` if nobody has pinned the files.
  func ifUnpinned(_ body: () throws -> Void) throws {
    let folder = url.deletingLastPathComponent()
    let pin = try AssetPin(folder)
    guard pin.take(LOCK_EX) else { throw MagicDataError(.busy, "the assets in \(folder.path) are being copied") }
    try withExtendedLifetime(pin, body)
  }

  /// Files that may be there without a row naming them.
  struct Unsettled {
    var names: Set<String> = []
    /// Whether rows have let go of names.
    var isDropped = false
    /// Whether it was looked once for what a crash has left.
    var isSwept = false

    var isEmpty: Bool { names.isEmpty && !isDropped }
  }

  var hasUnsettled: Bool { unsettled.withLock { !$0.isEmpty } }

  /// Within a transaction of which rows may have let go of names.
  func noteDropped(_ db: Database) throws {
    var select = try SQL(db, Statements.hasDroppedAssets)
    if try select.step() { unsettled.withLock { $0.isDropped = true } }
  }

  var isSwept: Bool { unsettled.withLock(\.isSwept) }
  func noteSweep() { unsettled.withLock { $0.isSwept = true } }

  func takeUnsettled() -> Set<String> {
    unsettled.withLock { unsettled in
      defer { unsettled = Unsettled(isSwept: unsettled.isSwept) }
      return unsettled.names
    }
  }

  /// It has to be looked at another time.
  func putBack(_ names: Set<String>) {
    unsettled.withLock { unsettled in
      unsettled.names.formUnion(names)
      unsettled.isDropped = true
    }
  }

  /// Nobody names it. `false` if it cannot be taken away.
  func delete(_ name: String) -> Bool {
    AssetName.isValid(name) && (unlink(file(name).path) == 0 || errno == ENOENT)
  }

  /// All files that are named as assets.
  func all() throws -> [String] {
    guard exists else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: url.path).filter(AssetName.isValid)
  }

  /// In the folder of a database of which the file is yet to come: whoever is killed before that leaves nobody's only copies.
  static let unfinished = ".unfinished"

  /// The database's file is here, so what lies here may be the only copies: whoever put it there may have been killed before he
  /// could say so.
  func finish() throws {
    let mark = file(AssetFolder.unfinished)
    guard unlink(mark.path) == 0 || errno == ENOENT || errno == ENOTDIR else {
      throw DurableFile.failure("could not be removed", mark)
    }
  }

  /// The names of what lay here before the database was made, and no sweep takes away.
  static let others = ".others"

  /// Before a database is made: what lies here may be the only copies of one that was moved away.
  func noteOthers() throws {
    // Where nothing may be written nothing is swept either, and what may not be listed is not.
    guard access(url.path, W_OK) == 0, let names = try? all(), !names.isEmpty else { return }
    try DurableFile.write(Data(names.sorted().joined(separator: "\n").utf8), to: file(AssetFolder.others))
  }

  func others() throws -> Set<String> {
    do {
      let names = try DurableFile.read(file(AssetFolder.others), atMost: .max)
      return Set(String(decoding: names, as: UTF8.self).split(separator: "\n").map(String.init))
    } catch let error as MagicDataError where error.code == .notFound {
      return []
    }
  }

  /// The assets that came here before a time, in milliseconds since 1970, and since the database was made. Temporary files as
  /// old are taken away.
  func old(before time: Int64) throws -> [String] {
    guard exists else { return [] }
    let others = try others()
    return try FileManager.default.contentsOfDirectory(atPath: url.path).filter { name in
      guard !others.contains(name) else { return false }
      let isAsset = AssetName.isValid(name)
      guard isAsset || DurableFile.isTemporary(name) else { return false }
      // What is gone by now was somebody's who writes.
      guard let seconds = DurableFile.lastPlaced(file(name)), seconds * 1_000 < Double(time) else { return false }
      if !isAsset { unlink(file(name).path) }
      return isAsset
    }
  }
}

/// A content that is on the disk under a temporary name, which goes away with this.
package final class StagedAsset: Sendable {
  let name: String
  let temporary: URL
  let place: AssetPlace
  let folder: AssetFolder

  init(_ name: String, _ temporary: URL, _ place: AssetPlace, _ folder: AssetFolder) {
    self.name = name
    self.temporary = temporary
    self.place = place
    self.folder = folder
  }

  deinit { unlink(temporary.path) }
}

/// A lock on the folder that the assets' folder is in, which the system takes back from who dies: shared by those who copy
/// assets, held alone by who takes some away.
package final class AssetPin: Sendable {
  private let descriptor: Int32

  /// Holds nothing yet.
  fileprivate init(_ folder: URL) throws {
    descriptor = open(folder.path, O_RDONLY | O_CLOEXEC)
    // What is whole is ended by `deinit` also if it throws; a second close would be that of a file which another thread has
    // just opened.
    guard descriptor >= 0 else { throw DurableFile.failure("could not be opened", folder) }
  }

  fileprivate func take(_ kind: Int32) -> Bool { SystemLock.take(kind, descriptor) }

  deinit {
    // A child that the program is about to start has it too, until it becomes another program.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}

/// The contents of a save's assets.
struct StagedAssets: Sendable {
  private(set) var files: [StagedAsset] = []
  private var slots: [AssetSlot] = []
  /// The names of contents that were here when it was looked, and that the instances have otherwise.
  private var expected: [String] = []

  mutating func append(_ file: StagedAsset, for slot: AssetSlot) {
    files.append(file)
    slots.append(slot)
  }

  mutating func expect(_ name: String) { expected.append(name) }

  /// The objects with the names of their contents.
  func naming(_ objects: [ObjectSave]) -> [ObjectSave] {
    guard !files.isEmpty else { return objects }
    var objects = objects
    for (file, slot) in zip(files, slots) {
      objects[slot.object] = objects[slot.object].with { $0.name(slot, file.name) }
    }
    return objects
  }

  func naming(_ object: ObjectSave) -> ObjectSave {
    files.isEmpty ? object : naming([object])[0]
  }

  func naming(_ graph: GraphSave) -> GraphSave {
    var graph = graph
    graph.objects = naming(graph.objects)
    return graph
  }

  /// Within the transaction that names them in rows.
  ///
  /// - Throws: `AssetsWentAway`.
  func place(in store: Store) throws {
    guard expected.allSatisfy(store.assets.has) else { throw AssetsWentAway() }
    guard !files.isEmpty else { return }
    try store.checkIsInPlace()
    try store.assets.place(files)
  }
}

/// Another process has let go of contents while this one waited for its turn to write; they are to be staged after all.
struct AssetsWentAway: Error {
  /// Tries again as often as that happens.
  nonisolated(nonsending) static func retrying<Result>(
    _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    while true {
      do { return try await body() } catch let error as MagicDataError where error.cause is AssetsWentAway {}
    }
  }

  static func retryingBlocking<Result>(_ body: () throws -> Result) throws -> Result {
    while true {
      do { return try body() } catch let error as MagicDataError where error.cause is AssetsWentAway {}
    }
  }
}
