internal import Logging
internal import MagicReplication

/// What all sessions of a server have in common.
struct House: Sendable {
  let served: any Served
  let tokens: Tokens?
  let owners: Owners?
  let door: Door
  let tally: Tally
  let logger: Logger
  /// Told once: from then on nothing new is begun.
  let stop: ChangeSignal
}
