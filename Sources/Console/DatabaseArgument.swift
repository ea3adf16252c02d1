package import ArgumentParser

package struct DatabaseArgument: ParsableArguments {
  @Argument(help: ArgumentHelp("The database: its folder, or a .sqlite, .sqlite3 or .db file.", valueName: "DB"))
  package var path: String

  package init() {}
}
