// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v13)],
  dependencies: [
    .package(name: "MagicData", path: "../.."),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
  ],
  targets: [
    // What the baselines need of the system's libraries and GRDB's module of SQLite does not declare.
    .target(name: "CSession", linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("z")]),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "CSession",
        .product(name: "MagicData", package: "MagicData"),
        .product(name: "MagicReplication", package: "MagicData"),
        .product(name: "MagicTransport", package: "MagicData"),
        // Run, and not linked.
        .product(name: "magic-sync", package: "MagicData"),
        .product(name: "magic-replay", package: "MagicData"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
