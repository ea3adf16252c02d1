internal import MagicData
package import MagicJournal

/// What became of one object between two states.
package struct ObjectDifference: Sendable {
  package enum Kind: String, Sendable {
    case added, changed, removed
  }

  package struct Field: Sendable {
    package let name: String
    package let before, after: Value?
  }

  package let kind: Kind
  package let type: String
  package let object: String
  /// Those that are not the same, by name.
  package let fields: [Field]

  /// `nil` if they are the same.
  init?(_ before: ObjectAt?, _ after: ObjectAt?) {
    guard before != after, let object = after ?? before else { return nil }
    (type, self.object) = (object.type, object.object)
    kind = before == nil ? .added : after == nil ? .removed : .changed
    // By the names' bytes (L-3).
    func values(_ object: ObjectAt?) -> [[UInt8]: Value] {
      var values = Dictionary((object?.fields ?? []).map { (Array($0.name.utf8), $0.value) }) { $1 }
      if let number = object?.number { values[[]] = .integer(number) }
      return values
    }
    let (old, new) = (values(before), values(after))
    let differing = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }
    fields = differing.sorted { $0.lexicographicallyPrecedes($1) }.map {
      // An automatic number is in no field, and a merge may change it.
      Field(name: $0.isEmpty ? "#" : String(decoding: $0, as: UTF8.self), before: old[$0], after: new[$0])
    }
    // The same fields in another order are no difference.
    if fields.isEmpty, kind == .changed { return nil }
  }
}

extension JournalSource {
  /// Hands out what differs between two moments.
  package func differences(
    from: MagicMoment, to: MagicMoment?, type name: String?, _ body: @Sendable @escaping (ObjectDifference) throws -> Void
  ) async throws -> MagicReadReport {
    let path = path
    let (unread, report) = try await withDatabase { magic in
      let body = outsideOfReads(of: [magic], body)
      let (from, to) = (try await magic.stamp(at: from), try await magic.stamp(at: to))
      return try await magic.store.read { db in
        let troubles = ReadProblems()
        let reader = try StateReader(db, path, troubles)
        for type in reader.types where name.map(type.schema.name.isWritten) ?? true {
          let lost = try reader.reading(type) {
            (try reader.lostNumbers(of: type, at: from), try reader.lostNumbers(of: type, at: to))
          }
          try reader.forEachObject(of: type) { key, place in
            try Task.checkCancellation()
            let states = try reader.reading(type, key: key) {
              (
                before: try reader.object(key, place, of: type, at: from, lost?.0 ?? [:]),
                after: try reader.object(key, place, of: type, at: to, lost?.1 ?? [:])
              )
            }
            if let states, let difference = ObjectDifference(states.before, states.after) { try body(difference) }
          }
        }
        return troubles.report
      }
    }
    return report.joined(unread)
  }

  /// Hands out what differs between two sources.
  package func differences(
    to other: JournalSource, type name: String?, _ body: @Sendable @escaping (ObjectDifference) throws -> Void
  ) async throws -> MagicReadReport {
    let (oldPath, newPath) = (path, other.path)
    let ((unread, second), first) = try await withDatabase { old in
      try await other.withDatabase { new in
        let body = outsideOfReads(of: [old, new], body)
        let (old, new) = (old.store, new.store)
        // A database differs in nothing from itself.
        guard old !== new else { return MagicReadReport() }
        return try await Store.atLength { checkCancelled in
          try old.readBlocking { oldDB in
            try new.readBlocking { newDB in
              let troubles = ReadProblems()
              try StateReader.compare(
                StateReader(oldDB, oldPath, troubles), StateReader(newDB, newPath, troubles), type: name, checkCancelled, body)
              return troubles.report
            }
          }
        }
      }
    }
    return first.joined(second).joined(unread)
  }
}

extension StateReader {
  /// Each object of one of them is looked up in the other, so that memory holds two of them.
  fileprivate static func compare(
    _ old: StateReader, _ new: StateReader, type name: String?, _ checkCancelled: () throws -> Void,
    _ body: (ObjectDifference) throws -> Void
  ) throws {
    func each(_ reader: StateReader, _ other: StateReader, _ found: (ObjectAt?, ObjectAt?) throws -> Void) throws {
      for type in reader.types where name.map(type.schema.name.isWritten) ?? true {
        let counterpart = other.type(type.schema.identity)
        let lost = try reader.reading(type) { try reader.lostNumbers(of: type, at: .latest) } ?? [:]
        let otherLost =
          try counterpart.flatMap { type in try other.reading(type) { try other.lostNumbers(of: type, at: .latest) } } ?? [:]
        func theirs(_ key: ObjectKey) throws -> ObjectAt? {
          guard let counterpart, let place = try other.place(of: key, in: counterpart) else { return nil }
          return try other.object(key, place, of: counterpart, at: .latest, otherLost)
        }
        try reader.forEachObject(of: type) { key, place in
          try checkCancelled()
          // Of what one of them cannot read nobody knows whether it differs.
          guard let mine = try reader.reading(type, key: key, { try reader.object(key, place, of: type, at: .latest, lost) }),
            let theirs = try other.reading(type, key: key, { try theirs(key) })
          else { return }
          try found(mine, theirs)
        }
      }
    }
    try each(old, new) { before, after in
      if before != nil, let difference = ObjectDifference(before, after) { try body(difference) }
    }
    try each(new, old) { after, before in
      if before == nil, let difference = ObjectDifference(nil, after) { try body(difference) }
    }
  }
}
