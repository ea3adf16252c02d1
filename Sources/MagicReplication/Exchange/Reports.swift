/// What a push did.
public struct PushReport: Sendable, Equatable {
  /// Files written.
  public var segments = 0
  public var transactions = 0
  /// Entries: one for each object that a transaction touched.
  public var changes = 0
  /// Bytes of the files.
  public var bytes = 0
  /// Bytes of the same before compression.
  public var inflatedBytes = 0

  package init() {}
}

/// What a pull did.
public struct PullReport: Sendable, Equatable {
  /// Files read.
  public var segments = 0
  public var transactions = 0
  /// Entries: one for each object that a transaction touched.
  public var changes = 0
  /// Bytes of the files.
  public var bytes = 0
  /// Bytes of the same before compression.
  public var inflatedBytes = 0
  /// Values that lost against another replica's which was written without knowing of them: see ``MagicConflict``.
  public var conflicts = 0
  /// Replicas whose clocks are more than an hour ahead. What they wrote waits in the remote.
  public var heldBack: [HeldBack] = []

  package init() {}

  public struct HeldBack: Sendable, Equatable {
    /// The replica id, 32 hexadecimal digits.
    public let replica: String
    /// How far its clock is ahead, in milliseconds.
    public let aheadMilliseconds: Int64
  }
}
