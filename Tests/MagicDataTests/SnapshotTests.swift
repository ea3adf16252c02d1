import Foundation
import MagicData
import TestSupport
import Testing

private struct Team: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var round: Int = 0
  @OptionMagicValue var captain: Player?
  @MagicValue var players: MagicalSet<Player> = []
  @MagicValue var order: [Player] = []
  @MagicValue var named: [String: Player] = [:]
  @MagicValue var later: AsyncMagical<[Player]> = AsyncMagical(value: [])
  init() {}

  /// The rounds of the team and of all who are fetched with it: one, unless these are of several moments.
  var rounds: Set<Int> {
    var rounds: Set<Int> = [round]
    if let captain { rounds.insert(captain.round) }
    for player in players { rounds.insert(player.round) }
    for player in order { rounds.insert(player.round) }
    for player in named.values { rounds.insert(player.round) }
    return rounds
  }

  func hold(_ players: [Player]) {
    captain = players[0]
    self.players = MagicalSet(players)
    order = players.reversed()
    named = Dictionary(uniqueKeysWithValues: players.enumerated().map { ("\($0)", $1) })
    later = AsyncMagical(value: players)
  }
}

private struct Player: MagicObject {
  @MagicValue var round: Int
  init() {}
  init(_ round: Int) { self.round = round }
}

/// Each read sees one moment: owners and members that are always changed in one transaction are never seen of two. Nobody here
/// waits for another, so each has its turn.
@Suite(.timeLimit(.minutes(15))) struct SnapshotTests {
  enum Place: CaseIterable {
    case file, memory, otherOpening
  }

  /// Rounds that each reader has to meet before it leaves, so that there are writes between its reads, and within them.
  private static let rounds = 20

  @Test(arguments: Place.allCases) func ownersAndMembersAreOfOneMoment(_ place: Place) async throws {
    let folder = try TemporaryFolder()
    let magic = place == .memory ? try await MagicData(type: .memory) : try await MagicData(path: folder["db"])
    let other = place == .otherOpening ? try await MagicData(path: folder["db"]) : magic
    let team = Team()
    team.id = "t"
    team.hold((0..<3).map { _ in Player(0) })
    try await magic.update(team)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await write(magic) }
      for _ in 0..<3 {
        group.addTask { try await read(other) }
      }
      group.addTask { try await observe(other) }
      // The writer ends by nothing but an error, or when it is no longer wanted.
      for _ in 0..<4 { _ = try await group.next() }
      group.cancelAll()
      try await group.waitForAll()
    }
    let last = try await other.object(of: Team.self, primary: "t")
    try await expectOneMoment(last)
    #expect(try await other.object(of: Player.self).count == 3)
    #expect(try await faultyPlaces(magic) == [])
  }

  /// A round after the other, each in one transaction: as one call, as several, and with another member in the place of one
  /// that goes.
  private func write(_ magic: MagicData) async throws {
    let team = try await magic.object(of: Team.self, primary: "t")
    var players = team.order
    for round in 1... {
      let gone = round % 3 == 2 ? players.removeFirst() : nil
      if gone != nil {
        players.append(Player(round))
        team.hold(players)
      }
      for player in players { player.round = round }
      team.round = round
      let changed = players
      do {
        if round % 3 == 0 {
          try await magic.update(team)
        } else {
          try await magic.transaction { transaction in
            for player in changed { try await transaction.update(player) }
            try await transaction.update(team)
            if let gone { try await transaction.remove(gone) }
          }
        }
      } catch is CancellationError {
        return
      }
    }
  }

  private func read(_ magic: MagicData) async throws {
    var seen: Set<Int> = []
    while seen.count < Self.rounds {
      for team in try await magic.object(of: Team.self) { seen.insert(try await expectOneMoment(team)) }
      seen.insert(try await expectOneMoment(magic.object(of: Team.self, primary: "t")))
      for team in try await magic.query(of: Team.self).where({ $0.round >= 0 }).all() {
        seen.insert(try await expectOneMoment(team))
      }
      for try await team in magic.query(of: Team.self).stream() { seen.insert(try await expectOneMoment(team)) }
    }
  }

  private func observe(_ magic: MagicData) async throws {
    var seen: Set<Int> = []
    for try await teams in magic.observe(of: Team.self) {
      #expect(teams.count == 1)
      for team in teams { seen.insert(try await expectOneMoment(team)) }
      guard seen.count < Self.rounds else { return }
    }
    Issue.record("the sequence ended by itself")
  }

  /// - Returns: the round that it was.
  @discardableResult
  private func expectOneMoment(_ team: Team) async throws -> Int {
    #expect(team.rounds == [team.round])
    #expect((team.players.count, team.order.count, team.named.count) == (3, 3, 3))
    #expect(team.captain != nil)
    // Links and objects of one moment, which may be a later one.
    let later = try await team.later.get().map(\.round)
    #expect(later.count == 3)
    #expect(Set(later).count == 1)
    return team.round
  }
}
