internal import MagicJournal

/// What a model's migrations come to, by its properties.
struct DeclaredChanges {
  private struct Changes {
    var name: Name?
    var formerKinds: [FormerKind] = []
    var fillIn: Value?
  }

  private var changes: [Int: Changes] = [:]
  private var removed: Set<Name> = []

  /// - Parameter properties: where the probe's properties are, in their order.
  init(_ migrations: [MagicMigration], of probe: some MagicObject, _ properties: [PropertySlot]) throws {
    for migration in migrations {
      let name = try migration.name.map { try Name($0) }
      guard let property = migration.property else {
        if let name { removed.insert(name) }
        continue
      }
      guard let slot = property(probe),
        let index = properties.firstIndex(where: { $0.storage === slot.storage && $0.slot == slot.slot })
      else { throw MagicDataError(.model, "a migration speaks of a property of another type") }
      try add(migration.step, name, to: index)
    }
  }

  private mutating func add(_ step: MagicMigration.Step, _ name: Name?, to index: Int) throws {
    var change = changes[index] ?? Changes()
    if let name {
      guard change.name == nil || change.name == name else {
        throw MagicDataError(
          .model,
          """
          a migration calls \(name) what another one calls \(change.name?.text ?? ""): values keep their first name, which is to be \
          declared alone
          """)
      }
      change.name = name
    }
    switch step {
    case .renamed, .removed: break
    case .converted(let former): change.formerKinds.append(former)
    case .filled(let value): change.fillIn = value
    case .refused(let error): throw error
    }
    changes[index] = change
  }

  /// What a property's values are stored under.
  func storedName(_ index: Int, named name: Name) -> Name { changes[index]?.name ?? name }

  func formerKinds(_ index: Int) -> [FormerKind] { changes[index]?.formerKinds ?? [] }

  func fillIn(_ index: Int) -> Value? { changes[index]?.fillIn }

  /// Each value has a name of its own, and each kind one meaning.
  func check(_ properties: [Layout.Property]) throws {
    var names: [Name: Name] = [:]
    for property in properties {
      if removed.contains(property.field.name) {
        throw MagicDataError(
          .model, "\(property.name) would read the values of the removed \(property.field.name); give the property another name"
        )
      }
      if let other = names.updateValue(property.name, forKey: property.field.name) {
        throw MagicDataError(
          .model, "\(other) and \(property.name) are both stored as \(property.field.name); give one of them another name")
      }
      let kinds = [property.kind] + property.formerKinds.map(\.kind)
      guard kinds.count == 1 || !kinds.contains(where: \.isRelation) else {
        throw MagicDataError(
          .model, "\(property.name) is converted, and is a relation or was one, which cannot be; give the property another name"
        )
      }
      guard property.fillIn == nil || !property.kind.isRelation else {
        throw MagicDataError(
          .model, "\(property.name) holds objects, which are not filled in; give it a default, which new owners are stored with"
        )
      }
      guard !kinds.contains(.asset) || kinds.count == 1 && property.fillIn == nil else {
        throw MagicDataError(
          .model,
          """
          \(property.name) is an asset or was one, which is not converted or filled in, since its content is in a file; give the property \
          another name, or a default
          """)
      }
      guard Set(kinds).count == kinds.count, property.role != .primary || kinds.count == 1 else {
        throw MagicDataError(
          .model,
          """
          \(property.name) is converted from a kind that it has, or twice from one: values of one kind cannot be told apart; give the property \
          another name
          """)
      }
    }
  }
}
