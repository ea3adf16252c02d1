internal import Foundation
internal import Logging
internal import MagicData
internal import NIOSSL

/// What a `tls:` address shows its clients: a certificate lasts some weeks, and its files are replaced while the server runs.
enum ServerTLS {
  static func renewed(_ options: MagicServer.Options) throws -> Reloading<NIOSSLContext> {
    try Reloading(
      of: [options.certificate, options.key, options.clientAuthority].compactMap { $0 }, options.logger,
      ("the certificate was read anew", "the certificate that was read before is shown on")
    ) { try context(options) }
  }

  private static func context(_ options: MagicServer.Options) throws -> NIOSSLContext {
    guard let certificate = options.certificate, let key = options.key else {
      throw MagicDataError(.notFound, "a tls:// address needs a certificate and its key (--cert, --key)")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try Certificates.read(certificate).map { .certificate($0) },
      privateKey: .privateKey(try Certificates.key(key)))
    configuration.minimumTLSVersion = .tlsv12
    if let authority = options.clientAuthority {
      configuration.trustRoots = .certificates(try Certificates.read(authority))
      configuration.certificateVerification = .noHostnameVerification
    }
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw MagicDataError(.failed, "the certificate and its key do not fit", cause: error)
    }
  }
}
