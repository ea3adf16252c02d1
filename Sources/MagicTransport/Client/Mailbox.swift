internal import MagicData
internal import MagicReplication

/// Hands frames from who reads them off the connection to who asked for them. Few wait in it, so that who sends too fast is
/// held up.
final class Mailbox: Sendable {
  private struct State {
    var frames: [Frame] = []
    var end: MagicDataError?
    /// Whether nobody takes frames any more.
    var isLeft = false
  }

  private static let capacity = 4

  private let state = Locked(State())
  private let filled = ChangeSignal()
  private let emptied = ChangeSignal()

  /// Returns when there is room for the next.
  func put(_ frame: Frame) async {
    state.withLock { if !$0.isLeft { $0.frames.append(frame) } }
    filled.tell()
    while !Task.isCancelled {
      let seen = emptied.count
      if state.withLock({ $0.frames.count < Mailbox.capacity || $0.end != nil }) { return }
      await emptied.wait(after: seen)
    }
  }

  /// Nothing more comes, for this reason; the first one counts.
  func finish(_ error: MagicDataError) {
    state.withLock { $0.end = $0.end ?? error }
    filled.tell()
    emptied.tell()
  }

  /// Why nothing more comes, once it is known that nothing does.
  var end: MagicDataError? { state.withLock { $0.end } }

  func take() async throws -> Frame {
    while true {
      try Task.checkCancellation()
      let seen = filled.count
      let (frame, end) = state.withLock { state in
        state.frames.isEmpty ? (Frame?.none, state.end) : (state.frames.removeFirst(), nil)
      }
      if let frame {
        emptied.tell()
        return frame
      }
      if let end { throw end }
      await filled.wait(after: seen)
    }
  }

  /// Waits until it is known why the connection is over. What comes meanwhile is dropped: who reads would wait for room.
  func waitForEnd() async {
    state.withLock { ($0.isLeft, $0.frames) = (true, []) }
    emptied.tell()
    while end == nil, !Task.isCancelled {
      let seen = filled.count
      if end == nil { await filled.wait(after: seen) }
    }
  }
}
