internal import MagicData
internal import MagicJournal
package import NIOCore

/// One frame of the wire.
package struct Frame: Sendable {
  package enum Kind: UInt8, Sendable {
    case hello = 0x01
    case make = 0x02
    case held = 0x03
    case pull = 0x04
    case segment = 0x05
    case data = 0x06
    case settle = 0x07
    case which = 0x08
    case fetch = 0x09
    case store = 0x0a
    case watch = 0x0b
    case members = 0x0c
    case pong = 0x0d
    case digest = 0x0e
    case checkpoint = 0x0f
    case welcome = 0x81
    case made = 0x82
    case standing = 0x83
    case pulled = 0x84
    case settled = 0x87
    case have = 0x88
    case content = 0x89
    case from = 0x8a
    case stored = 0x8b
    case changed = 0x8c
    case said = 0x8f
    case ping = 0x8d
    case digested = 0x8e
    case error = 0xff
  }

  package let kind: Kind
  package let body: ByteBuffer

  package init(_ kind: Kind, _ body: ByteBuffer = ByteBuffer()) {
    self.kind = kind
    self.body = body
  }

  init(_ kind: Kind, _ write: (inout ByteWriter) -> Void) {
    var writer = ByteWriter()
    write(&writer)
    self.init(kind, ByteBuffer(bytes: writer.bytes))
  }

  /// How many bytes it takes on its way.
  var wireLength: Int { FrameDecoder.head + body.readableBytes }

  /// Whether the other side takes it (W-1).
  var fits: Bool { body.readableBytes <= WireLimits.frameBytes }

  /// Reads the body, all of it.
  func read<Result>(_ body: (inout ByteReader) throws(JournalError) -> Result) throws(WireError) -> Result {
    var reader = ByteReader(Array(self.body.readableBytesView))
    do {
      let result = try body(&reader)
      try reader.expectEnd("a frame")
      return result
    } catch {
      throw WireError(.protocolViolation, "a frame of kind \(kind) is not as it should be: \(error)")
    }
  }

  /// Reads the body and lets go of it: what it asks for may take long.
  mutating func take<Result>(_ read: (Frame) throws -> Result) rethrows -> Result {
    defer { self = Frame(kind) }
    return try read(self)
  }

  func expectEmpty() throws(WireError) {
    try read { reader throws(JournalError) in _ = reader }
  }
}
