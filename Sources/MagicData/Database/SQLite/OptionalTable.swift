internal import GRDB

/// Our own tables that a database gets when they are first needed. An index of a model never takes their names.
enum OptionalTable: String {
  case unsentAssets = "magic_unsent_asset"
  case sent = "magic_sent"
  case left = "magic_left"
  case remotes = "magic_remote"
  case remoteOptions = "magic_remote_option"
  case metFolders = "magic_met_folder"
  case branches = "magic_branch"
  case digests = "magic_digest"
  case look = "magic_look"
  case acceptedTime = "magic_accepted"
  case names = "magic_name"

  /// - Parameter name: of whatever case, as SQLite has it.
  static func isNamed(_ name: String) -> Bool { OptionalTable(rawValue: name.lowercased()) != nil }

  fileprivate var create: String {
    switch self {
    case .unsentAssets: Statements.createUnsentAssets
    case .sent: Statements.createSent
    case .left: Statements.createLeft
    case .remotes: Statements.createRemotes
    case .remoteOptions: Statements.createRemoteOptions
    case .metFolders: Statements.createMetFolders
    case .branches: Statements.createBranches
    case .digests: Statements.createDigests
    case .look: Statements.createLook
    case .acceptedTime: Statements.createAcceptedTime
    case .names: Statements.createNames
    }
  }
}

extension Connection {
  func has(_ table: OptionalTable) throws -> Bool {
    var select = try SQL(self, Statements.hasTable)
    try select.bind(table.rawValue)
    return try select.step()
  }

  /// Makes a table that is not there.
  func make(_ table: OptionalTable) throws {
    guard try !has(table) else { return }
    // A former version let an app's index take the name. The next use of its type makes it again, under another one.
    try execute(sql: "DROP INDEX IF EXISTS \(table.rawValue)")
    try execute(sql: table.create)
  }
}
