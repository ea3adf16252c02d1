package import Foundation
internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore
internal import NIOSSL

/// How a client knows its server.
struct ClientTLS: Sendable {
  private let context: NIOSSLContext
  /// Who is asked.
  private let text: String
  private let asked: String
  /// The name that its certificate is to have; `nil` for an address.
  private let host: String?
  /// SHA-256 of the server's certificate, as hexadecimal digits.
  private let fingerprint: String?

  init(_ options: SocketRemote.Options, _ text: String, host: String) throws {
    (self.text, asked) = (text, host)
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    if let authority = options.authority, options.fingerprint == nil {
      configuration.trustRoots = .certificates(try Certificates.read(authority))
    }
    // The one certificate is meant, whatever name or authority it has.
    if options.fingerprint != nil { configuration.certificateVerification = .noHostnameVerification }
    if let certificate = options.certificate {
      guard let key = options.key else { throw MagicDataError(.notFound, "a certificate needs its key as well") }
      configuration.certificateChain = try Certificates.read(certificate).map { .certificate($0) }
      configuration.privateKey = .privateKey(try Certificates.key(key))
    }
    fingerprint = try options.fingerprint.map(ClientTLS.digits)
    do {
      context = try NIOSSLContext(configuration: configuration)
    } catch {
      throw MagicDataError(.failed, "TLS could not be set up", cause: error)
    }
    // An address is no name; the certificate is then compared with the address itself.
    self.host = (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil
  }

  /// Begins the pipeline.
  func add(to channel: any Channel) throws {
    try channel.pipeline.syncOperations.addHandler(handler())
    try channel.pipeline.syncOperations.addHandler(DistrustHandler(self))
  }

  private func handler() throws -> NIOSSLClientHandler {
    guard let fingerprint else { return try NIOSSLClientHandler(context: context, serverHostname: host) }
    return try NIOSSLClientHandler(context: context, serverHostname: host) { certificates, promise in
      let own = certificates.first.flatMap { try? Certificates.fingerprint($0) }
      promise.succeed(own == fingerprint ? .certificateVerified : .failed)
    }
  }

  /// 64 lower-case digits.
  static func digits(_ fingerprint: String) throws -> String {
    let text = fingerprint.lowercased()
    let digits = (text.hasPrefix("sha256:") ? text.dropFirst(7) : text[...]).filter { $0 != ":" }
    guard digits.utf8.count == 64, [UInt8](hexadecimal: String(digits)) != nil else {
      throw MagicDataError(
        .value, "a fingerprint is the SHA-256 of a certificate: 64 hexadecimal digits, with or without colons")
    }
    return String(digits)
  }

  /// What is said of the server's certificate; `nil` if that is not what is the matter.
  ///
  /// - Parameter shown: tells what it shows, if that is known.
  fileprivate func refusal(_ error: any Error, shown: () -> NIOSSLCertificate?) -> MagicDataError? {
    let reason = "\(error)"
    let isOfAnother = ClientTLS.isOfAnotherName(reason)
    guard isOfAnother || ClientTLS.isDistrust(reason) else { return nil }
    let own = shown().flatMap { try? Certificates.fingerprint($0) }
    let certificate = own.map { "certificate with the SHA-256 fingerprint \($0)" } ?? "certificate"
    let what =
      if fingerprint != nil {
        "another \(certificate) than it is known by; if its owner says that this is its own, give that fingerprint (--fingerprint)"
      } else if isOfAnother {
        "a \(certificate) for another name than \(asked); ask for it by a name that it is for, or give that fingerprint (--fingerprint)"
      } else {
        "a \(certificate) that is not trusted; name its authority (--ca), or, if its owner says that this is its own, that fingerprint (--fingerprint)"
      }
    return MagicDataError(.unauthorized, "\(text) shows \(what)", cause: Distrust(error))
  }

  private static func isOfAnotherName(_ reason: String) -> Bool { reason.lowercased().contains("hostname") }
  private static func isDistrust(_ reason: String) -> Bool { reason.contains("CERTIFICATE_VERIFY_FAILED") }

  static func refusal(_ text: String, _ error: any Error) -> MagicDataError {
    let reason = "\(error)"
    // What BoringSSL calls it; the rest is where in its source.
    let name = reason.split { !($0.isUppercase || $0 == "_") }.filter { $0.contains("_") }.max { $0.count < $1.count }
    if isDistrust(reason) || isOfAnotherName(reason) {
      return MagicDataError(.unauthorized, "\(text) shows a certificate that is not trusted", cause: Distrust(error))
    }
    if reason.contains("CERTIFICATE_REQUIRED") {
      return MagicDataError(.unauthorized, "\(text) wants a client's certificate", cause: Distrust(error))
    }
    if ["ALERT_UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "BAD_CERTIFICATE", "CERTIFICATE_EXPIRED", "CERTIFICATE_REVOKED"].contains(
      where: reason.contains)
    {
      return MagicDataError(.unauthorized, "\(text) does not trust this client's certificate", cause: Distrust(error))
    }
    if error as? NIOSSLError == .uncleanShutdown {
      return MagicDataError(.unreachable, "the connection to \(text) broke: it was closed without a word", cause: error)
    }
    return MagicDataError(
      .failed,
      "\(text) does not speak TLS as it should (\(name ?? reason.prefix(80))); is it a tcp: address, or another program's?",
      cause: error)
  }
}

/// Tells of a certificate that is not trusted what it is: nobody else has it when the connection is over.
private final class DistrustHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let tls: ClientTLS

  init(_ tls: ClientTLS) {
    self.tls = tls
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let refusal = tls.refusal(error) { try? context.pipeline.syncOperations.nioSSL_peerCertificate() }
    context.fireErrorCaught(refusal ?? error)
  }
}

/// Certificates were not trusted. Where a network asks for a login first, or a clock is not set yet, it is over once that is
/// done.
private struct Distrust: PassingCause {
  let error: any Error

  init(_ error: any Error) {
    self.error = error
  }
}

/// Certificates and keys in files.
package enum Certificates {
  /// The SHA-256 of the first one in a file, 64 hexadecimal digits: what a client may know a server by that shows it.
  package static func fingerprint(of file: URL) throws -> String {
    guard let own = try read(file).first else { throw MagicDataError(.damaged, "\(file.path) holds no certificate in PEM") }
    return try fingerprint(own)
  }

  static func read(_ file: URL) throws -> [NIOSSLCertificate] {
    do {
      let all = try NIOSSLCertificate.fromPEMFile(file.path)
      guard !all.isEmpty else { throw MagicDataError(.damaged, "\(file.path) holds no certificate in PEM") }
      return all
    } catch let error as MagicDataError {
      throw error
    } catch {
      guard access(file.path, R_OK) == 0 else { throw DurableFile.failure("could not be read", file) }
      throw MagicDataError(.notFound, "\(file.path) could not be read as certificates in PEM", cause: error)
    }
  }

  static func key(_ file: URL) throws -> NIOSSLPrivateKey {
    try SecretFile.check(file)
    do {
      return try NIOSSLPrivateKey(file: file.path, format: .pem)
    } catch {
      throw MagicDataError(.notFound, "\(file.path) could not be read as a private key in PEM", cause: error)
    }
  }

  static func fingerprint(_ certificate: NIOSSLCertificate) throws -> String {
    SHA256.hash(try certificate.toDERBytes()).hexadecimal
  }
}
