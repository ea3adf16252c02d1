internal import MagicJournal

extension Layout {
  /// This type, and those that a fetch of it reaches through relations.
  func reached() throws -> [TypeSchema.Identity] {
    var layouts = [self]
    var seen: Set<TypeSchema.Identity> = [schema.identity]
    var index = 0
    while index < layouts.count {
      for relation in layouts[index].properties.compactMap(\.relation) {
        let target = try Layout.of(relation.target)
        if seen.insert(target.schema.identity).inserted { layouts.append(target) }
      }
      index += 1
    }
    return layouts.map(\.schema.identity)
  }
}
