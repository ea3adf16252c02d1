/// What came whole, handed to another thread and not touched here meanwhile.
// @unchecked: the caller waits until the other thread is done with it.
final class Whole<Arrived>: @unchecked Sendable {
  let arrived: Arrived

  init(_ arrived: Arrived) { self.arrived = arrived }
}
