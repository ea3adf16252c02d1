import Foundation
import TestSupport

/// A certificate for 127.0.0.1 that is its own authority. Most need no other than the one that is made once.
struct TestCertificate: Sendable {
  let file: URL
  let key: URL
  private let folder: TemporaryFolder

  struct Failure: Error { let text: String }

  static let shared = Result { try TestCertificate() }

  init() throws {
    folder = try TemporaryFolder()
    (file, key) = (folder["cert.pem"], folder["key.pem"])
    let made = try Tool.openssl.run(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=server",
      "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key.path, "-out", file.path)
    guard made.status == 0 else { throw Failure(text: made.errors) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
  }
}
