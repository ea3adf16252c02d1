import Foundation
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import TestSupport

/// A database with an app, of an older version or the newest, and a clock.
final class Machine {
  let name: String
  let database: URL
  private let world: World
  private let isOld: Bool
  /// Where its database is served, if it is.
  private let socket: URL?
  private var server: RunningServer?
  var skew: Int64 = 0
  /// By id: how many of its own transactions the simulation knows.
  var recorded: [ReplicaID: UInt64] = [:]
  private var opened: MagicData?

  init(_ name: String, _ database: URL, _ world: World, isOld: Bool, servedAt socket: URL? = nil) {
    self.name = name
    self.database = database
    self.world = world
    self.isOld = isOld
    self.socket = socket
  }

  var magic: MagicData {
    guard let opened else { preconditionFailure("the machine is off") }
    return opened
  }

  func open() async throws {
    opened = MagicData(store: try Store(.file(DatabaseLocation(database), mustExist: false), world.surroundings(skew: skew)))
    guard let socket else { return }
    server = try await RunningServer(MagicServer(magic, at: ["unix:\(socket.path)"], options: RunningServer.quiet))
  }

  func close() async throws {
    try await server?.stop()
    try await opened?.close()
    (server, opened) = (nil, nil)
  }

  func reopen() async throws {
    try await close()
    try await open()
  }

  /// What is open stays as it is, with its WAL; another process comes.
  func crash() async throws {
    try await server?.stop()
    server = nil
    let files = ["", "-wal", "-shm"].map { URL(fileURLWithPath: database.path + "/default.sqlite3" + $0) }
    let kept = files.map { try? Data(contentsOf: $0) }
    opened = nil
    for (file, data) in zip(files, kept) {
      // Closing has put the WAL's content into the file, which the crash would not have.
      guard let data, file.path.hasSuffix("sqlite3") else {
        try data?.write(to: file)
        continue
      }
      let handle = try FileHandle(forWritingTo: file)
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: data)
      try handle.close()
    }
    try? FileManager.default.removeItem(at: files[2])
    try await open()
  }

  // MARK: The app

  func edit(_ chance: inout Seeded) async throws {
    guard chance.below(4) == 0 else { return try await editOnce(magic, &chance) }
    var local = chance
    do {
      try await magic.transaction { tx in
        for _ in 0...local.below(4) { try await editOnce(tx, &local) }
        if local.below(5) == 0 { throw RolledBack() }
      }
    } catch is RolledBack {}
    chance = local
  }

  private struct RolledBack: Error {}

  private nonisolated(nonsending) func editOnce(_ editor: some Editor, _ chance: inout Seeded) async throws {
    switch chance.below(7) {
    case 0: try await editNotes(editor, &chance)
    case 1: try await editEvents(editor, &chance)
    case 2, 3: try await editPeople(editor, &chance)
    case 4: try await editErrands(editor, &chance)
    case 5: try await editPhotos(editor, &chance)
    default:
      if isOld {
        try await editItems(OldApp.Item.self, editor, &chance)
      } else {
        try await editItems(NewApp.Item.self, editor, &chance)
      }
    }
  }

  private nonisolated(nonsending) func editNotes(_ editor: some Editor, _ chance: inout Seeded) async throws {
    let id = "n\(chance.below(4))"
    guard chance.below(3) > 0, let note = try await editor.object(of: App.Note.self).first(where: { $0.id == id }) else {
      try await editor.update(App.Note(id, "made \(chance.below(100))"))
      return
    }
    switch chance.below(4) {
    case 0: try await editor.remove(note)
    case 1:
      note.mood = chance.pick(["glad", "sad", nil])
      try await editor.update(note)
    default:
      note.title = "title \(chance.below(100))"
      note.stars = chance.below(3)
      try await editor.update(note)
    }
  }

  private nonisolated(nonsending) func editEvents(_ editor: some Editor, _ chance: inout Seeded) async throws {
    let events = try await editor.object(of: App.Event.self)
    guard !events.isEmpty, chance.below(2) == 0 else {
      try await editor.update(App.Event("event \(chance.below(1_000))"))
      return
    }
    let event = chance.pick(events)
    switch chance.below(6) {
    case 0: try await editor.remove(event)
    case 1 where chance.below(4) == 0: try await editor.removeAll(of: App.Event.self)
    default:
      event.weight = chance.pick([nil, 1, -0.0, .nan, .infinity, 2.5])
      try await editor.update(event)
    }
  }

  private nonisolated(nonsending) func editPeople(_ editor: some Editor, _ chance: inout Seeded) async throws {
    let people = try await editor.object(of: App.Person.self).sorted { $0.id < $1.id }
    let leaves = try await editor.object(of: App.Leaf.self)
    let person = people.isEmpty || chance.below(4) == 0 ? App.Person("p\(chance.below(4))", "person") : chance.pick(people)
    let leaf = leaves.isEmpty || chance.below(3) == 0 ? App.Leaf("leaf \(chance.below(1_000))") : chance.pick(leaves)
    switch chance.below(9) {
    case 0: person.friend = people.isEmpty ? nil : chance.pick(people)
    case 1, 2: if !people.isEmpty { person.friends.insert(chance.pick(people)) }
    case 3: person.friends.removeAll { _ in chance.below(2) == 0 }
    case 4, 5: person.pages.insert(leaf, at: chance.below(person.pages.count + 1))
    case 6: if !person.pages.isEmpty { person.pages.remove(at: chance.below(person.pages.count)) }
    case 7: person.index = ["k\(chance.below(3))": leaf]
    default:
      if chance.below(2) == 0, !leaves.isEmpty { return try await editor.remove(chance.pick(leaves)) }
      if !people.isEmpty { return try await editor.remove(chance.pick(people)) }
    }
    try await editor.update(person)
  }

  private nonisolated(nonsending) func editErrands(_ editor: some Editor, _ chance: inout Seeded) async throws {
    let errands = try await editor.object(of: App.Errand.self)
    guard !errands.isEmpty, chance.below(2) == 0 else {
      let errand = App.Errand()
      errand.title = "errand \(chance.below(100))"
      if chance.below(6) == 0 { errand.number = 1 + chance.below(5) }
      if !errands.isEmpty, chance.below(2) == 0 { errand.parent = chance.pick(errands) }
      try await editor.update(errand)
      return
    }
    let errand = chance.pick(errands)
    if chance.below(4) == 0 { return try await editor.remove(errand) }
    errand.title = "changed \(chance.below(100))"
    if chance.below(2) == 0 { errand.related.insert(chance.pick(errands)) }
    try await editor.update(errand)
  }

  private nonisolated(nonsending) func editPhotos(_ editor: some Editor, _ chance: inout Seeded) async throws {
    let id = "photo \(chance.below(3))"
    if chance.below(5) == 0, let photo = try await editor.object(of: Photo.self).first(where: { $0.id == id }) {
      return try await editor.remove(photo)
    }
    try await editor.update(Photo(id, "content \(chance.below(5))"))
  }

  private nonisolated(nonsending) func editItems<Object: Item>(
    _ type: Object.Type, _ editor: some Editor, _ chance: inout Seeded
  ) async throws {
    let id = "i\(chance.below(3))"
    guard chance.below(3) > 0, let item = try await editor.object(of: type).first(where: { $0.id == id }) else {
      try await editor.update(Object(id, &chance))
      return
    }
    if chance.below(5) == 0 { return try await editor.remove(item) }
    item.change(&chance)
    try await editor.update(item)
  }
}
