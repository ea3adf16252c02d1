import Foundation
import MagicData
import MagicReplication
import Testing

@Suite struct Histories {
  @Test func anAppReadsItsHistoryAndTakesBackAMistake() async throws {
    let magic = try await MagicData(type: .memory)
    let note = Note(title: "Buy milk")
    try await magic.update(note)
    note.title = "Buy mulk"
    try await magic.update(note)
    @Sendable func show(_ text: Any...) { print(text) }

    let history = MagicHistory(magic)
    for change in try await history.history(of: "Note", note.id).changes {
      show(change.author.time, change.property ?? "removed", change.value ?? "")
    }
    try await history.forEachObject(at: MagicMoment("2h ago"), of: "Note") { note in show(note.object, note.fields.count) }

    var mistake = UndoSelection()
    mistake.since = try MagicMoment("10m ago")
    let plan = try await magic.undoing(mistake)
    if plan.kept.isEmpty { try await magic.undo(plan) }

    // Of an object that was made within these minutes nothing was before.
    #expect(plan.changes.map(\.object) == [note.id])
    #expect(try await magic.object(of: Note.self).isEmpty)
    #expect(try await history.statistics().total.entries == 3)
  }
}
