/// The objects that hold this one in a property of theirs, asked of the database when they are wanted.
///
/// ```swift
/// @ReverseMagicValue(\Album.$photos) var albums: AsyncReverseMagicSet<Album>
/// ```
///
/// It cannot be set: put the object into the other's property, and save that.
@propertyWrapper
public struct ReverseMagicValue<Owner: MagicObject> {
  let property: PropertySlot
  private let relation: PartialKeyPath<Owner>

  /// - Parameter relation: the owner's property, as one object, a ``MagicalSet``, an array, a dictionary, or an
  ///   ``AsyncMagical`` of one.
  public init<Value: Magical>(
    _ relation: KeyPath<Owner, MagicValue<Value>>, _ file: StaticString = #fileID, _ line: UInt32 = #line,
    _ column: UInt32 = #column, _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: false))
    self.relation = relation
  }

  /// - Parameter relation: the owner's property.
  public init<Value: Magical>(
    _ relation: KeyPath<Owner, OptionMagicValue<Value>>, _ file: StaticString = #fileID, _ line: UInt32 = #line,
    _ column: UInt32 = #column, _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: false))
    self.relation = relation
  }

  /// The owners of the object as which the instance was fetched or saved last, whatever primary value it has by now. None for
  /// one that was neither saved nor fetched.
  public var wrappedValue: AsyncReverseMagicSet<Owner> {
    AsyncReverseMagicSet(property, relation)
  }

  /// The property itself.
  public var projectedValue: Self { self }
}

/// What a reverse knows of its object where it does not share the memory of the object's first property.
private final class ReverseRecord: Held {
  let record: Record?

  init(_ record: Record?) {
    self.record = record
  }
}

extension PropertySlot {
  /// The object as which a reverse's instance was fetched or saved.
  var reverseRecord: Record? {
    switch storage[index].slot {
    case .held(let held): (held as? ReverseRecord)?.record
    // What comes first there is its own object's.
    case .integer: part.record
    // What comes first there may be another instance's (`Opening`).
    default: nil
    }
  }

  /// Sets the record of a reverse that stands alone.
  func setReverse(_ record: Record?) {
    storage.put(.held(ReverseRecord(record)), at: index)
  }
}

extension Layout {
  /// What comes first in a storage knows the object for the reverses there as well.
  ///
  /// - Parameter first: where the instance begins.
  func joinReverses(_ storage: Storage, from first: Int) {
    for slot in reverses { storage.put(.integer(1), at: first + slot) }
  }
}

/// A property that names another type's.
protocol ReverseProperty: MagicProperty {
  /// - Throws: if that holds no objects of the type: what is at their z indexes would be taken for them.
  func checkRelation(to type: any MagicObject.Type) throws
}

extension ReverseMagicValue: ReverseProperty {
  func checkRelation(to holder: any MagicObject.Type) throws {
    let wrapper = Owner()[keyPath: relation] as? any MagicProperty
    let value: (any Magical.Type)? = wrapper.map { Swift.type(of: $0).valueType }
    guard let target = value.flatMap({ Layout.relation($0) })?.target else {
      throw MagicDataError(.model, "its reverse names a property of \(Owner.magicName) that holds no objects")
    }
    guard target.magicName == holder.magicName else {
      throw MagicDataError(.model, "its reverse names a property of \(Owner.magicName) that holds objects of \(target)")
    }
  }

  static var role: PropertyRole { .reverse }
  static var valueType: any Magical.Type { MagicalSet<Owner>.self }
  static var codec: Codec { Codec(MagicalSet<Owner>.self) }
}
