internal import Foundation
internal import Logging
internal import MagicData
internal import NIOSSL

/// What a `tls:` address shows its clients: a certificate lasts some weeks, and its files are replaced while the server runs.
final class ServerTLS: Sendable {
  private struct Known {
    var context: NIOSSLContext
    /// Those that were read, or could not be; without those that are not there.
    var files: [URL: OpenFile.State]
  }

  private let options: MagicServer.Options
  private let known: Locked<Known>

  init(_ options: MagicServer.Options) throws {
    self.options = options
    let files = ServerTLS.files(options)
    known = Locked(Known(context: try ServerTLS.made(options), files: files))
  }

  /// For the next client. As long as the files cannot be read, or do not go together, the one before.
  func context() -> NIOSSLContext {
    known.withLock { known in
      let files = ServerTLS.files(options)
      guard files != known.files else { return known.context }
      known.files = files
      do {
        known.context = try ServerTLS.made(options)
        options.logger.notice("the certificate was read anew")
      } catch {
        options.logger.error("the certificate that was read before is shown on: \(error)")
      }
      return known.context
    }
  }

  /// A link has the state of the file that it leads to.
  private static func files(_ options: MagicServer.Options) -> [URL: OpenFile.State] {
    [options.certificate, options.key, options.clientAuthority].reduce(into: [:]) { files, file in
      if let file { files[file] = (try? OpenFile(file))?.state }
    }
  }

  private static func made(_ options: MagicServer.Options) throws -> NIOSSLContext {
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
