internal import MagicJournal

/// An asset of an instance that is saved.
private struct AssetToSave {
  let index: Int
  let asset: any AnyAsset
  /// What the database held, as far as the instance knows.
  let stored: Value?
  /// What the property's default is called, if the app may have left it.
  let initial: Value?
}

extension Scope {
  /// Brings the contents of an instance's assets to the disk, and completes the save with their names.
  nonisolated(nonsending) func stage(
    _ object: ObjectSave, of instance: Instance
  ) async throws -> (ObjectSave, StagedAssets) {
    if instance.layout.assets.isEmpty { return (object, StagedAssets()) }
    let (objects, assets) = try await stage([object], of: [instance])
    return (objects[0], assets)
  }

  nonisolated(nonsending) func stage(
    _ objects: [ObjectSave], of instances: [Instance]
  ) async throws -> ([ObjectSave], StagedAssets) {
    // What is saved is what stands in the instances at this moment; others may come in between at each await.
    var found: [(number: Int, asset: AssetToSave)] = []
    for (number, instance) in instances.enumerated() where !instance.layout.assets.isEmpty {
      found += try instance.assets(objects[number], in: store.id).map { (number, $0) }
    }
    var objects = objects
    var staged = StagedAssets()
    for (number, asset) in found {
      let layout = instances[number].layout
      do {
        let file = try await store.assets.stage(asset.asset.place, asset.asset.givenContent())
        objects[number].name(asset, file.name)
        staged.files.append(file)
      } catch let error as MagicDataError {
        let property = layout.properties[asset.index]
        throw MagicDataError(error.code, "\(layout.name).\(property.name): \(error.message)", cause: error)
      }
      try Task.checkCancellation()
    }
    return (objects, staged)
  }

  nonisolated(nonsending) func stage(_ graph: ObjectGraph) async throws -> (GraphSave, StagedAssets) {
    var save = graph.save
    let (objects, assets) = try await stage(save.objects, of: graph.nodes.map(\.instance))
    save.objects = objects
    return (save, assets)
  }
}

extension Instance {
  /// The assets of which the database may need the content: those that were set, and all of an object that it does not know.
  fileprivate func assets(_ object: ObjectSave, in database: Identifier) throws -> [AssetToSave] {
    let isKnown = object.record(in: database) != nil
    return try layout.assets.compactMap { index in
      let (storage, slot) = property(index)
      guard object.values[index] != .null, case .held(let held) = storage[slot].slot, let asset = held.asset,
        !isKnown || object.edited.contains(index) || asset.isUnnamed
      else { return nil }
      let isAsMade = record == nil && !storage[slot].isStored && storage[slot].edits == layout.properties[index].initialEdits
      return AssetToSave(
        index: index, asset: asset, stored: try storage.stored(at: slot)?.value(),
        initial: isAsMade ? layout.properties[index].initial : nil)
    }
  }
}

extension ObjectSave {
  fileprivate mutating func name(_ asset: AssetToSave, _ name: String) {
    let value = Value.asset(name)
    values[asset.index] = value
    if asset.initial == value { edited.remove(asset.index) }
    if asset.initial == value || asset.stored == value { changed.remove(asset.index) }
  }
}
