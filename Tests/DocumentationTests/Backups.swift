import MagicData
import TestSupport
import Testing

/// The examples of what a database holds and how it ends, beside that of a copy in `Observing`.
@Suite struct Backups {
  @Test func aDatabaseTellsWhatItHolds() async throws {
    let magic = try await MagicData(type: .temporary)
    let page = Page()
    (page.chapter, page.number) = ("One", 1)
    try await magic.update(page)
    let statistics = try await magic.statistics()

    for type in statistics.types { print(type.objects, "objects of type", type.name) }
    for replica in statistics.replicas { print("replica", replica.id, "up to its transaction", replica.lastSequence) }
    print(statistics.journalBytes, "of", statistics.bytes, "bytes are journal")

    let steps = try await magic.query(of: Page.self).where { $0.chapter == "One" }.sorted(by: \.number).plan()
    print(steps.joined(separator: "\n"))

    #expect(statistics.types == [.init(name: "Page", objects: 1)])
    #expect(steps.contains { $0.contains("SEARCH Page USING") })
    #expect(!steps.contains { $0.contains("TEMP B-TREE") })
    try await magic.close()
    await #expect { try await magic.object(of: Page.self) } throws: { ($0 as? MagicDataError)?.code == .failed }
  }
}
