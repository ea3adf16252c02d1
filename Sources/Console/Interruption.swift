internal import Foundation
internal import MagicData

/// Runs a command so that the first interruption cancels it, and a second one ends the program at once.
package struct Interruption<Result: Sendable> {
  package let result: Swift.Result<Result, any Error>
  /// The signal that came, if one did.
  package let signal: Int32?

  private static var signals: [Int32] { [SIGINT, SIGTERM, SIGHUP] }

  package init(_ body: @Sendable @escaping () async throws -> Result) async {
    let task = Task { try await body() }
    let caught = Locked<Int32?>(nil)
    var sources: [any DispatchSourceSignal] = []
    // What is ignored, as by nohup, stays so.
    for number in Interruption.signals where number != SIGHUP || !Interruption.isIgnored(number) {
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        caught.withLock { $0 = $0 ?? number }
        for number in Interruption.signals { Foundation.signal(number, SIG_DFL) }
        task.cancel()
      }
      source.resume()
      sources.append(source)
    }
    result = await task.result
    signal = caught.withLock { $0 }
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
