package import ArgumentParser
internal import MagicTransport

package struct DatabaseArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp("The database: its folder, or a .sqlite, .sqlite3 or .db file.", valueName: "DB"), completion: .file())
  package var path: String

  package init() {}

  package func validate() throws {
    guard !path.isEmpty else { throw ValidationError("the database's path is empty.") }
    guard !RemoteAddress.isServer(path) else {
      throw ValidationError(
        "\(path) is a server, and no database; the database comes first, then the remote (of clone the other way round).")
    }
  }
}
