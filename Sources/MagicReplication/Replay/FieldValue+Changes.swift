internal import MagicJournal

extension [FieldValue] {
  /// What to write over a row so that it becomes another one: of sets and dictionaries the elements that differ. Of several
  /// fields of one name the one that shows is written, which empties the others (J-16, J-23).
  func changes(to target: [FieldValue], of type: TypeSchema) -> [FieldValue] {
    let shown = Set(target.map { type.slots[$0.field] })
    let (old, new) = (Dictionary(map { ($0.field, $0.value) }) { $1 }, Dictionary(target.map { ($0.field, $0.value) }) { $1 })
    return Set(old.keys).union(new.keys).sorted().compactMap { field in
      let (before, after) = (old[field], new[field])
      guard before != after, after != nil || !shown.contains(type.slots[field]) else { return nil }
      switch (before, after) {
      case (.set(let before), let after):
        return FieldValue(field: field, value: .elements(from: before, to: after?.setElements ?? []))
      case (let before, .set(let after)):
        return FieldValue(field: field, value: .elements(from: before?.setElements ?? [], to: after))
      case (.dictionary(let before), let after):
        return FieldValue(field: field, value: .places(from: before, to: after?.places ?? []))
      case (let before, .dictionary(let after)):
        return FieldValue(field: field, value: .places(from: before?.places ?? [], to: after))
      default: return FieldValue(field: field, value: after ?? .null)
      }
    }
  }
}

extension Value {
  fileprivate var setElements: [SetElement] { if case .set(let elements) = self { elements } else { [] } }
  fileprivate var places: [DictionaryElement] { if case .dictionary(let elements) = self { elements } else { [] } }

  fileprivate static func elements(from before: [SetElement], to after: [SetElement]) -> Value {
    let (old, new) = (Set(before.map(\.key)), Set(after.map(\.key)))
    return .set(
      of: new.subtracting(old).map { SetElement(key: $0) } + old.subtracting(new).map { SetElement(key: $0, isIn: false) })
  }

  fileprivate static func places(from before: [DictionaryElement], to after: [DictionaryElement]) -> Value {
    let (old, kept) = (Dictionary(before.map { ($0.name, $0) }) { $1 }, Set(after.map(\.name)))
    let (changed, gone) = (after.filter { old[$0.name] != $0 }, before.filter { !kept.contains($0.name) })
    return .dictionary(of: changed + gone.map { DictionaryElement(name: $0.name, key: nil) })
  }
}
