package import MagicData

/// A remote by the name that people gave it.
package struct NamedRemote: Sendable, Equatable, Encodable {
  package let name: String
  /// An absolute path, or a URL.
  package let address: String
  /// What is said of the way to a server, by the names of the tools' options: paths from the root, and never what a file holds.
  package let options: [String: String]

  package init(name: String, address: String, options: [String: String] = [:]) {
    self.name = name
    self.address = address
    self.options = options
  }

  /// The one that is meant where no remote is named, if there are several.
  package static let defaultName = "origin"

  package static func unknown(_ name: String) -> MagicDataError {
    MagicDataError(.notFound, "there is no remote \(name); `magic-sync remote list` shows those that there are")
  }

  /// A name can be no path of more than one part and no URL. A folder that is called like a remote is written with `./` in
  /// front.
  package static func isValid(_ name: String) -> Bool {
    1...64 ~= name.utf8.count && name.utf8.first != UInt8(ascii: "-")
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}

extension MagicData {
  /// In the order of their names.
  package func remotes() async throws -> [NamedRemote] {
    try await store.read { db in
      try RemoteNames(db).all().map { NamedRemote(name: $0.name, address: $0.address, options: $0.options) }
    }
  }

  /// - Throws: `MagicDataError` with `exists` if there is a remote of that name, and `value` for what can be no name.
  package func addRemote(_ remote: NamedRemote) async throws {
    guard NamedRemote.isValid(remote.name) else {
      throw MagicDataError(.value, "a remote's name has 1 to 64 letters a to z, digits, - and _, and does not begin with -")
    }
    guard try await store.write({ db in try RemoteNames(db).add(remote.name, remote.address, options: remote.options) }) else {
      throw MagicDataError(
        .exists, "there is a remote \(remote.name) already; `magic-sync remote set` changes it, or take another name")
    }
  }

  /// Gives a name to another address, or keeps other options with it. Of an address that has no name any more, that there was a
  /// remote is forgotten.
  ///
  /// - Throws: `MagicDataError` with `notFound` if there is no remote of that name.
  package func setRemote(_ remote: NamedRemote) async throws {
    let wasKnown = try await store.write { db in
      let names = RemoteNames(db)
      guard let former = try names.all().first(where: { $0.name == remote.name }), try names.remove(remote.name) else {
        return false
      }
      _ = try names.add(remote.name, remote.address, options: remote.options)
      if try !names.all().contains(where: { $0.address == former.address }) { try VisitedFolders(db).remove(former.address) }
      return true
    }
    guard wasKnown else { throw NamedRemote.unknown(remote.name) }
  }

  /// Forgets the name, and, with the last name of its address, that there was a remote; the remote itself stays as it is.
  package func removeRemote(_ name: String) async throws {
    let wasKnown = try await store.write { db in
      let names = RemoteNames(db)
      let known = try names.all()
      guard try names.remove(name) else { return false }
      let left = Set(known.filter { $0.name != name }.map(\.address))
      for remote in known where remote.name == name && !left.contains(remote.address) {
        try VisitedFolders(db).remove(remote.address)
      }
      return true
    }
    guard wasKnown else { throw NamedRemote.unknown(name) }
  }
}
