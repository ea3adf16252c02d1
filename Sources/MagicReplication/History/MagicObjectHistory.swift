public import Foundation
internal import MagicData
internal import MagicJournal

/// Every value that one object's properties ever had.
public struct MagicObjectHistory: Sendable {
  /// A write of one value, or, without a property, the removal of the object.
  public struct Change: Sendable, Equatable {
    /// What became of a write.
    public enum Outcome: String, Sendable {
      /// It is what the object holds: of a set or a dictionary also that an element was taken out.
      case current
      /// The same replica wrote something later.
      case replaced
      /// Another replica wrote something that counts as later; whether it knew of this one the journal does not tell.
      case lost
      /// Nothing took its place, and the object is removed.
      case removed
      /// It was written before a removal that somebody who knew of it has undone.
      case void
    }

    /// Who wrote it, and when.
    public let author: Author
    /// `nil` for the object as a whole.
    public let property: String?
    /// As JSON; of a set or a dictionary one element. `nil` for a removal.
    public let value: String?
    /// What became of it.
    public let outcome: Outcome
    /// Who wrote what took its place; `nil` if nothing did.
    public let successor: Author?
    /// What took its place, as `value` has it.
    public let successorValue: String?
  }

  /// Who wrote something, and when.
  public struct Author: Sendable, Equatable {
    /// By its replica's clock.
    public let time: Date
    /// 32 hexadecimal digits.
    public let replica: String
    /// The sequence of its transaction.
    public let sequence: UInt64
  }

  /// A value that an object shows, and who wrote it last.
  public struct Blame: Sendable, Equatable {
    /// The property's name.
    public let property: String
    /// As JSON; of a set or a dictionary one element.
    public let value: String
    /// Who wrote it, and when.
    public let author: Author
  }

  /// The name of the object's type.
  public let type: String
  /// The primary value; of an object without one, or with an automatic number, its birth: 32 hexadecimal digits.
  public let object: String
  /// Whether the object is there, after all that was written.
  public let isAlive: Bool
  /// The oldest first.
  public let changes: [Change]
  /// What the object shows; nothing if it is removed.
  public let blame: [Blame]
  /// What of the journal could not be read.
  public internal(set) var report = MagicReadReport()

  init(_ object: ObjectEntries) {
    type = object.type.name.text
    self.object = object.key.text
    let account = Account(of: object)
    isAlive = account.state.isAlive
    changes = account.changes
    blame = account.blame
  }
}

/// What the entries of an object tell.
private struct Account {
  private let object: ObjectEntries
  let state: ObjectState
  private let held: Held
  /// Who wrote each entry.
  private let authors: [MagicObjectHistory.Author]
  /// Where the first entry of each version is.
  private let places: [Version: Int]

  init(of object: ObjectEntries) {
    self.object = object
    state = object.state
    held = Held(state, of: object.type)
    authors = object.entries.map {
      MagicObjectHistory.Author(
        time: $0.version.stamp.date, replica: $0.replica.description, sequence: $0.sequence)
    }
    let versions = object.entries.enumerated().map { ($1.entry.operation.version(ofValuesAt: $1.version), $0) }
    places = Dictionary(versions) { first, _ in first }
  }

  /// The oldest first.
  var changes: [MagicObjectHistory.Change] {
    let writes = writes
    var changes = self.changes(by: writes.lives.sorted { $0.version < $1.version }, of: nil)
    for (place, all) in writes.sortedPlaces {
      // The order of the fold itself (M-1).
      changes += self.changes(by: all.sorted { $0.state < $1.state }, of: object.type.fields[place.slot].name.text)
    }
    return changes.enumerated().sorted { ($0.element.place, $0.offset) < ($1.element.place, $1.offset) }.map(\.element.change)
  }

  var blame: [MagicObjectHistory.Blame] {
    guard state.isAlive else { return [] }
    return held.shown.compactMap { write in
      places[write.version].map {
        MagicObjectHistory.Blame(
          property: object.type.fields[write.field].name.text, value: write.value.json, author: authors[$0])
      }
    }
  }

  private var writes: ObjectConflicts {
    var writes = ObjectConflicts(object.key, of: object.type)
    for (index, of) in object.entries.enumerated() {
      let place = EntryPlace(bits: Int64(index))
      writes.add(of.entry, of.version, at: place)
      guard of.entry.operation.code == .purge else { continue }
      writes.add(of.entry.fields, of.entry.operation.version(ofValuesAt: of.version), at: place)
    }
    return writes
  }

  /// - Parameters:
  ///   - writes: of what folds by itself, rising.
  ///   - property: `nil` for the object as a whole, of which the removes are changes.
  private func changes(
    by writes: [ObjectConflicts.Write], of property: String?
  ) -> [(place: Int, change: MagicObjectHistory.Change)] {
    // What is held under two ids is one write (J-3).
    var sorted: [ObjectConflicts.Write] = []
    for write in writes where sorted.last.map({ !$0.isSame(as: write) }) ?? true { sorted.append(write) }
    return sorted.enumerated().compactMap { index, write in
      if property == nil, write.value != nil { return nil }
      var next = index + 1 < sorted.count ? sorted[index + 1] : nil
      let isCurrent = property == nil ? !state.isAlive && next == nil : held.shows(write)
      if !isCurrent, property != nil, next == nil { next = successor(hiding: write) }
      let place = Int(write.place.bits)
      return (
        place,
        MagicObjectHistory.Change(
          author: authors[place], property: property, value: write.value?.json,
          outcome: outcome(of: write, of: property, isCurrent, before: next),
          successor: isCurrent ? nil : next.map { authors[Int($0.place.bits)] },
          successorValue: isCurrent || property == nil ? nil : next?.value?.json)
      )
    }
  }

  /// The write that shows in the place of one that is held.
  private func successor(hiding write: ObjectConflicts.Write) -> ObjectConflicts.Write? {
    guard let other = held.write(hiding: write), let place = places[other.version] else { return nil }
    return ObjectConflicts.Write(
      version: other.version, field: other.field, place: EntryPlace(bits: Int64(place)), value: other.value)
  }

  private func outcome(
    of write: ObjectConflicts.Write, of property: String?, _ isCurrent: Bool, before next: ObjectConflicts.Write?
  ) -> MagicObjectHistory.Change.Outcome {
    if isCurrent { return state.isAlive || property == nil ? .current : .removed }
    if let base = state.revivalBase, write.version.stamp <= base, property != nil { return .void }
    guard let next else { return .removed }
    return next.version.root == write.version.root ? .replaced : .lost
  }
}

/// The writes that an object holds, and which of them show.
private struct Held {
  /// With elements that were taken out (M-13).
  private let writes: [ObjectState.Write]
  /// The writes by field and element.
  private let byPlace: [ObjectConflicts.Place: ObjectState.Write]
  private let type: TypeSchema
  /// By the first field of the name: what shows goes by it (M-14).
  private let highest: [Int: ObjectState.Write]
  private let shownFields: Set<Int>

  init(_ state: ObjectState, of type: TypeSchema) {
    let writes = state.values
    let highest = Dictionary(writes.map { (type.slots[$0.field], $0) }) { max($0, $1) }
    (self.writes, self.type, self.highest) = (writes, type, highest)
    byPlace = Dictionary(writes.map { ($0.place, $0) }) { $1 }
    // A field of which all elements were taken out is in no row.
    shownFields = Set(state.row.map(\.field)).union(highest.values.map(\.field))
  }

  /// What an object shows.
  var shown: [ObjectState.Write] { writes.filter { shownFields.contains($0.field) && !$0.isTombstone } }

  func shows(_ write: ObjectConflicts.Write) -> Bool { shownFields.contains(write.field) && has(write) }

  private func has(_ write: ObjectConflicts.Write) -> Bool { byPlace[write.state.place] == write.state }

  /// What shows in the place of a write that is held.
  func write(hiding write: ObjectConflicts.Write) -> ObjectState.Write? {
    has(write) ? highest[type.slots[write.field]] : nil
  }
}

extension ObjectConflicts.Write {
  fileprivate var state: ObjectState.Write { .init(version: version, field: field, value: value ?? .null) }

  /// Wherever each stands.
  fileprivate func isSame(as other: Self) -> Bool {
    version == other.version && field == other.field && value == other.value && base == other.base
  }
}

extension ObjectState.Write {
  /// Where it folds by itself, with its field for the slot and its kind before the element.
  fileprivate var place: ObjectConflicts.Place {
    let element: [UInt8] =
      switch value {
      case .set(let elements): [1] + (elements.first?.key.encoded ?? [])
      case .dictionary(let elements): [2] + (elements.first?.name ?? [])
      default: []
      }
    return ObjectConflicts.Place(slot: field, element: element)
  }
}
