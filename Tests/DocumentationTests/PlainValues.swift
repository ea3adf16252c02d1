import MagicData
import TestSupport
import Testing

/// The examples of values that are kept as objects, beside those of `Faces`.
@Suite struct PlainValues {
  @Test func valuesAreSavedCountedAndDeleted() async throws {
    let magic = try await MagicData(type: .memory)
    let notes = magic.values(of: PlainNote.self)

    try await notes.save(contentsOf: ["Walk the dog", "Water the plants"].map { PlainNote(Note(title: $0)) })
    if let dog = try await notes.fetchFirst(where: { $0.title.contains("dog") }, sort: \.title) {
      try await notes.delete(dog)
    }
    let watered = try await notes.count(where: { $0.title.hasPrefix("Water") })
    try await notes.deleteAll()

    #expect(watered == 1)
    #expect(try await notes.fetchAll().isEmpty)
  }
}
