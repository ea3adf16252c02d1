package import MagicData
internal import MagicJournal
internal import MagicReplication

/// What a server refuses, as it goes over the wire (W-13).
package struct WireError: Error {
  package enum Code: UInt8 {
    case protocolViolation = 1
    case version = 2
    case token = 3
    case notAllowed = 4
    case dataSet = 5
    case fork = 6
    case damaged = 7
    case full = 8
    case busy = 9
    case failed = 10
    case notThere = 11
  }

  package let code: Code
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// What happened to a server, said to its client. Of what is not the client's own doing it hears no paths.
  init(_ error: any Error) {
    switch error {
    case let error as WireError: self = error
    case let error as JournalError: self.init(error.code == .unsupported ? .version : .damaged, "\(error)")
    case let error as MagicDataError:
      switch error.code {
      case .fork: self.init(.fork, error.message)
      case .incompatible: self.init(.dataSet, error.message)
      case .damaged: self.init(.damaged, "what was sent, or is kept here, is damaged")
      case .full: self.init(.full, "no space is left at the server")
      case .busy: self.init(.busy, "the server is busy; try again")
      case _ where error.cause is TooManyReplicas: self.init(.notAllowed, error.message)
      case _ where error.cause is DisplacedDatabase:
        self.init(.failed, "the server's database was moved, removed or replaced while it was in use")
      case .notFound: self.init(.notThere, "there is nothing there")
      case .notAllowed: self.init(.failed, "the server may not read or write its own files")
      default: self.init(.failed, "the server failed; its log says why")
      }
    default: self.init(.failed, "the server failed; its log says why")
    }
  }

  /// W-4.
  static func belongsToAnother(_ replica: ReplicaID) -> WireError {
    WireError(
      .notAllowed,
      """
      replica \(replica) belongs to another token; a token that takes its place has to have its name, which the server's \
      file of tokens gives it
      """)
  }

  package var frame: Frame {
    Frame(.error) { writer in
      writer.byte(code.rawValue)
      writer.string(String(decoding: message.utf8.prefix(WireLimits.textBytes), as: UTF8.self))
    }
  }

  /// As a client tells it.
  package static func said(_ frame: Frame, by remote: String) -> MagicDataError {
    let (code, message): (UInt8, String)
    do {
      (code, message) = try frame.read { reader throws(JournalError) in
        (try reader.byte(), try reader.string(atMost: WireLimits.frameBytes))
      }
    } catch {
      return MagicDataError(.failed, "\(remote) refused, and did not say why")
    }
    let text = "\(remote): \(printable(message))"
    return switch Code(rawValue: code) {
    case .version, .dataSet: MagicDataError(.incompatible, text)
    case .token: MagicDataError(.unauthorized, text)
    case .notAllowed: MagicDataError(.unauthorized, text)
    case .fork: MagicDataError(.fork, text)
    case .damaged: MagicDataError(.damaged, text)
    case .full: MagicDataError(.full, text)
    case .busy: MagicDataError(.unreachable, text)
    case .notThere: MagicDataError(.notFound, text)
    case .protocolViolation, .failed, nil: MagicDataError(.failed, text)
    }
  }

  /// What others write must not steer a terminal, nor break the line that it stands in or turn its direction. What joins
  /// letters, or keeps them apart, is part of a word.
  private static func printable(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "\u{200C}" || scalar == "\u{200D}" { return true }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }

  static func printable(_ text: String) -> String {
    let part = String(decoding: text.utf8.prefix(WireLimits.readTextBytes), as: UTF8.self)
    return String(String.UnicodeScalarView(part.unicodeScalars.filter { printable($0) }))
  }
}
