import Foundation
import MagicData
import TestSupport

struct Fellow: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var name: String

  init() {}

  init(_ id: String) {
    self.id = id
    name = id
  }
}

/// Holds objects in every way, and a file.
struct Guild: MagicObject {
  @PrimaryMagicValue var id: String
  @OptionMagicValue var head: Fellow?
  @MagicValue var members: MagicalSet<Fellow> = []
  @MagicValue var queue: [Fellow] = []
  @MagicValue var posts: [String: Fellow] = [:]
  @OptionMagicValue var badge: MagicAsset<String>?

  init() {}

  init(_ id: String) {
    self.id = id
  }
}

/// With an automatic number.
struct Coupon: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var title: String

  init() {}

  init(_ title: String) {
    self.title = title
  }
}

/// Without a primary value.
struct Remark: MagicObject {
  @MagicValue var title: String

  init() {}

  init(_ title: String) {
    self.title = title
  }
}

/// What a guild shows, by names.
struct GuildShown: Equatable {
  var head: String?
  var members: [String]
  var queue: [String]
  var posts: [String: String]
  var badge: String?
}

extension ReplayFixture {
  /// A guild of A and B, in the order of which A comes first; the first transaction of its database.
  func writeGuild() async throws {
    try await work("a") { magic in
      let (a, b, guild) = (Fellow("A"), Fellow("B"), Guild("g"))
      guild.head = a
      guild.members = [a]
      guild.queue = [a, b]
      guild.posts = ["first": a]
      guild.badge = .init(value: "the first")
      try await magic.update(guild)
    }
  }

  /// As the models have it.
  func guild(_ id: String = "g", in name: String) async throws -> GuildShown {
    let magic = try await MagicData(path: folder[name])
    let guild = try await magic.object(of: Guild.self, primary: id)
    let shown = GuildShown(
      head: guild.head?.id, members: guild.members.map(\.id).sorted(), queue: guild.queue.map(\.id),
      posts: guild.posts.mapValues(\.id), badge: guild.badge?.value)
    try await magic.close()
    return shown
  }

  /// The same, by their numbers.
  func coupons(in name: String) async throws -> [Int: String] {
    let magic = try await MagicData(path: folder[name])
    let coupons = try await magic.object(of: Coupon.self).map { ($0.number, $0.title) }
    try await magic.close()
    return Dictionary(uniqueKeysWithValues: coupons)
  }
}
