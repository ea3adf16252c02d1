public import Foundation

/// A committed transaction: what it did to which objects.
public struct MagicChanges: Sendable, Equatable {
  /// Where it was written, by the ids that replicas have when the changes are read: a database that takes an id of its own,
  /// since a copy of it has used its former one, wrote as another replica before.
  public enum Origin: Sendable, Hashable {
    /// Through this database file, by whatever process.
    case local
    /// By another replica, with its id as 32 hexadecimal digits; it came by a merge.
    case replica(String)
  }

  /// What a transaction did to an object.
  public enum Operation: Sendable {
    /// The object was made, changed or brought back.
    case update
    /// It was removed, or what it held before was given up by a compaction.
    case remove
  }

  /// What names an object: look it up with ``MagicData/object(of:primary:)``.
  public enum Primary: Sendable, Hashable {
    /// A `String`, or a `UUID` as text.
    case text(String)
    /// An `Int`, set by the app or given by the database.
    case integer(Int)
  }

  /// What the transaction did to one object.
  public struct Object: Sendable, Equatable {
    /// The type's name, by default the Swift type's.
    public let type: String
    /// What was done to it.
    public let operation: Operation
    /// `nil` if the type has no primary value. A number that the database gave is the one that the object has by now, and `nil`
    /// if it is gone. When a merge makes an object give its number up, that is no change of it: the other's claim is what it
    /// lists.
    public let primary: Primary?
    /// Where the object is in this database file.
    public let zIndex: Int
    /// The names of the properties that it wrote, as they are stored: of one that was renamed the first one. None for a remove.
    public let fields: [String]

    package init(type: String, operation: Operation, primary: Primary?, zIndex: Int, fields: [String]) {
      self.type = type
      self.operation = operation
      self.primary = primary
      self.zIndex = zIndex
      self.fields = fields
    }
  }

  /// Where it was written: here, or by which replica.
  public let origin: Origin
  /// By the clock of the replica that wrote it; two transactions of one replica are never out of order.
  public let time: Date
  /// One or more, each object once.
  public let objects: [Object]
}
