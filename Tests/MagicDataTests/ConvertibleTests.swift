import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

/// A plain value that is kept as a `Cat`.
private struct CatValue: MagicConvertible, Equatable {
  struct Heavy: Error {}

  var name: String
  var weight: Double
  var owner: String?

  init(_ name: String, _ weight: Double, owner: String? = nil) {
    (self.name, self.weight, self.owner) = (name, weight, owner)
  }

  init(_ model: Cat) throws {
    guard model.weight < 100 else { throw Heavy() }
    self.init(model.name, model.weight, owner: model.owner)
  }

  func makeModel() -> Cat {
    let model = Cat(name, weight)
    model.owner = owner
    return model
  }
}

private struct SessionValue: MagicConvertible {
  let title: String

  init(_ title: String) { self.title = title }
  init(_ model: Session) { title = model.title }

  func makeModel() -> Session {
    let model = Session()
    model.title = title
    return model
  }
}

@Suite @MainActor struct ConvertibleTests {
  let magic: MagicData
  private let cats: MagicValues<CatValue>

  init() async throws {
    magic = try await MagicData(type: .temporary)
    cats = magic.values(of: CatValue.self)
  }

  @Test func valuesAreSavedAndFetched() async throws {
    #expect(try await cats.fetchAll().isEmpty)
    #expect(try await cats.count() == 0)
    #expect(try await cats.fetchFirst() == nil)
    let (tom, kit) = (CatValue("Tom", 4, owner: "Jon"), CatValue("Kit", 1))
    #expect(try await cats.save(tom) == 1)
    try await cats.save(contentsOf: [kit, CatValue("Ada", 2)])
    #expect(try await cats.fetchAll() == [tom, kit, CatValue("Ada", 2)])
    #expect(try await cats.fetchAll(limit: 2) == [tom, kit])
    #expect(try await cats.fetchAll(limit: 0).isEmpty)
    #expect(try await cats.fetchFirst() == tom)
    #expect(try await cats.fetch(primary: "Kit") == kit)
    #expect(try await cats.fetch(primary: "nobody") == nil)
    #expect(try await cats.count() == 3)
    #expect(try await magic.object(of: Cat.self).map(\.name) == ["Tom", "Kit", "Ada"])
  }

  @Test func savingAHeldValueWritesWhatDiffers() async throws {
    var tom = CatValue("Tom", 4, owner: "Jon")
    let place = try await cats.save(tom)
    #expect(try await cats.save(tom) == place)
    tom.owner = nil
    #expect(try await cats.save(tom) == place)
    #expect(try await cats.fetchAll() == [tom])
    let changes = try await magic.store.read { db in
      var changes: [Int] = []
      try JournalReader(db).forEachTransaction { changes += $0.entries.map(\.fields.count) }
      return changes
    }
    #expect(changes == [3, 1])
    #expect(try await magic.object(of: Cat.self, primary: "Tom").lives == 9)
  }

  @Test func aValueIsDeletedByItsPrimaryValue() async throws {
    try await cats.save(contentsOf: [CatValue("Tom", 4), CatValue("Kit", 1), CatValue("Ada", 2)])
    try await cats.delete(CatValue("Tom", 99))
    #expect(try await cats.fetchAll().map(\.name) == ["Kit", "Ada"])
    await #expect { try await cats.delete(CatValue("nobody", 1)) } throws: { ($0 as? MagicDataError)?.code == .notSaved }
    try await cats.deleteAll()
    #expect(try await cats.count() == 0)
  }

  @Test func withoutAPrimaryValueEachSaveAdds() async throws {
    let sessions = magic.values(of: SessionValue.self)
    try await sessions.save(SessionValue("one"))
    try await sessions.save(SessionValue("one"))
    #expect(try await sessions.fetchAll().map(\.title) == ["one", "one"])
    await #expect { try await sessions.delete(SessionValue("one")) } throws: { ($0 as? MagicDataError)?.code == .model }
  }

  @Test func anErrorOfAConversionComesOut() async throws {
    try await magic.update(Cat("Huge", 100))
    await #expect(throws: CatValue.Heavy.self) { try await cats.fetchAll() }
    await #expect(throws: CatValue.Heavy.self) { try await cats.fetch(primary: "Huge") }
  }

  @Test func conditionsAndOrderAreThoseOfTheModel() async throws {
    try await cats.save(contentsOf: [
      CatValue("Tom", 4), CatValue("Kit", 1), CatValue("Ada", 2), CatValue("Bob", 2, owner: "Jon"),
    ])
    #expect(try await cats.fetchAll(sort: \.name).map(\.name) == ["Ada", "Bob", "Kit", "Tom"])
    #expect(try await cats.fetchAll(sort: \.weight, .descending, limit: 2).map(\.name) == ["Tom", "Ada"])
    #expect(try await cats.fetchAll(where: { $0.weight > 1 }).map(\.name) == ["Tom", "Ada", "Bob"])
    #expect(try await cats.fetchAll(where: { $0.weight > 1 }, sort: \.name, limit: 1) == [CatValue("Ada", 2)])
    #expect(try await cats.fetchFirst(where: { $0.owner == "Jon" })?.name == "Bob")
    #expect(try await cats.fetchFirst(where: { $0.weight > 50 }) == nil)
    #expect(try await cats.fetchFirst(sort: \.name)?.name == "Ada")
    #expect(try await cats.count { $0.weight == 2 } == 2)
  }
}

@Suite struct FactTests {
  @Test func aTypeTellsWhetherItHasAPrimaryValue() {
    struct Empty: MagicObject {}
    #expect(Cat.hasPrimaryValue)
    #expect(Cat("Tom", 4).hasPrimaryValue)
    #expect(!Session.hasPrimaryValue)
    #expect(!Session().hasPrimaryValue)
    #expect(!Empty.hasPrimaryValue)
  }

  @Test func anInstanceKnowsItsZIndexWhereItWasSavedOrFetched() async throws {
    let (magic, other) = (try await MagicData(type: .memory), try await MagicData(type: .memory))
    try await magic.update(Cat("Ada", 2))
    let (tom, session) = (Cat("Tom", 4), Session())
    #expect(magic.zIndex(of: tom) == nil)
    #expect(try await magic.update(tom) == 2)
    #expect(magic.zIndex(of: tom) == 2)
    #expect(other.zIndex(of: tom) == nil)
    #expect(try await magic.zIndex(of: magic.object(of: Cat.self, primary: "Tom")) == 2)
    session.title = "one"
    #expect(magic.zIndex(of: session) == nil)
    try await magic.update(session)
    #expect(magic.zIndex(of: session) == 1)
    tom.name = "Kit"
    #expect(magic.zIndex(of: tom) == nil)
    tom.name = "Tom"
    #expect(magic.zIndex(of: tom) == 2)
    try await magic.remove(tom)
    #expect(magic.zIndex(of: tom) == nil)
    try? await magic.transaction { tx in
      try await tx.update(tom)
      #expect(magic.zIndex(of: tom) == 2)
      throw CancellationError()
    }
    #expect(magic.zIndex(of: tom) == nil)
  }
}
