import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

/// What reads a value runs within a read of its database, and cannot ask that for anything.
@Suite(.serialized, .timeLimit(.minutes(15))) struct ValueReadingTests {
  private enum Old {
    struct Shell: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var size: Int
      init() {}
    }
  }

  private enum New {
    struct Shell: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var size: Double
      init() {}

      static func createMigrations() -> [MagicMigration] {
        [
          .converted("size", from: Int.self, to: \Shell.$size) { size in
            Asking.run()
            return Double(size)
          }
        ]
      }
    }
  }

  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// With or without a read that is begun anew at length.
  @Test(arguments: [Duration.zero, .seconds(60)]) func aConversionCannotAskItsDatabase(brief: Duration) async throws {
    let (location, world) = (DatabaseLocation(folder["db"]), World())
    let old = MagicData(store: try Store(.file(location, mustExist: false), world.surroundings()))
    let shells = (0..<2_000).map { size in
      let shell = Old.Shell()
      (shell.id, shell.size) = ("\(size)", size)
      return shell
    }
    try await old.update(contentsOf: shells)
    try await old.update(Cat("Tom", 4))
    try await old.close()
    var surroundings = world.surroundings()
    surroundings.brief = brief
    let magic = MagicData(store: try Store(.file(location, mustExist: true), surroundings))
    #expect(try await magic.object(of: Cat.self).count == 1)
    let calls: [@Sendable () throws -> Void] = [
      { _ = try magic.blocking.object(of: Cat.self) },
      { _ = try magic.blocking.update(Cat("Kit", 1)) },
      { _ = try magic.blocking.statistics() },
      { try magic.blocking.close() },
    ]
    for call in calls {
      try await Asking.expectAsked(.transaction, call) {
        try await magic.object(of: New.Shell.self).count == 2_000
      }
    }
    let call = calls[0]
    try await Asking.expectAsked(.transaction, call) {
      try await magic.object(of: New.Shell.self, primary: "7").size == 7
    }
    try await Asking.expectAsked(.transaction, call) {
      try magic.blocking.object(of: New.Shell.self).count == 2_000
    }
    try await Asking.expectAsked(.transaction, call) {
      try await magic.transaction { tx in
        let shells = try await tx.object(of: New.Shell.self)
        return shells.count == 2_000
      }
    }
    try await Asking.expectAsked(.transaction, call) {
      try magic.blocking.transaction { tx in
        let shells = try tx.object(of: New.Shell.self)
        return shells.count == 2_000
      }
    }
    // Another one has nothing to do with it.
    let other = try await MagicData(type: .memory)
    let elsewhere: @Sendable () throws -> Void = { _ = try other.blocking.update(Cat("Ann", 1)) }
    try await Asking.expectAsked(nil, elsewhere) {
      try await magic.object(of: New.Shell.self, primary: "7").size == 7
    }
    #expect(try await other.object(of: Cat.self).map(\.name) == ["Ann"])
    #expect(try await magic.object(of: Cat.self).map(\.name) == ["Tom"])
  }

  @Test(arguments: [false, true]) func anAppsOwnValueCannotAskItsDatabase(inMemory: Bool) async throws {
    let magic = inMemory ? try await MagicData(type: .memory) : try await MagicData(path: folder["db"])
    for number in 0..<3 {
      let pond = Pond()
      (pond.id, pond.depth) = ("\(number)", Depth(metres: number))
      try await magic.update(pond)
    }
    try await magic.update(Cat("Tom", 4))
    #expect(try await magic.object(of: Cat.self).count == 1)
    let query = magic.query(of: Pond.self)
    #expect(try await query.count() == 3)
    let calls: [@Sendable () throws -> Void] = [
      { _ = try magic.blocking.object(of: Cat.self) }, { _ = try magic.blocking.update(Cat("Kit", 1)) },
    ]
    for call in calls {
      try await Asking.expectAsked(.transaction, call) { try await query.count() == 3 }
      try await Asking.expectAsked(.transaction, call) { try magic.blocking.count(query) == 3 }
      try await Asking.expectAsked(.transaction, call) {
        try await magic.transaction { tx in
          let count = try await tx.query(of: Pond.self).count()
          return count == 3
        }
      }
    }
    try await Asking.expectAsked(.transaction, calls[0]) { try await query.remove() == 3 }
    #expect(try await magic.object(of: Cat.self).map(\.name) == ["Tom"])
  }
}

private struct Pond: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var depth: Depth
  init() {}
}

private struct Depth: Magical {
  let metres: Int

  init(metres: Int) {
    self.metres = metres
  }

  static var magicKind: Value.Kind { .integer }
  var magicValue: Value { .integer(Int64(metres)) }

  init(magicValue: Value) throws {
    Asking.run()
    metres = try Int(magicValue: magicValue)
  }
}

/// What is asked while a value is read, and what comes of it.
private enum Asking {
  private static let asked = Locked<(@Sendable () throws -> Void)?>(nil)
  private static let codes = Locked<[MagicDataError.Code?]>([])

  /// By what reads a value.
  static func run() {
    guard let call = asked.withLock({ $0 }) else { return }
    var code: MagicDataError.Code?
    do { try call() } catch { code = (error as? MagicDataError)?.code ?? .failed }
    codes.withLock { $0.append(code) }
  }

  /// - Parameter code: `nil` if it is answered.
  static func expectAsked(
    _ code: MagicDataError.Code?, _ call: @Sendable @escaping () throws -> Void, while body: () async throws -> Bool
  ) async throws {
    asked.withLock { $0 = call }
    defer { asked.withLock { $0 = nil } }
    codes.withLock { $0 = [] }
    #expect(try await body())
    let met = codes.withLock { $0 }
    #expect(!met.isEmpty && met.allSatisfy { $0 == code }, "\(String(describing: met.first(where: { $0 != code })))")
  }
}
