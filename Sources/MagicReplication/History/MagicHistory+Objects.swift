internal import MagicData
internal import MagicJournal

/// Objects as they were.
extension MagicHistory {
  /// An object as it was at a moment.
  public struct Object: Sendable, Equatable {
    /// The name of its type.
    public let type: String
    /// As ``Entry/object`` has it.
    public let object: String
    /// The automatic number that it shows.
    public let number: Int?
    /// What it shows, in the order in which the properties were learnt; those that show nothing are left out.
    public let fields: [Entry.Field]

    init(_ object: ObjectAt) {
      (type, self.object, number) = (object.type, object.object, object.number.map { Int($0) })
      fields = object.fields.map { Entry.Field(name: $0.name, value: $0.value.shownJSON) }
    }
  }

  /// What became of an object between two states.
  public struct Difference: Sendable, Equatable {
    /// Whether it is in the second state alone, in both, or in the first alone.
    public enum Kind: String, Sendable {
      case added, changed, removed
    }

    /// A property that is not the same in both.
    public struct Field: Sendable, Equatable {
      /// `#` for an automatic number.
      public let name: String
      /// As JSON; `nil` for nothing.
      public let before, after: String?
    }

    /// What became of it.
    public let kind: Kind
    /// The name of its type.
    public let type: String
    /// As ``Entry/object`` has it.
    public let object: String
    /// Those that are not the same, by name.
    public let fields: [Field]

    init(_ difference: ObjectDifference) {
      kind =
        switch difference.kind {
        case .added: .added
        case .changed: .changed
        case .removed: .removed
        }
      (type, object) = (difference.type, difference.object)
      fields = difference.fields.map {
        Field(name: $0.name, before: $0.before?.shownJSON, after: $0.after?.shownJSON)
      }
    }
  }

  /// Hands out the objects that were there at a moment, type by type.
  ///
  /// - Parameters:
  ///   - moment: all that was stamped up to it counts; `nil` for the journal's end.
  ///   - type: the name of a type; `nil` for all.
  ///   - body: is called on a thread of its own, one object after the other. What it throws ends the reading.
  /// - Returns: what could not be read.
  /// - Throws: `MagicDataError` with `notFound` for a moment that is none, or that lies before what compaction has given up;
  ///   `CancellationError`.
  /// - Complexity: O(journal) in anything but a database, of which a temporary one is made; there O(objects and their entries).
  ///   Memory holds one object at a time, and the claims of automatic numbers.
  @discardableResult
  public func forEachObject(
    at moment: MagicMoment? = nil, of type: String? = nil, _ body: @Sendable @escaping (Object) throws -> Void
  ) async throws -> MagicReadReport {
    try await source.forEachObject(at: moment, type: type) { try body(Object($0)) }
  }

  /// Hands out what differs between two moments; see ``forEachObject(at:of:_:)``.
  ///
  /// - Parameter end: `nil` for the journal's end.
  @discardableResult
  public func forEachDifference(
    from start: MagicMoment, to end: MagicMoment? = nil, of type: String? = nil,
    _ body: @Sendable @escaping (Difference) throws -> Void
  ) async throws -> MagicReadReport {
    try await source.differences(from: start, to: end, type: type) { try body(Difference($0)) }
  }

  /// Hands out what another journal has come to that this one has not; see ``forEachObject(at:of:_:)``.
  @discardableResult
  public func forEachDifference(
    to other: MagicHistory, of type: String? = nil, _ body: @Sendable @escaping (Difference) throws -> Void
  ) async throws -> MagicReadReport {
    try await source.differences(to: other.source, type: type) { try body(Difference($0)) }
  }
}
