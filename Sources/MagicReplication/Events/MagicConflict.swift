public import Foundation

/// Two writes of two replicas to one value, of which one lost: by the rule that the later one wins.
public struct MagicConflict: Sendable, Equatable {
  /// One of the two writes.
  public struct Side: Sendable, Equatable {
    /// The id of the replica that wrote it, 32 hexadecimal digits.
    public let replica: String
    /// By that replica's clock.
    public let time: Date
    /// As JSON; `nil` for an object as a whole, and for what is beyond the 8 MiB of values that one pull tells.
    public let value: String?
    /// The sequence of its transaction, which ``UndoSelection/transactions`` takes back. `nil` as events tell it, and for what
    /// compaction has kept or a replica wrote that goes by another id since.
    public internal(set) var sequence: UInt64?
  }

  /// The type's name.
  public let type: String
  /// The primary value; of an object without one, or with an automatic number, its birth: 32 hexadecimal digits.
  public let object: String
  /// The property's name; of a set or a dictionary one element is meant. `nil` where an object was changed here and removed
  /// there.
  public let property: String?
  /// The earlier write; the journal keeps it until it is compacted.
  public internal(set) var lost: Side
  /// The later write.
  public internal(set) var won: Side
  /// Which of the two is the remove, where one is.
  public let removal: Removal?

  /// A side of the conflict that removed the object.
  public enum Removal: String, Sendable {
    case lost, won
  }
}
