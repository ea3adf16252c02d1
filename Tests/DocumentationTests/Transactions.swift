import MagicData
import TestSupport
import Testing

/// The examples of several changes as one, beside that of `QuickStart`.
@Suite struct Transactions {
  @Test func aNestedTransactionIsUndoneAlone() async throws {
    let magic = try await MagicData(type: .memory)
    try await magic.update(Note(title: "Buy milk"))

    struct Unwanted: Error {}

    try await magic.transaction { tx in
      try await tx.removeAll(of: Note.self)
      do {
        try await tx.transaction { inner in
          try await inner.update(Note(title: "Undone"))
          throw Unwanted()
        }
      } catch is Unwanted {
        try await tx.update(Note(title: "Kept"))
      }
    }

    #expect(try await magic.object(of: Note.self).map(\.title) == ["Kept"])
  }

  @Test func manyObjectsTellHowFarTheyAre() async throws {
    let magic = try await MagicData(type: .memory)

    try await magic.update(contentsOf: (1...3_000).map { Note(title: "Note \($0)") }) { saved in
      print(saved, "of 3000")
    }

    #expect(try await magic.count(of: Note.self) == 3_000)
  }
}
