/// Consumes a sequence in a task of its own, as an app does, and hands on what a test can compare.
final class Elements<Value: Sendable> {
  private let task: Task<Void, any Error>
  private var values: AsyncStream<Value>.AsyncIterator

  init(_ consume: @Sendable @escaping (AsyncStream<Value>.Continuation) async throws -> Void) {
    let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
    values = stream.makeAsyncIterator()
    task = Task {
      defer { continuation.finish() }
      try await consume(continuation)
    }
  }

  /// `nil` when the sequence has ended.
  func next(isolation: isolated (any Actor)? = #isolation) async -> Value? {
    await values.next(isolation: isolation)
  }

  func cancel() { task.cancel() }

  /// Waits for the end, and throws what the sequence threw.
  func finish() async throws { try await task.value }

  deinit { task.cancel() }
}
