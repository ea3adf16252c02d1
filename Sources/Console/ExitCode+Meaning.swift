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

extension MagicDataError {
  /// With what the output has ended the command, where that came through whoever was printing.
  var exitCodeBelow: ExitCode? { (cause as? ExitCode) ?? (cause as? MagicDataError)?.exitCodeBelow }
}

extension ExitCode {
  package static let partlyDone = ExitCode(3)
  /// What was compared is not the same.
  package static let differs = ExitCode(4)
}
