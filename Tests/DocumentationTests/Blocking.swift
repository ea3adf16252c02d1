import Dispatch
import MagicData
import TestSupport
import Testing

/// The examples of calls that hold up their thread, beside those of `Faces`.
@Suite struct Blocking {
  @Test func aQueueOfItsOwnWrites() async throws {
    let magic = try await MagicData(type: .temporary)
    let titles = ["Feed the cat", "Feed the dog"]
    let (shown, continuation) = AsyncStream.makeStream(of: String.self)
    @Sendable func show(_ words: Any...) { continuation.yield("\(words)") }

    DispatchQueue.global().async {
      do {
        let count = try magic.blocking.transaction { tx in
          try tx.update(contentsOf: titles.map { Note(title: $0) })
          return try tx.object(of: Note.self).count
        }
        show(count, "notes")
      } catch {
        show("nothing was stored:", error)
      }
    }

    var words = shown.makeAsyncIterator()
    #expect(await words.next() == #"[2, "notes"]"#)
  }
}
