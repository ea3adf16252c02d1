internal import MagicJournal

extension JournalSource {
  /// - Throws: `MagicDataError` with `notFound` if the journal does not speak of the object.
  package func history(of type: String, _ object: String) async throws -> (MagicObjectHistory, MagicReadReport) {
    let (entries, report) = try await entries(of: type, object)
    return (MagicObjectHistory(entries), report)
  }
}
