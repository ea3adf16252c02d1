internal import Foundation
internal import MagicData

/// The error of a command that a signal has interrupted.
package struct Interrupted: Error {
  /// Those that ask a program to end.
  package static let signals = [SIGINT, SIGTERM, SIGHUP]

  let signal: Int32

  package init(signal: Int32) {
    self.signal = signal
  }
}

/// Runs a command so that the first interruption cancels it, and another one ends the program at once. What comes within a
/// second of the first belongs to it: who ends a program may tell its group as well, and a terminal that is closed both.
package struct Interruption<Result: Sendable> {
  /// A failure after a signal is `Interrupted`, whatever error the cancelled work came to.
  package let result: Swift.Result<Result, any Error>
  private let state: Locked<State>

  private struct State {
    /// The first.
    var signal: Int32?
    /// From when on another one ends the program.
    var patience: ContinuousClock.Instant?
    var task: Task<Result, any Error>?
  }

  /// The one that has come, if one has.
  package var signal: Int32? { state.withLock { $0.signal } }

  package init(_ body: @Sendable @escaping () async throws -> Result) async {
    let state = Locked(State())
    // What is ignored, as by nohup, stays so.
    for number in Interrupted.signals where number != SIGHUP || !Interruption.isIgnored(number) {
      await Interrupted.listen(to: number) {
        let isEnough = state.withLock { state in
          if let patience = state.patience { return ContinuousClock.now >= patience }
          state.signal = number
          state.patience = ContinuousClock.now.advanced(by: .seconds(1))
          state.task?.cancel()
          return false
        }
        if isEnough { Interrupted.end(by: number) }
      }
    }
    let task = state.withLock { state in
      let task = Task { try await body() }
      state.task = task
      // It has come already.
      if state.signal != nil { task.cancel() }
      return task
    }
    var result = await task.result
    let caught = state.withLock { state in
      // What is left to do is not waited for.
      state.patience = state.patience ?? ContinuousClock.now
      return state.signal
    }
    if let caught, case .failure = result { result = .failure(Interrupted(signal: caught)) }
    self.result = result
    self.state = state
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    sigaction(number, nil, &action)
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}

/// Kept until the program ends: what comes late finds them.
private let sources = Locked<[any DispatchSourceSignal]>([])

extension Interrupted {
  /// Returns when `heard` is called of each signal.
  fileprivate static func listen(to number: Int32, _ heard: @Sendable @escaping () -> Void) async {
    #if canImport(Darwin)
      // On Linux, Dispatch takes the default's place.
      Foundation.signal(number, SIG_IGN)
    #endif
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler { heard() }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      source.setRegistrationHandler { continuation.resume() }
      source.resume()
    }
    sources.withLock { $0.append(source) }
  }

  /// Ends the program by the signal's default action.
  fileprivate static func end(by number: Int32) {
    Foundation.signal(number, SIG_DFL)
    // Dispatch's own threads block it.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    raise(number)
  }
}
