import Foundation
import MagicData
import TestSupport
import Testing

struct Stop: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var zone: Int = 1
  @OptionMagicValue var note: MagicAsset<String>?
  @MagicValue var map: AsyncMagical<MagicAsset<String>> = AsyncMagical(value: MagicAsset(value: "map"))
  @ReverseMagicValue(\Line.$stops) var lines: AsyncReverseMagicSet<Line>
  init() {}
  init(_ name: String) { self.name = name }
}

struct Line: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var stops: [Stop] = []
  @MagicValue var later: AsyncMagical<[Stop]> = AsyncMagical(value: [])
  init() {}
}

struct Plain: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var zone: Int = 1
  init() {}
  init(_ name: String) { self.name = name }
}

struct PlainValue: MagicConvertible, Sendable {
  var name: String
  init(name: String) { self.name = name }
  init(_ model: Plain) { name = model.name }
  func makeModel() -> Plain { Plain(name) }
}

/// An instance belongs to one actor, so every call has to come back to the one that it was made from. Run these optimized as
/// well: what goes wrong here has gone wrong there alone.
@Suite @MainActor struct ObjectIsolationTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func stays(_ what: String, _ body: () async throws -> Void) async throws {
    // Whatever was before, it begins on the main actor.
    try await Task.sleep(nanoseconds: 1)
    #expect(MainQueue.isCurrent, "before \(what)")
    try await body()
    #expect(MainQueue.isCurrent, "after \(what)")
  }

  private func filled(isInMemory: Bool) async throws -> MagicData {
    let magic = try await isInMemory ? MagicData(type: .memory) : MagicData(path: folder["db"])
    try await magic.update(contentsOf: (0..<10).map { Plain("\($0)") })
    let line = Line()
    line.number = 1
    line.stops = (0..<3).map { Stop("stop \($0)") }
    line.later = AsyncMagical(value: line.stops)
    try await magic.update(line)
    return magic
  }

  @Test(arguments: [false, true]) func readsComeBack(isInMemory: Bool) async throws {
    let magic = try await filled(isInMemory: isInMemory)
    #expect(MainQueue.isCurrent)
    try await stays("fetch") { _ = try await magic.object(of: Plain.self) }
    #expect(MainQueue.isCurrent)
    let all = try await magic.object(of: Line.self)
    #expect(MainQueue.isCurrent)
    let line = try #require(all.first)
    let plain = try await magic.object(of: Plain.self, primary: "1")
    #expect(MainQueue.isCurrent)
    let later = try await line.later.get()
    #expect(MainQueue.isCurrent)
    #expect(later.count == 3)
    _ = try await later[0].map.get()
    #expect(MainQueue.isCurrent)
    for try await stop in try line.later.createAsyncStream() {
      #expect(MainQueue.isCurrent)
      for try await _ in stop.lines { #expect(MainQueue.isCurrent) }
    }
    _ = try await line.later.randomValue()
    #expect(MainQueue.isCurrent)
    _ = try await magic.has(of: Plain.self, primary: "1")
    #expect(MainQueue.isCurrent)
    #expect(plain.zone == 1)
    _ = try await magic.count(of: Plain.self)
    #expect(MainQueue.isCurrent)
    _ = try await magic.query(of: Plain.self).where { $0.zone == 1 }.all()
    #expect(MainQueue.isCurrent)
    _ = try await magic.query(of: Plain.self).first()
    #expect(MainQueue.isCurrent)
    _ = try await magic.query(of: Plain.self).count()
    #expect(MainQueue.isCurrent)
    _ = try await magic.query(of: Plain.self).plan()
    #expect(MainQueue.isCurrent)
    for try await _ in magic.query(of: Plain.self).stream() { #expect(MainQueue.isCurrent) }
    #expect(MainQueue.isCurrent)
    _ = try await magic.object(of: Plain.self).where { $0.name == "1" }
    #expect(MainQueue.isCurrent)
    _ = try await magic.statistics()
    #expect(MainQueue.isCurrent)
    for try await objects in magic.observe(of: Plain.self) {
      #expect(MainQueue.isCurrent)
      #expect(objects.count == 10)
      break
    }
    let values = magic.values(of: PlainValue.self)
    _ = try await values.fetchAll()
    #expect(MainQueue.isCurrent)
    _ = try await values.fetchFirst { $0.zone == 1 }
    #expect(MainQueue.isCurrent)
    _ = try await values.fetch(primary: "1")
    #expect(MainQueue.isCurrent)
    _ = try await values.count()
    #expect(MainQueue.isCurrent)
  }

  @Test(arguments: [false, true]) func writesComeBack(isInMemory: Bool) async throws {
    let magic = try await filled(isInMemory: isInMemory)
    #expect(MainQueue.isCurrent)
    var changes = try await magic.changes().makeAsyncIterator()
    #expect(MainQueue.isCurrent)
    let plain = Plain("x")
    try await stays("update") { try await magic.update(plain) }
    #expect(try await changes.next() != nil)
    #expect(MainQueue.isCurrent)
    try await stays("update of a graph") {
      let line = Line()
      line.stops = [Stop("y")]
      line.stops[0].note = MagicAsset(value: "text")
      try await magic.update(line)
    }
    try await stays("update of many") {
      try await magic.update(contentsOf: [Plain("a"), Plain("b")]) { _ in #expect(MainQueue.isCurrent) }
    }
    try await stays("remove of many") {
      let more = [Plain("e"), Plain("f")]
      try await magic.update(contentsOf: more)
      #expect(MainQueue.isCurrent)
      try await magic.remove(contentsOf: more) { _ in #expect(MainQueue.isCurrent) }
    }
    try await stays("update of graphs") { try await magic.update(contentsOf: [Line()]) { _ in #expect(MainQueue.isCurrent) } }
    try await stays("transaction") {
      try await magic.transaction { tx in
        #expect(MainQueue.isCurrent)
        try await tx.update(Plain("c"))
        #expect(MainQueue.isCurrent)
        _ = try await tx.object(of: Plain.self)
        #expect(MainQueue.isCurrent)
        _ = try await tx.object(of: Line.self)
        #expect(MainQueue.isCurrent)
        _ = try await tx.query(of: Plain.self).where { $0.zone == 1 }.all()
        #expect(MainQueue.isCurrent)
        try await tx.transaction { tx in
          #expect(MainQueue.isCurrent)
          try await tx.update(Plain("d"))
          #expect(MainQueue.isCurrent)
        }
        #expect(MainQueue.isCurrent)
        try await tx.removeAll(of: Stop.self)
        #expect(MainQueue.isCurrent)
        let many = [Plain("g"), Plain("h")]
        try await tx.update(contentsOf: many) { _ in #expect(MainQueue.isCurrent) }
        #expect(MainQueue.isCurrent)
        try await tx.remove(contentsOf: many) { _ in #expect(MainQueue.isCurrent) }
        #expect(MainQueue.isCurrent)
      }
    }
    try await stays("remove") { try await magic.remove(plain) }
    try await stays("remove by query") { try await magic.query(of: Plain.self).where { $0.name == "a" }.remove() }
    try await stays("removeAll") { try await magic.removeAll(of: Line.self) }
    try await stays("values") {
      try await magic.values(of: PlainValue.self).save(PlainValue(name: "v"))
      #expect(MainQueue.isCurrent)
      try await magic.values(of: PlainValue.self).delete(PlainValue(name: "v"))
    }
    try await stays("backup") { try await magic.backup(to: folder["copy"]) }
    try await stays("close") { try await magic.close() }
  }
}
