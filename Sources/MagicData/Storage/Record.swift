internal import MagicJournal

/// Where an object stands in a database: what the storage of its first property knows of an instance.
struct Record {
  /// All of it but what it refers to.
  struct Bits {
    let database: Identifier
    let place: ObjectPlace
    let named: Birth
  }

  let bits: Bits
  /// Stays open for an object that may ask it for more of itself.
  let keeper: Store?

  init(_ bits: Bits, keeper: Store?) {
    (self.bits, self.keeper) = (bits, keeper)
  }

  init(database: Identifier, keeper: Store?, place: ObjectPlace, birth: Birth?) {
    self.init(Bits(database: database, place: place, named: birth ?? Record.unnamed), keeper: keeper)
  }

  /// The record of a fetched row.
  ///
  /// - Parameter birth: or `unnamed`.
  @inline(__always) init(row place: ObjectPlace, in database: Identifier, birth: Birth) {
    self.init(Bits(database: database, place: place, named: birth), keeper: nil)
  }

  /// The database file; a copy of a file has the same, so an object's key is checked as well.
  var database: Identifier { bits.database }
  var place: ObjectPlace { bits.place }

  /// The birth of an object that no primary value names.
  var birth: Birth? { bits.named == Record.unnamed ? nil : bits.named }

  /// Without a byte that says whether there is one: each fetched object has a record. No object is born in the transaction
  /// before the first.
  static var unnamed: Birth { Birth(transaction: TransactionName(stamp: .earliest, tag: 0), ordinal: 0) }

  /// What names the object.
  ///
  /// - Parameter primary: the primary value that it had when its instance was fetched or saved.
  func key(_ primary: Value?) -> ObjectKey? {
    birth.map { .birth($0) } ?? primary.map { .primary($0) }
  }

  /// A record of the same object, of whose entries nothing is known.
  var withoutEntries: Record {
    Record(database: database, keeper: keeper, place: ObjectPlace(zIndex: place.zIndex, last: .none), birth: birth)
  }

  /// What an object asks for more of itself.
  var store: Store {
    get throws {
      guard let keeper else { throw MagicDataError(.notFound, "the database of this object is not known to it") }
      return keeper
    }
  }
}

/// An object with a number from the database whose instance was removed: saved again, it is that object, whatever number it has
/// by then.
final class RemovedNumber: Sendable {
  let database: Identifier
  let birth: Birth
  /// Assignments of the number until then: one that the app sets later means another object.
  let edits: UInt32

  init(_ database: Identifier, _ birth: Birth, edits: UInt32) {
    self.database = database
    self.birth = birth
    self.edits = edits
  }
}

/// Tells instances apart while they live; copies have the same.
struct InstanceIdentity: Hashable {
  let address: UInt
}
