internal import Logging
internal import MagicData
internal import MagicReplication

/// What all sessions of a server have in common.
struct ServerContext: Sendable {
  let served: any Served
  let tokens: Reloading<Tokens>?
  let owners: Owners?
  let limits: ConnectionLimits
  let metrics: ServerMetrics
  let logger: Logger
  /// Told once: from then on nothing new is begun.
  let stop: ChangeSignal
  /// One checkpoint gets its name after the other: of how many replicas two of them bring something counts together.
  let arriving = Gate(places: 1)

  /// What belongs to a token that is there no more is written by nobody, unless another one gets its name (W-4).
  func tellOfLostNames() throws {
    guard let tokens, let owners else { return }
    for name in try owners.names().subtracting(tokens.current.names).sorted() {
      logger.notice(
        "no token is called \(name), to which replicas belong; if another one took its place, write TOKEN \(name) readwrite")
    }
  }
}
