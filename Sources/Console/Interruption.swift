internal import Foundation

/// Runs a command so that the first interruption cancels it, and a second one ends the program at once.
package struct Interruption<Result: Sendable> {
  package let result: Swift.Result<Result, any Error>
  /// The signal that came, if one did.
  package let signal: Int32?

  private static var signals: [Int32] { [SIGINT, SIGTERM, SIGHUP] }

  package init(_ body: @Sendable @escaping () async throws -> Result) async {
    let task = Task { try await body() }
    let caught = Caught()
    var sources: [any DispatchSourceSignal] = []
    // What is ignored, as by nohup, stays so.
    for number in Interruption.signals where number != SIGHUP || !Interruption.isIgnored(number) {
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        caught.note(number)
        for number in Interruption.signals { Foundation.signal(number, SIG_DFL) }
        task.cancel()
      }
      source.resume()
      sources.append(source)
    }
    result = await task.result
    signal = caught.number
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

// @unchecked: `first` is touched only while `lock` is held.
private final class Caught: @unchecked Sendable {
  private let lock = NSLock()
  private var first: Int32?

  var number: Int32? { lock.withLock { first } }

  func note(_ number: Int32) {
    lock.withLock { first = first ?? number }
  }
}
