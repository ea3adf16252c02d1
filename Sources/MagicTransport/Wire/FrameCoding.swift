package import NIOCore

/// Cuts bytes into frames. Nothing is held for a frame before its length and kind are known to be allowed (W-1).
package struct FrameDecoder: ByteToMessageDecoder {
  package typealias InboundOut = Frame

  /// Bytes before a body: its length and kind.
  static let head = 5
  /// A server knows nobody before the first frame.
  private var limit: Int

  package init(isServer: Bool) {
    limit = isServer ? WireLimits.helloBytes : WireLimits.frameBytes
  }

  package mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return .needMoreData }
    let isFirst = limit == WireLimits.helloBytes
    guard length <= limit else {
      throw WireError(
        .protocolViolation,
        isFirst
          ? "this is not the protocol of magic-sync; does the other side speak TLS or HTTP?"
          : "a frame of \(length) bytes is above the limit of \(limit)")
    }
    guard let code = buffer.getInteger(at: buffer.readerIndex + 4, as: UInt8.self) else { return .needMoreData }
    guard let kind = Frame.Kind(rawValue: code), !isFirst || kind == .hello, kind != .data || length <= WireLimits.maxPieceBytes
    else { throw WireError(.protocolViolation, "there is no frame of kind \(code) here") }
    guard buffer.readableBytes >= FrameDecoder.head + Int(length) else { return .needMoreData }
    buffer.moveReaderIndex(forwardBy: FrameDecoder.head)
    guard let body = buffer.readSlice(length: Int(length)) else { return .needMoreData }
    limit = WireLimits.frameBytes
    context.fireChannelRead(wrapInboundOut(Frame(kind, body)))
    return .continue
  }

  package mutating func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) throws
    -> DecodingState
  {
    // What is left of a frame that was cut is nothing.
    try decode(context: context, buffer: &buffer)
  }
}

/// Makes bytes of frames. What is long goes out as it lies.
final class FrameEncoder: ChannelOutboundHandler {
  typealias OutboundIn = Frame
  typealias OutboundOut = ByteBuffer

  private static let short = 1 << 12

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let frame = unwrapOutboundIn(data)
    let length = frame.body.readableBytes
    let isShort = length <= FrameEncoder.short
    var bytes = context.channel.allocator.buffer(capacity: FrameDecoder.head + (isShort ? length : 0))
    bytes.writeInteger(UInt32(length))
    bytes.writeInteger(frame.kind.rawValue)
    if isShort {
      bytes.writeImmutableBuffer(frame.body)
      context.write(wrapOutboundOut(bytes), promise: promise)
    } else {
      context.write(wrapOutboundOut(bytes), promise: nil)
      context.write(wrapOutboundOut(frame.body), promise: promise)
    }
  }
}

extension Channel {
  /// Ends the pipeline with frames.
  func frames(isServer: Bool) throws -> NIOAsyncChannel<Frame, Frame> {
    try pipeline.syncOperations.addHandler(ByteToMessageHandler(FrameDecoder(isServer: isServer)))
    try pipeline.syncOperations.addHandler(FrameEncoder())
    return try NIOAsyncChannel(
      wrappingChannelSynchronously: self,
      // One waits, whatever its size, and the next is read once that is taken.
      configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 1)))
  }
}
