import Foundation
import MagicData
import MagicJournal

/// Who wrote what to one object, read from the journal: oldest first.
struct ObjectHistory {
  struct Event {
    let stamp: Stamp
    let replica: String
    let operation: Entry.Operation
    let values: [String: Value]

    /// UTC, to the millisecond.
    var time: String {
      let date = Date(timeIntervalSince1970: TimeInterval(stamp.milliseconds) / 1_000)
      return date.formatted(.iso8601.time(includingFractionalSeconds: true).timeSeparator(.colon))
    }
  }

  let events: [Event]

  init<Object: MagicObject>(of type: Object.Type, _ primary: String, in magic: MagicData) async throws {
    events = try await magic.store.read { db in
      let journal = try JournalReader(db)
      var events: [Event] = []
      try journal.forEachTransaction { transaction in
        for entry in transaction.entries where entry.key == .primary(.text(primary)) {
          let type = journal.schema.types[entry.type].schema
          guard type.name.text == Object.magicName else { continue }
          let values = entry.fields.map { (type.fields[$0.field].name.text, $0.value) }
          events.append(
            Event(
              stamp: transaction.name.stamp, replica: transaction.replica.description, operation: entry.operation,
              values: Dictionary(uniqueKeysWithValues: values)))
        }
      }
      return events.sorted { $0.stamp < $1.stamp }
    }
  }
}
