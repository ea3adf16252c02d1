#if os(Linux) || os(macOS)
  import Foundation
  import MagicData
  import TestSupport
  import Testing

  private struct Keeper: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var name: String
    @MagicValue var years: Int
    init() {}

    init(_ name: String) {
      self.name = name
      years = 1
    }
  }

  private struct Cage: MagicObject {
    @PrimaryMagicValue var number: Int
    @MagicValue var keeper: Keeper
    init() {}
  }

  private enum New {
    enum Mood: String, Magical { case calm, wild }
    struct Guest: MagicObject {
      @MagicValue var mood: Mood
      init() {}
    }
    struct Den: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var guest: Guest
      init() {}
    }
  }

  private enum Old {
    enum Mood: String, Magical { case calm }
    struct Guest: MagicObject {
      @MagicValue var mood: Mood
      init() {}
    }
    struct Den: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var guest: Guest
      init() {}
    }

    /// One whose guest is in a mood that only the newer version knows.
    static func den() async throws -> Den {
      let folder = try TemporaryFolder()
      let newer = try await MagicData(path: folder["db"])
      let den = New.Den()
      (den.id, den.guest) = ("d", New.Guest())
      den.guest.mood = .wild
      try await newer.update(den)
      try await newer.close()
      let older = try await MagicData(path: folder["db"])
      let seen = try await older.object(of: Den.self, primary: "d")
      try await older.close()
      return seen
    }
  }

  /// Who reads what is not there is stopped, and told on standard error which property of which type that was.
  @Suite struct StopTests {
    /// What the process said that was to fail.
    private func expect(_ result: ExitTest.Result?, says words: String...) throws {
      let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      for word in words { #expect(errors.contains(word), "\(errors)") }
    }

    @Test func aRequiredValueThatWasNeverSetIsNamed() async throws {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try await MagicData(type: .memory).update(Keeper("known"))
        _ = Keeper().years
      }
      try expect(result, says: "Keeper.years (Int) was read before it was set")
    }

    /// Before any database has met the type, by the place of its declaration.
    @Test func aValueOfATypeThatNobodyHasMetIsNamedByItsPlace() async throws {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = Keeper().name
      }
      try expect(result, says: "Keeper declared at ", "StopTests.swift:9 (String) was read before it was set")
    }

    /// A value that is changed in place is read first.
    @Test func aRequiredValueThatIsChangedBeforeItWasSetIsNamed() async throws {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try await MagicData(type: .memory).update(Keeper("known"))
        Keeper().years += 1
      }
      try expect(result, says: "Keeper.years (Int) was read before it was set")
    }

    @Test func aRequiredObjectThatWasRemovedIsNamed() async throws {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let magic = try await MagicData(type: .memory)
        let (cage, keeper) = (Cage(), Keeper("Ann"))
        cage.keeper = keeper
        try await magic.update(cage)
        try await magic.remove(keeper)
        let fetched = try await magic.object(of: Cage.self, primary: cage.number)
        _ = fetched.keeper
      }
      try expect(result, says: "Cage.keeper (Keeper) names an object that was removed", "AsyncMagical")
    }

    @Test func aRequiredObjectThatOnlyANewerVersionCanReadIsNotToldAsRemoved() async throws {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = try await Old.den().guest
      }
      try expect(result, says: "Den.guest (Guest) names an object with a value that this version of the model cannot read")
    }

    /// A number that the database has not given yet.
    @Test func aNumberThatWasNotGivenIsNamed() async throws {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let magic = try await MagicData(type: .memory)
        let cage = Cage()
        cage.keeper = Keeper("Ann")
        try await magic.update(cage)
        guard cage.number == 1 else { return }
        _ = Cage().number
      }
      try expect(result, says: "Cage.number (Int) was read before it was set")
    }
  }
#endif
