import ArgumentParser

struct DatabaseArgument: ParsableArguments {
  @Argument(help: ArgumentHelp("The database: its folder, or a .sqlite, .sqlite3 or .db file.", valueName: "DB"))
  var path: String
}

struct RemoteArgument: ParsableArguments {
  @Argument(help: ArgumentHelp("The remote: a folder's path or file: URL.", valueName: "REMOTE"))
  var address: String
}
