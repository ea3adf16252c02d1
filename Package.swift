// swift-tools-version: 6.2
import PackageDescription

// Floors, from the ground up; arrows point down only (ARCHITECTURE.md).
// `Tools/test` sets MAGICDATA_STRICT and checks the arrows with `--explicit-target-dependency-import-check error`.
let strict: [SwiftSetting] =
  (Context.environment["MAGICDATA_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])
  + [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]

let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

func nio(_ product: String) -> Target.Dependency { .product(name: product, package: "swift-nio") }
let tls: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let package = Package(
  name: "MagicData",
  platforms: [.macOS(.v13), .iOS(.v16)],
  products: [
    .library(name: "MagicData", targets: ["MagicData"]),
    .library(name: "MagicReplication", targets: ["MagicReplication"]),
    .library(name: "MagicTransport", targets: ["MagicTransport"]),
    .executable(name: "magic-sync", targets: ["magic-sync"]),
    .executable(name: "magic-replay", targets: ["magic-replay"]),
  ],
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: [
    // 0
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .target(name: "CPlatform"),
    // 1
    .target(name: "MagicJournal", dependencies: ["CZlib"], swiftSettings: strict),
    // 2
    .target(name: "MagicData", dependencies: ["MagicJournal", "CPlatform", grdb, sqlite], swiftSettings: strict),
    // 3
    .target(
      name: "MagicReplication", dependencies: ["MagicJournal", "MagicData"], swiftSettings: strict),
    // 4
    .target(
      name: "MagicTransport",
      dependencies: [
        "MagicReplication", "MagicData", "MagicJournal", "CPlatform", nio("NIOCore"), nio("NIOPosix"), tls, logging,
      ],
      swiftSettings: strict),
    // 5
    .target(
      name: "Console", dependencies: ["MagicTransport", "MagicReplication", "MagicData", "MagicJournal", arguments],
      swiftSettings: strict),
    // 6
    .executableTarget(
      name: "magic-sync",
      dependencies: ["Console", "MagicTransport", "MagicReplication", "MagicData", "MagicJournal", arguments, logging],
      swiftSettings: strict),
    .executableTarget(
      name: "magic-replay",
      dependencies: ["Console", "MagicTransport", "MagicReplication", "MagicData", "MagicJournal", arguments],
      swiftSettings: strict),

    .target(
      name: "TestSupport", dependencies: ["MagicReplication", "MagicData", "MagicJournal", "CSpawn", grdb],
      path: "Tests/TestSupport", swiftSettings: strict),
    .target(name: "CSpawn", path: "Tests/CSpawn"),
    .testTarget(name: "MagicJournalTests", dependencies: ["MagicJournal", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "MagicDataTests", dependencies: ["MagicData", "MagicJournal", "TestSupport", grdb], swiftSettings: strict),
    .testTarget(
      name: "IsolationTests", dependencies: ["MagicReplication", "MagicData", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "MagicReplicationTests", dependencies: ["MagicReplication", "MagicData", "MagicJournal", "TestSupport", grdb],
      swiftSettings: strict),
    .testTarget(
      name: "MagicTransportTests",
      dependencies: [
        "MagicTransport", "MagicReplication", "MagicData", "MagicJournal", "TestSupport", nio("NIOCore"), nio("NIOEmbedded"),
        grdb,
        logging,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "DocumentationTests", dependencies: ["MagicTransport", "MagicReplication", "MagicData", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "ToolTests",
      dependencies: [
        "magic-sync", "magic-replay", "MagicTransport", "MagicReplication", "MagicData", "TestSupport", grdb,
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)

// For the few tests that `Tools/test` runs optimized: without what would only be built beside them, which takes longer than all the rest.
if Context.environment["MAGICDATA_OPTIMIZED"] != nil {
  let upper = ["MagicTransport", "Console", "magic-sync", "magic-replay"]
  package.targets.removeAll { $0.type == .test ? $0.name != "IsolationTests" : upper.contains($0.name) }
  package.products.removeAll { upper.contains($0.name) }
}
