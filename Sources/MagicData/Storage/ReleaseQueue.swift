internal import CPlatform

/// Lets go of a chain of instances, each held by the one before, one by one: one within the other would overflow the stack.
///
/// The first storage of a chain to go makes the thread's queue, and empties it; those that go meanwhile only add to it.
final class ReleaseQueue {
  private var held: [Held] = []
  private var isDraining = false

  static func add(_ held: Held) {
    let openings = c_openings()
    if let releases = openings.pointee.releases {
      return Unmanaged<ReleaseQueue>.fromOpaque(releases).takeUnretainedValue().held.append(held)
    }
    let queue = ReleaseQueue()
    queue.held.append(held)
    openings.pointee.releases = Unmanaged.passRetained(queue).toOpaque()
  }

  static func drain() {
    let openings = c_openings()
    guard let releases = openings.pointee.releases else { return }
    let queue = Unmanaged<ReleaseQueue>.fromOpaque(releases)
    guard !queue.takeUnretainedValue().isDraining else { return }
    queue.takeUnretainedValue().isDraining = true
    while let last = queue.takeUnretainedValue().held.popLast() { withExtendedLifetime(last) {} }
    openings.pointee.releases = nil
    queue.release()
  }
}
