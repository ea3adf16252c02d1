internal import Foundation
internal import MagicData

/// What a command ends with that a signal asked to end.
package struct Interrupted: Error {
  /// Those that ask a program to end.
  package static let signals = [SIGINT, SIGTERM, SIGHUP]

  let signal: Int32

  package init(signal: Int32) {
    self.signal = signal
  }
}

/// Runs a command so that the first interruption cancels it, and a second one ends the program at once.
package struct Interruption<Result: Sendable> {
  /// A failure after a signal is `Interrupted`, whatever error the cancelled work came to.
  package let result: Swift.Result<Result, any Error>

  package init(_ body: @Sendable @escaping () async throws -> Result) async {
    let task = Task { try await body() }
    let caught = Locked<Int32?>(nil)
    var sources: [any DispatchSourceSignal] = []
    // What is ignored, as by nohup, stays so.
    for number in Interrupted.signals where number != SIGHUP || !Interruption.isIgnored(number) {
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        caught.withLock { $0 = $0 ?? number }
        for number in Interrupted.signals { Foundation.signal(number, SIG_DFL) }
        task.cancel()
      }
      source.resume()
      sources.append(source)
    }
    var result = await task.result
    if let signal = caught.withLock({ $0 }), case .failure = result { result = .failure(Interrupted(signal: signal)) }
    self.result = result
    for source in sources { source.cancel() }
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
