/// The types and fields that entries speak of, by index (J-14).
package struct Schema: Sendable, Equatable {
  package var types: [TypeSchema]

  package init(types: [TypeSchema] = []) {
    self.types = types
  }
}

package struct TypeSchema: Sendable, Equatable {
  package struct Field: Sendable, Hashable {
    package var name: Name
    package var kind: Value.Kind
    /// The type of the objects that a relation speaks of; `nil` for a field of another kind (J-14).
    package var target: Identity?

    package init(name: Name, kind: Value.Kind, target: Identity? = nil) {
      self.name = name
      self.kind = kind
      self.target = target
    }

    /// Which of two fields of one name loses if nothing else tells (M-14).
    func ranks(below other: Field) -> Bool {
      guard kind == other.kind else { return kind.rawValue < other.kind.rawValue }
      guard let target, let otherTarget = other.target else { return false }
      return target.name == otherTarget.name
        ? target.primaryKind?.rawValue ?? 0 < otherTarget.primaryKind?.rawValue ?? 0
        : target.name.text.utf8.lexicographicallyPrecedes(otherTarget.name.text.utf8)
    }
  }

  package var name: Name
  /// The field that names objects of this type, if the app sets one.
  package var primary: Field?
  package private(set) var fields: [Field] = []
  /// For each field the first one of its name: fields of one name compete as one (M-2, M-14).
  package private(set) var slots: [Int] = []
  private var indexes: [Field: Int] = [:]
  private var firsts: [Name: Int] = [:]

  package init(name: Name, primary: Field?, fields: [Field] = []) {
    self.name = name
    self.primary = primary
    for field in fields { append(field) }
  }

  package mutating func append(_ field: Field) {
    let index = fields.count
    fields.append(field)
    indexes[field] = index
    let first = firsts[field.name] ?? index
    firsts[field.name] = first
    slots.append(first)
  }

  package func index(of field: Field) -> Int? { indexes[field] }

  /// Whether some field has a rival of the same name.
  package var hasRivals: Bool { firsts.count < fields.count }

  /// Whether its objects have numbers, which may be automatic (J-26).
  package var hasNumbers: Bool { primary?.kind == .integer }
  /// Whether some of its objects are named by their births (J-7, J-26).
  package var hasBirths: Bool { primary == nil || hasNumbers }

  /// What tells types apart (J-5).
  package var identity: Identity { Identity(name: name, primaryKind: primary?.kind) }

  package struct Identity: Hashable, Sendable {
    package let name: Name
    package let primaryKind: Value.Kind?

    package init(name: Name, primaryKind: Value.Kind?) {
      self.name = name
      self.primaryKind = primaryKind
    }
  }
}

/// A type's or a field's name. Equal by bytes, where Swift's `String` would find two spellings of `é` equal (J-15, L-3).
package struct Name: Hashable, Sendable, CustomStringConvertible {
  package let text: String

  package init(_ text: String) throws(JournalError) {
    guard 1...Limits.nameBytes ~= text.utf8.count else {
      throw JournalError(.damaged, "a name has \(text.utf8.count) bytes, where 1 to \(Limits.nameBytes) are allowed")
    }
    guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw JournalError(.damaged, "a name has control characters")
    }
    self.text = text
  }

  package var description: String { text }

  package static func == (left: Name, right: Name) -> Bool {
    left.text.hasSameBytes(as: right.text)
  }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}
