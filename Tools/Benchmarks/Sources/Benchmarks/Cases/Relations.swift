import Foundation
import MagicData

/// Owners that hold ten members each: a tenth of the objects are owners.
extension Case {
  static func relations(_ sizes: Sizes) -> [Case] {
    let owners = sizes.objects / 10
    return [saveOwners(owners), fetchOwners(owners), reverse(owners)]
  }

  private static func saveOwners(_ size: Int) -> Case {
    Case(name: "save owners with 10 members, one transaction", size: size, count: size) { _ in
      [
        Side("MagicData") { folder in
          let magic = try await MagicData(path: folder.file("ours"))
          let owners = (0..<size).map(Owner.init(number:))
          return {
            try await magic.update(contentsOf: owners)
            return size
          }
        },
        Side("raw SQLite") { folder in
          let raw = RawOwners(folder.file("raw"))
          return {
            raw.insert(0..<size)
            return size
          }
        },
      ]
    }
  }

  private static func fetchOwners(_ size: Int) -> Case {
    Case(name: "fetch owners with 10 members", size: size, count: size, target: .ratio(3)) { workspace in
      let (magic, raw) = try await owners(size, workspace)
      return [
        Side("MagicData") { _ in { try await magic.object(of: Owner.self).reduce(0) { $0 + $1.members.count } } },
        Side("raw SQLite, one join") { _ in { raw.fetchAll().reduce(0) { $0 + $1.members.count } } },
      ]
    }
  }

  /// Who holds a member: one owner, which comes with its ten members.
  private static func reverse(_ size: Int) -> Case {
    let few = min(1_000, size)
    return Case(name: "reverse, an owner with 10 members each", size: size, count: few) { workspace in
      let (magic, raw) = try await owners(size, workspace)
      let members = try await magic.query(of: Member.self).limit(few).all()
      let rows = raw.members(few)
      return [
        Side("MagicData") { _ in
          {
            var found = 0
            for member in members { for try await owner in member.owners { found += owner.members.count } }
            return found
          }
        },
        Side("raw SQLite, one join") { _ in { rows.reduce(0) { $0 + raw.owners(of: $1).reduce(0) { $0 + $1.members.count } } }
        },
      ]
    }
  }

  private static func owners(_ size: Int, _ workspace: Workspace) async throws -> (MagicData, RawOwners) {
    let fixture = try await workspace.fixture("owners-\(size)") { folder in
      try await workspace.fill(folder.file("ours"), size, Owner.init(number:))
      let raw = RawOwners(folder.file("raw"))
      raw.insert(0..<size)
      raw.database.checkpoint()
    }
    return (try await MagicData(path: fixture.file("ours")), RawOwners(fixture.file("raw")))
  }
}
