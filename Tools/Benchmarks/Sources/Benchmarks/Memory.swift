import Foundation

/// The memory of processes, as Linux tells it; nil elsewhere.
enum Memory {
  /// In bytes.
  struct Use: Codable {
    let before: Int
    let peak: Int
  }

  static func resident() -> Int? { status("VmRSS:") }
  static func peak() -> Int? { status("VmHWM:") }
  /// Of a process that runs.
  static func peak(of process: Int32) -> Int? { status("VmHWM:", of: String(process)) }

  /// Lets the peak begin anew: proc(5), clear_refs.
  static func forgetPeak() {
    try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
  }

  private static func status(_ name: String, of process: String = "self") -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else { return nil }
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1_024 }
  }

  /// What the same program says of one side of one case.
  static func use(of label: String, side: String, arguments: [String]) throws -> Use? {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = arguments + ["--case", label, "--side", side]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let answer = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return try? JSONDecoder().decode(Use.self, from: answer)
  }
}
