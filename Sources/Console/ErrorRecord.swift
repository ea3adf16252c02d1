internal import Foundation
package import MagicData
package import MagicReplication

/// What went wrong, as events and summaries say it to programs.
package struct ErrorRecord: Encodable, Sendable {
  let code, message: String
  private var path: String?
  private var seconds: Int?

  init(code: String, message: String) {
    (self.code, self.message) = (code, DisplayName.text(message))
  }

  package init(_ error: MagicDataError) {
    self.init(code: "\(error.code)", message: error.message)
  }

  package init(_ file: UnreadFile) {
    self.init(code: "\(file.code)", message: file.message)
    path = DisplayName.text(file.path)
  }

  /// - Parameter pause: until the next try.
  package init(_ error: MagicDataError, retryingAfter pause: Duration) {
    self.init(error)
    seconds = ErrorRecord.seconds(pause)
  }

  /// The last for people.
  package static func text(_ error: MagicDataError, retryingAfter pause: Duration) -> String {
    "\(error.message). Trying again in \(seconds(pause)) s"
  }

  private static func seconds(_ pause: Duration) -> Int { Int((pause / .milliseconds(1) / 1_000).rounded(.up)) }
}

/// Transactions that are missing.
package struct Gap: Encodable, Sendable {
  let replica: String
  let firstMissing, lastMissing: UInt64

  package init(_ gap: PullReport.Gap) {
    (replica, firstMissing, lastMissing) = (gap.replica, gap.sequences.lowerBound, gap.sequences.upperBound)
  }
}
