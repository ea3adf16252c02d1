internal import MagicJournal

extension JournalSource {
  /// - Throws: `MagicDataError` with `notFound` if the journal does not speak of the object.
  package func history(of type: String, _ object: String) async throws -> MagicObjectHistory {
    let (entries, report) = try await entries(of: type, object)
    var history = MagicObjectHistory(entries)
    history.report = report
    return history
  }
}
