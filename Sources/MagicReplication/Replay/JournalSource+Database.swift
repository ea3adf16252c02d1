internal import Foundation
package import MagicData

extension JournalSource {
  /// Runs `body` on a database with this journal, of which objects are asked one by one: the source itself, or a temporary one
  /// that it is merged into.
  package func withDatabase<Result>(
    _ body: (MagicData) async throws -> Result
  ) async throws -> (Result, MagicReadReport) {
    if let database { return (try await body(database), fetchReport) }
    let magic = try await MagicData(type: .temporary)
    do {
      var plan = RebuildPlan()
      (plan.fetchesAssets, plan.isForShow) = (false, true)
      let report = try await magic.rebuild(from: [self], plan)
      let result = try await body(magic)
      try await magic.close()
      return (result, report.read)
    } catch {
      try? await magic.close()
      throw error
    }
  }
}
