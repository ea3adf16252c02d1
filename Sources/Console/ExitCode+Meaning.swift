package import ArgumentParser
package import MagicData

extension MagicDataError.Code {
  package var exitCode: ExitCode {
    switch self {
    case .busy, .unreachable: ExitCode(5)
    case .notAllowed, .unauthorized: ExitCode(6)
    case .incompatible: ExitCode(7)
    case .fork: ExitCode(8)
    case .full: ExitCode(9)
    default: .failure
    }
  }
}

extension ExitCode {
  package static let partlyDone = ExitCode(3)
  /// What was compared is not the same.
  package static let differs = ExitCode(4)
}
