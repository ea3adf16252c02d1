import MagicJournal
import TestSupport
import Testing

/// A file that no reader takes.
struct InvalidFile: Codable {
  var name: String
  var file: String
  var why: String
  /// Which error it is, where that matters: `damaged` or `incompatible` (S-2).
  var outcome: String?

  func expectRefused(_ read: ([UInt8]) throws -> Void) throws {
    let bytes = try parsed([UInt8](hexadecimal: file), name)
    let error = #expect(throws: JournalError.self, "\(why)") { try read(bytes) }
    guard let outcome, let error else { return }
    let code: JournalError.Code = outcome == "incompatible" ? .unsupported : .damaged
    #expect(error.code == code, "\(name)")
  }
}
