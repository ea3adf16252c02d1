import Foundation
import MagicData
import TestSupport
import Testing

/// What SQL makes of the values of many objects. `QueryRandomTests` compares it with Swift.
@Suite struct AggregateTests {
  private func library() async throws -> MagicData {
    let magic = try await MagicData(type: .temporary)
    let books = [
      Book("Sand", year: 1990, pages: 500), Book("Sea", year: 1985, pages: 200), Book("Moon", year: 2001, pages: 300),
    ]
    (books[0].rating, books[1].rating) = (4.5, 3.5)
    try await magic.update(contentsOf: books)
    return magic
  }

  @Test func valuesAreAddedUpAndComparedBySQLite() async throws {
    let query = try await library().query(of: Book.self)
    #expect(try await query.sum(of: \.pages) == 1_000)
    #expect(try await query.where { $0.year > 1985 }.average(of: \.pages) == 400)
    #expect(try await query.min(of: \.year) == 1985)
    #expect(try await query.max(of: \.title) == "Sea")
    #expect(try await query.sum(of: \.rating) == 8)
    #expect(try await query.average(of: \.rating) == 4)
    #expect(try await query.max(of: \.rating) == 4.5)
    #expect(try await query.sorted(by: \.year).limit(2).sum(of: \.pages) == 700)
    #expect(try await query.sorted(by: \.year).offset(1).max(of: \.year) == 2001)
  }

  @Test func nothingComesToNothing() async throws {
    let magic = try await MagicData(type: .temporary)
    for isEmptied in [false, true] {
      if isEmptied {
        try await magic.update(Book("gone"))
        try await magic.query(of: Book.self).remove()
      }
      let query = magic.query(of: Book.self)
      #expect(try await query.sum(of: \.pages) == 0)
      #expect(try await query.sum(of: \.price) == 0)
      #expect(try await query.average(of: \.pages) == nil)
      #expect(try await query.min(of: \.title) == nil)
      #expect(try await query.max(of: \.rating) == nil)
    }
  }

  @Test func aTransactionCountsWhatItHasWritten() async throws {
    let magic = try await library()
    try await magic.transaction { tx in
      try await tx.update(Book("Star", year: 1970, pages: 24))
      #expect(try await tx.query(of: Book.self).sum(of: \.pages) == 1_024)
      #expect(try await tx.query(of: Book.self).min(of: \.year) == 1970)
    }
  }

  @Test func numbersOfObjectsThatAreHeldAreAddedUp() async throws {
    struct Writer: MagicObject {
      @PrimaryMagicValue var name: String
      @MagicValue var age: Int
      init() {}
    }
    struct Work: MagicObject {
      @MagicValue var title: String
      @OptionMagicValue var writer: Writer?
      init() {}
    }
    let magic = try await MagicData(type: .temporary)
    for age in [30, 40] {
      let (work, writer) = (Work(), Writer())
      (work.title, writer.name, writer.age) = ("w\(age)", "\(age)", age)
      work.writer = writer
      try await magic.update(work)
    }
    let alone = Work()
    alone.title = "alone"
    try await magic.update(alone)
    let query = magic.query(of: Work.self)
    #expect(try await query.sum(of: \.writer?.age) == 70)
    #expect(try await query.average(of: \.writer?.age) == 35)
    #expect(try await query.max(of: \.writer?.age) == 40)
  }

  @Test func whatIsWorkedOutIsRefused() async throws {
    let query = try await library().query(of: Book.self)
    for ask in [{ try await query.sum(of: \.tagCount) }, { try await query.max(of: \.tagCount) ?? 0 }] {
      await #expect { try await ask() } throws: { ($0 as? MagicDataError)?.code == .query }
    }
  }
}
