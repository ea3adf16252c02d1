/// Defaults that vary.
extension Layout {
  /// Instances that `init()` has made otherwise than those for the layout, and how often some were made to find one.
  struct Later {
    var instances: [Instance] = []
    var looks = 0

    static let most = 16
    /// As many tell chance from what the app has set.
    static let manyLooks = 16
  }

  /// Whether `init()` makes an instance by now, or has made one at some time, that differs from those for the layout.
  func varies(_ fresh: FreshInstances, _ differs: (Instance) -> Bool) -> Bool {
    let known = later.withLock { $0.instances }
    if known.contains(where: differs) { return true }
    guard let instance = fresh.instances(of: self).first(where: differs) else { return false }
    later.withLock { if $0.instances.count < Later.most { $0.instances.append(instance) } }
    return true
  }

  /// Without the lock: `init()` is the app's.
  fileprivate func freshInstances() -> [Instance] {
    let looks = later.withLock { later in
      later.looks += 1
      return later.looks
    }
    var instances: [Instance] = []
    for _ in 0..<(looks <= Later.manyLooks ? 4 : 1) {
      if let instance = try? fresh(self.type) { instances.append(instance) }
    }
    return instances
  }

  private func fresh<Object: MagicObject>(_: Object.Type) throws -> Instance { try Instance(Object(), self) }
}

/// What `init()` makes while objects are saved, if it may matter for one of them: once for all of a type. What was made before
/// them would tell of no change since.
final class FreshInstances {
  private var made: [ObjectIdentifier: [Instance]] = [:]

  func instances(of layout: Layout) -> [Instance] {
    let type = ObjectIdentifier(layout.type)
    if let made = made[type] { return made }
    let instances = layout.freshInstances()
    made[type] = instances
    return instances
  }
}
