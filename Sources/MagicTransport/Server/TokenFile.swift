internal import Foundation
internal import Logging
internal import MagicData

/// The tokens as their file has them at each question: one that is taken out lets nobody in from then on (W-3).
final class TokenFile: Sendable {
  private struct Known {
    var tokens: Tokens
    /// Of the file that was read, or could not be; `nil` of none.
    var state: OpenFile.State?
  }

  private let file: URL
  private let logger: Logger
  private let known: Locked<Known>

  init(_ file: URL, _ logger: Logger) throws {
    (self.file, self.logger) = (file, logger)
    let state = TokenFile.state(file)
    known = Locked(Known(tokens: try Tokens(file), state: state))
  }

  /// A link has the state of the file that it leads to.
  private static func state(_ file: URL) -> OpenFile.State? { (try? OpenFile(file))?.state }

  /// Of a file that a server would not start with, those before.
  private var current: Tokens {
    known.withLock { known in
      let state = TokenFile.state(file)
      guard state != known.state else { return known.tokens }
      known.state = state
      do {
        known.tokens = try Tokens(file)
        logger.notice("the tokens were read anew")
      } catch {
        logger.error("the tokens that were read before hold on: \(error)")
      }
      return known.tokens
    }
  }

  var names: Set<String> { current.names }

  func holder(of token: [UInt8]) -> Tokens.Holder? { current.holder(of: token) }
}
