/// Carries a value that is not `Sendable` to another thread, which alone uses it meanwhile.
// @unchecked: the caller waits until the other thread is done with it.
final class Whole<Arrived>: @unchecked Sendable {
  let arrived: Arrived

  init(_ arrived: Arrived) { self.arrived = arrived }
}
