public import Foundation
public import MagicData
internal import MagicJournal

/// A journal, wherever it is kept: to read, explain and rebuild.
///
/// ```swift
/// let history = MagicHistory(magic)
/// for change in try await history.history(of: "Note", "groceries").changes { print(change.author.time) }
/// ```
///
/// Nothing here needs the app's models, and nothing but ``rebuild(into:_:)`` and ``export(to:_:)`` writes anything. What is to
/// be undone or mended is asked of the database: see `MagicData.undoing(_:)` and `MagicData.repair(_:)`.
public struct MagicHistory: Sendable {
  let source: JournalSource

  /// The journal of a database.
  public init(_ magic: MagicData) {
    source = .database(magic)
  }

  /// What a folder remote holds.
  public init(_ remote: FolderRemote) {
    source = .folder(remote)
  }

  /// Whatever is at a path: a database, a folder remote, a segment file, a bundle or an export.
  ///
  /// - Throws: `MagicDataError` with `notFound` if there is nothing, `notADatabase` if it is something else.
  public init(path: String) throws {
    source = try JournalSource(at: path)
  }

  /// Which entries are meant.
  public struct Selection: Sendable {
    /// Only what was written then or later.
    public var since: MagicMoment?
    /// Only what was written then or before.
    public var until: MagicMoment?
    /// How the ids of replicas begin; none stands for all.
    public var replicas: [String] = []
    /// The name of a type.
    public var type: String?
    /// The primary value, number or birth of an object, as ``Entry/object`` has it.
    public var object: String?
    /// Entries of this kind alone.
    public var operation: Operation?
    /// Only the last so many.
    public var limit: Int?

    /// All entries.
    public init() {}

    var log: LogSelection {
      var selection = LogSelection()
      (selection.since, selection.until, selection.replicas) = (since, until, replicas)
      selection.limit = limit.map { max(0, $0) }
      selection.filter = EntryFilter(type: type, object: object, operation: operation)
      return selection
    }
  }

  /// What an entry does to its object.
  public enum Operation: String, Sendable, CaseIterable {
    case update, remove
    /// Gives up what a removed object held (Protocol/checkpoint.md, K-23).
    case purge

    init(_ code: MagicJournal.Entry.Operation.Code) { self = code.isRemove ? .remove : code == .purge ? .purge : .update }

    /// Among all.
    var index: Int {
      switch self {
      case .update: 0
      case .remove: 1
      case .purge: 2
      }
    }
  }

  /// What a transaction did to one object.
  public struct Entry: Sendable, Equatable {
    /// A property, and what it was set to.
    public struct Field: Sendable, Equatable {
      /// The property's name.
      public let name: String
      /// As JSON.
      public let value: String
    }

    /// Who wrote it, and when.
    public let author: MagicObjectHistory.Author
    /// The name of the object's type.
    public let type: String
    /// The primary value; of an object without one, or with an automatic number, its birth: 32 hexadecimal digits.
    public let object: String
    /// What was done to the object.
    public let operation: Operation
    /// What was set.
    public let fields: [Field]
  }

  /// Hands out entries, the oldest first, as they are read. Memory is flat; a database is read from one snapshot.
  ///
  /// - Parameter body: is called on a thread of its own, one entry after the other. What it throws ends the reading.
  /// - Returns: what could not be read.
  /// - Throws: `MagicDataError` with `notFound` for a moment that is none; `CancellationError`.
  @discardableResult
  public func forEachEntry(
    _ selection: Selection = Selection(), _ body: @Sendable @escaping (Entry) throws -> Void
  ) async throws -> MagicReadReport {
    try await source.forEachEntry(selection.log) { entry, transaction, schema in
      let type = schema.schema.types[entry.type]
      try body(
        Entry(
          author: .init(
            time: transaction.name.stamp.date, replica: transaction.replica.description, sequence: transaction.sequence),
          type: type.name.text, object: entry.key.text, operation: entry.listed,
          fields: entry.fields.map { .init(name: type.fields[$0.field].name.text, value: $0.value.json) }))
    }
  }

  /// Counts what the journal holds, in one reading.
  ///
  /// - Parameter selection: the moments and replicas that are meant; other conditions leave nothing out.
  public func statistics(_ selection: Selection = Selection()) async throws -> MagicJournalStatistics {
    try await source.statistics(selection.log)
  }

  /// Every value that an object's properties had.
  ///
  /// - Parameters:
  ///   - type: the type's name.
  ///   - object: as ``Entry/object`` has it, or an automatic number.
  /// - Throws: `MagicDataError` with `notFound`.
  /// - Complexity: O(entries of the object) in a database, O(journal) elsewhere.
  public func history(of type: String, _ object: String) async throws -> MagicObjectHistory {
    try await source.history(of: type, object)
  }

  /// Makes a database of the journal: objects, relations, history, and the assets that the source has. It is a replica of its
  /// own, of the same data set unless the plan takes transactions apart, or history was given up and what was kept of that
  /// cannot be read whole.
  ///
  /// It is there as a whole or not at all.
  /// - Parameters:
  ///   - path: as `MagicData(path:)` takes it, where no database is.
  ///   - plan: what is taken: all, if it says nothing.
  /// - Returns: what was merged, and what could not be read; what the same replica wrote after that is left out too.
  /// - Throws: `MagicDataError` with `exists`; `notFound`; `notADatabase` for a path where none can be; `fork` if two databases
  ///   have written under one id and nobody has told them apart; `notAllowed`, `full`, or `failed`: history was given up, and a
  ///   part of what was kept of it is of a replica whose clock is ahead (`RebuildPlan.accepted` takes it); `CancellationError`.
  @discardableResult
  public func rebuild(into path: URL, _ plan: RebuildPlan = RebuildPlan()) async throws -> RebuildReport {
    let location = try DatabaseLocation(checking: path)
    guard !location.exists else {
      throw MagicDataError(.exists, "there is a database at \(location.file.path) already; name another path")
    }
    return try await MagicData.build(at: location) { magic in try await magic.rebuild(from: [source], plan) }
  }

  /// Writes transactions as lines of JSON, with all that is in them (Protocol/export.md); ``init(path:)`` reads such a file.
  ///
  /// - Parameters:
  ///   - file: is there as a whole or not at all, and takes the place of one that is there, with its permissions. A link stays
  ///     one: it is the file that it leads to.
  ///   - selection: the moments and replicas that are meant; other conditions leave no transaction out.
  /// - Returns: what could not be read.
  /// - Throws: `MagicDataError` with `notFound` for a journal that was compacted, `fork` if two databases have written under
  ///   one id and nobody has told them apart, `notAllowed`, `full`; `CancellationError`.
  @discardableResult
  public func export(to file: URL, _ selection: Selection = Selection()) async throws -> MagicReadReport {
    let writer = try ExportFile(file)
    let report = try await source.export(selection.log) { try writer.append($0) }.report
    try writer.finish()
    return report
  }
}

/// Lines on their way into a file.
// @unchecked: a reading hands its lines over one after the other, and is awaited.
private final class ExportFile: @unchecked Sendable {
  private let file: URL
  private let writer: ChunkWriter
  private var lines: [UInt8] = []

  init(_ file: URL) throws {
    let place = file.linked
    self.file = place
    writer = try ChunkWriter(beside: place, permissions: DurableFile.permissions(of: place))
  }

  func append(_ line: [UInt8]) throws {
    lines += line
    lines.append(UInt8(ascii: "\n"))
    if lines.count >= 1 << 16 { try flush() }
  }

  private func flush() throws {
    try lines.withUnsafeBytes { try writer.append($0) }
    lines.removeAll(keepingCapacity: true)
  }

  func finish() throws {
    try flush()
    let temporary = try writer.finish()
    guard rename(temporary.path, file.path) == 0 else {
      throw DurableFile.failure("could not be written", file, removing: temporary)
    }
    try DurableFile.sync(file.deletingLastPathComponent())
  }
}
