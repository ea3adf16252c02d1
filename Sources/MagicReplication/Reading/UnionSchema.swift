internal import MagicData
internal import MagicJournal

/// One schema for entries of several sources, each of which numbers types and fields in its own way.
struct UnionSchema {
  private(set) var schema = Schema()
  private var known: (source: SourceSchema, learnt: [LearntType])?

  init() {}

  /// Where the types and fields of a source are here.
  mutating func learn(_ source: SourceSchema) -> [LearntType] {
    if let known, known.source === source { return known.learnt }
    let types = source.schema.types.map { type in
      if let index = schema.types.firstIndex(where: { $0.identity == type.identity }) { return index }
      schema.types.append(TypeSchema(name: type.name, primary: type.primary))
      return schema.types.count - 1
    }
    let learnt = zip(source.schema.types, types).map { type, index in
      LearntType(
        id: index,
        fields: type.fields.map { field in
          if let known = schema.types[index].index(of: field) { return known }
          schema.types[index].append(field)
          return schema.types[index].fields.count - 1
        })
    }
    known = (source, learnt)
    return learnt
  }
}
