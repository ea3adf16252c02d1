internal import MagicJournal

/// Which value of a save waits for the name of a content.
struct AssetSlot: Sendable {
  /// The object's number in the save.
  var object: Int
  let property: Int
  /// What the database held, as far as the instance knows.
  let stored: Value?
  /// What the property's default is called, if the app may have left it.
  let initial: Value?
  /// Whether that is another one each time, and the app may have left it.
  let isVolatile: Bool
}

/// An asset of an instance that is saved.
struct AssetToSave {
  var slot: AssetSlot
  let asset: any AnyAsset
  let layout: Layout
  /// Its name, if its file is here and the row names it, as far as the instance knows.
  let kept: String?
}

extension Instance {
  /// The assets of which the database may need the content: those that were set, those that it has no more and the instance
  /// has, and all of an object that it does not know.
  func assets(of object: ObjectSave, in store: Store) throws -> [AssetToSave] {
    guard !layout.assets.isEmpty else { return [] }
    let isKnown = object.record(in: store.id) != nil
    return try layout.assets.compactMap { index in
      let (storage, slot) = property(index)
      guard object.values[index] != .null, case .held(let held) = storage[slot].slot, let asset = held.asset else { return nil }
      let isNews = !isKnown || object.edited.contains(index)
      guard isNews || asset.isGiven else { return nil }
      let (state, declared) = (storage[slot], layout.properties[index])
      let isAsMade = record == nil && !state.isKnown && state.edits == declared.initialEdits
      let place = AssetSlot(
        object: 0, property: index, stored: try storage.stored(at: slot)?.value(),
        initial: isAsMade ? declared.initial : nil, isVolatile: isAsMade && declared.isVolatile)
      let kept = isNews ? nil : asset.place.name.flatMap { store.assets.has($0) ? $0 : nil }
      return AssetToSave(slot: place, asset: asset, layout: layout, kept: kept)
    }
  }
}

extension Collection<Instance> {
  func assets(of objects: [ObjectSave], in store: Store) throws -> [AssetToSave] {
    var found: [AssetToSave] = []
    for (number, instance) in enumerated() where !instance.layout.assets.isEmpty {
      for var asset in try instance.assets(of: objects[number], in: store) {
        asset.slot.object = number
        found.append(asset)
      }
    }
    return found
  }
}

extension Scope {
  /// Brings contents to the disk, one after the other, so that no more than one of them is held beside the app's own.
  nonisolated(nonsending) func stage(_ assets: [AssetToSave]) async throws -> StagedAssets {
    var staged = StagedAssets()
    for asset in assets {
      if let kept = asset.kept {
        staged.expect(kept)
        continue
      }
      do {
        let file = try await store.assets.stage(asset.asset.place, asset.asset.givenContent())
        staged.append(file, for: asset.slot)
      } catch {
        throw asset.named(error)
      }
      try Task.checkCancellation()
    }
    return staged
  }

  func stageBlocking(_ assets: [AssetToSave]) throws -> StagedAssets {
    var staged = StagedAssets()
    for asset in assets {
      if let kept = asset.kept {
        staged.expect(kept)
        continue
      }
      do {
        staged.append(try store.assets.staged(asset.asset.place, asset.asset.givenContent()), for: asset.slot)
      } catch {
        throw asset.named(error)
      }
    }
    return staged
  }
}

extension AssetToSave {
  fileprivate func named(_ error: any Error) -> any Error {
    guard let error = error as? MagicDataError else {
      // Of the app's own conversion.
      return MagicDataError(
        .value, "\(layout.name).\(layout.properties[slot.property].name) gives no content: \(error)", cause: error)
    }
    return MagicDataError(error.code, "\(layout.name).\(layout.properties[slot.property].name): \(error.message)", cause: error)
  }
}

extension ObjectSave.Content {
  mutating func name(_ slot: AssetSlot, _ name: String) {
    let value = Value.asset(name)
    values[slot.property] = value
    let isDefault = slot.isVolatile || slot.initial == value
    if isDefault { edited.remove(slot.property) }
    if isDefault || slot.stored == value { changed.remove(slot.property) }
  }
}
