internal import MagicJournal

/// What `init()` leaves in an instance, which is not set.
extension Instance {
  /// Whether the app has left the value as `init()` made it. (A struct's delegating `init` that sets a value to its own default
  /// cannot be told from that, nor one, or a memberwise one, that sets what has been another value from time to time.)
  func isDefault(_ index: Int, _ state: Storage.Property, _ fresh: FreshInstances) throws -> Bool {
    guard !state.isKnown, state.edits == layout.initialEdits[index] else { return false }
    // A content that has no name yet is compared when it has.
    guard !state.slot.isUnnamed else { return false }
    return try isAsMade(index, state.slot, fresh)
  }

  /// Whether a value is one that `init()` makes, or may have made.
  func isAsMade(_ index: Int, _ slot: Slot, _ fresh: FreshInstances) throws -> Bool {
    let property = layout.properties[index]
    if try property.isVolatile || property.initial == slot.value() { return true }
    // An `init` has set it, or the default is another one by now.
    return property.mayVary && mayBeHeld && layout.varies(fresh) { (try? $0.state(index).slot.value()) != property.initial }
  }

  /// Whether objects are those that `init()` puts in, of which nothing was set, saved or fetched since.
  func isDefault(
    _ index: Int, _ relation: any RelationCodec, _ members: [Instance], _ names: [[UInt8]], _ fresh: FreshInstances
  ) -> Bool {
    func compare(_ pair: (Held, Held)) -> (isMade: Bool, isSame: Bool) {
      // They may hold this one.
      var comparison = Comparison(seen: [identity])
      let isMade = Instance.areMade(relation, members, names, as: pair, &comparison)
      return (isMade, isMade && !comparison.differs)
    }
    let property = layout.properties[index]
    var mayVary = property.mayVary
    if let pair = property.initialObjects {
      let (isMade, isSame) = compare(pair)
      if isSame { return true }
      if isMade { mayVary = true }
    }
    return mayVary && mayBeHeld
      && layout.varies(fresh) { instance in
        guard case .held(let later) = instance.state(index).slot else { return false }
        if let pair = property.initialObjects, compare((pair.0, later)).isSame { return true }
        // By itself if there was none before, or another number of them; beside one more what is another value each time shows.
        return compare((later, later)).isSame
          || fresh.instances(of: layout).contains { instance in
            guard case .held(let other) = instance.state(index).slot else { return false }
            return compare((later, other)).isSame
          }
      }
  }

  /// Whether there may be an object that a save is to update: what was set matters only then. A primary value that nobody has
  /// assigned is nobody else's.
  private var mayBeHeld: Bool {
    guard record == nil else { return true }
    guard let primary = layout.primary else { return false }
    return state(primary).edits > 0
  }

  private struct Comparison {
    /// Instances on the way, which may hold each other.
    var seen: Set<InstanceIdentity>
    /// Whether a value is another one than in both.
    var differs = false
  }

  /// Whether nothing was set in objects, saved or fetched since they were made. Whether their values are the same says the
  /// comparison.
  ///
  /// - Parameter pair: what two `init()` have put in.
  private static func areMade(
    _ relation: any RelationCodec, _ members: [Instance], _ names: [[UInt8]], as pair: (Held, Held),
    _ comparison: inout Comparison
  ) -> Bool {
    guard let first = try? relation.members(of: pair.0), let second = try? relation.members(of: pair.1),
      members.count == first.instances.count, names == first.names, members.count == second.instances.count
    else { return false }
    for (number, member) in members.enumerated() {
      guard member.isMade(as: (first.instances[number], second.instances[number]), &comparison) else { return false }
    }
    return true
  }

  /// Whether nothing was set that was not in two others as well. A value differs that is not the first one's, unless the second
  /// one's is not either: then it is another one each time.
  private func isMade(as pair: (Instance, Instance), _ comparison: inout Comparison) -> Bool {
    if identity == pair.0.identity || !comparison.seen.insert(identity).inserted { return true }
    guard record == nil, pair.0.record == nil, layout === pair.0.layout, layout === pair.1.layout else { return false }
    for (index, property) in layout.properties.enumerated() {
      let (state, first, second) = (state(index), pair.0.state(index), pair.1.state(index))
      guard !state.isKnown, state.edits == first.edits else { return false }
      // A primary value that nobody has assigned comes when it is asked for.
      if index == layout.primary, !first.slot.hasValue { continue }
      if let relation = property.relation {
        guard case .held(let held) = state.slot else {
          guard !first.slot.hasValue, state.slot.isUnset == first.slot.isUnset else { return false }
          continue
        }
        guard case .held(let firstHeld) = first.slot, case .held(let secondHeld) = second.slot,
          let (members, names) = try? relation.members(of: held),
          Instance.areMade(relation, members, names, as: (firstHeld, secondHeld), &comparison)
        else { return false }
        continue
      }
      do {
        let (value, firstValue) = (try state.slot.value(), try first.slot.value())
        if try value != firstValue && second.slot.value() == firstValue { comparison.differs = true }
      } catch {
        // Its save says why it has no value.
        return false
      }
    }
    return true
  }

  private func state(_ index: Int) -> Storage.Property {
    let (storage, slot) = property(index)
    return storage[slot]
  }
}
