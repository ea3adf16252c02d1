/// What properties are called, for who reads one that was never set.
extension Layout {
  private static let names = Locked<[(place: Place, name: String)]>([])

  /// From here on the places have names.
  func addNames(of places: [Place]) {
    let names = Dictionary(uniqueKeysWithValues: zip(slots, properties).map { ($0, "\(name).\($1.name)") })
    Layout.names.withLock { $0.append(contentsOf: places.enumerated().map { (place: $1, name: names[$0] ?? "\(name)") }) }
  }

  /// The type and the property that are declared at a place, if the type was met already.
  static func name(ofPropertyAt place: Place) -> String? {
    names.withLock { names in names.first { $0.place.isSame(as: place) }?.name }
  }

  /// The name of a slot of a storage whose first property is declared at a place.
  static func name(ofPropertyAt slot: Int, firstAt place: Place) -> String? {
    names.withLock { names in
      guard let first = names.firstIndex(where: { $0.place.isSame(as: place) }), names.indices.contains(first + slot) else {
        return nil
      }
      return names[first + slot].name
    }
  }
}
