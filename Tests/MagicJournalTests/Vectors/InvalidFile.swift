import MagicJournal
import TestSupport
import Testing

/// A file that no reader takes.
struct InvalidFile: Codable {
  var name: String
  var file: String
  var why: String

  func expectRefused(_ read: ([UInt8]) throws -> Void) throws {
    let bytes = try parsed([UInt8](hexadecimal: file), name)
    #expect(throws: JournalError.self, "\(why)") { try read(bytes) }
  }
}
