internal import GRDB
internal import MagicJournal

/// Where a property that holds objects is in a database. That can be asked of a type of which the database does not have all
/// properties yet, so that who may not write does not have to make them.
struct RelationPlace {
  let type: StoredType
  let field: Int
  let relation: StoredRelation
  /// As ``MappedType/required``.
  let required: [[Int]]

  /// - Returns: `nil` if the database never had such objects.
  init?(_ layout: Layout, _ property: Int, _ db: Database) throws {
    let schema = try StoredSchema(db)
    guard let type = schema.type(layout.schema.identity), let field = type.schema.index(of: layout.properties[property].field),
      let relation = type.relations[field]
    else { return nil }
    (self.type, self.field, self.relation) = (type, field, relation)
    required = layout.properties.compactMap { property in
      guard property.role != .primary, !property.canBeAbsent else { return nil }
      let fields = ([property.field] + property.formerFields).compactMap { type.schema.index(of: $0) }
      // Nobody has one that is new: it is filled in when it is made.
      return fields.isEmpty ? nil : fields
    }
  }

  /// - Returns: `nil` if the property holds no objects.
  init?(_ type: MappedType, _ property: Int) {
    guard let relation = type.relations.first(where: { $0.index == property })?.stored, let field = type.fields[property] else {
      return nil
    }
    (self.type, self.field, self.relation, required) = (type.stored, field, relation, type.required)
  }

  /// The z indexes of the objects that can be shown and hold one; none if that was removed.
  ///
  /// - Parameter birth: what names it, if it has no primary value: else another may be at its z index.
  func owners(of zIndex: Int64, _ birth: Birth?, after last: Int64, limit: Int, _ db: Database) throws -> [Int64] {
    guard let key = try ObjectTable(relation.target, db).key(ofRow: zIndex), birth.map({ key == .birth($0) }) ?? true else {
      return []
    }
    var select = try SQL(db, type.selectOwners(field, relation, required: required))
    try select.bind(zIndex)
    try select.bind(last)
    try select.bind(limit)
    var owners: [Int64] = []
    while try select.step() { owners.append(select.integer(0)) }
    return owners
  }

  /// An object's links to those that have a row, in its order; none if another object is at its z index.
  func shownLinks(of zIndex: Int64, _ key: ObjectKey?, _ db: Database) throws -> [Link] {
    guard let key, try ObjectTable(type, db).key(ofRow: zIndex) == key else { return [] }
    var select = try SQL(db, type.selectShown(field, relation))
    try select.bind(zIndex)
    var links: [Link] = []
    while try select.step() { links.append(relation.link(select)) }
    return links
  }
}
