internal import MagicReplication
internal import NIOCore

/// Every bound of the wire, in one place (Protocol/wire.md).
enum WireLimits {
  /// Bytes of a client's first frame (W-1): nobody is known yet who could send more.
  static let helloBytes = 4_096
  /// Bytes of any other frame's body: as many replicas as there will be in one data set.
  static let frameBytes = 1 << 20
  /// Bytes of what a client says of members, which fit into a frame.
  static let saidBytes = frameBytes - 64
  /// Bytes of a piece that is received.
  static let maxPieceBytes = 1 << 18
  /// Bytes of one that is sent: enough to keep a disk and a link busy, little to hold for each of many sessions, and little to
  /// send again after a break.
  static let pieceBytes = 1 << 16
  /// Bytes that wait to be sent before who sends waits, and down to which it does: with fewer, a link would wait for a thread
  /// after each piece.
  static let waiting = ChannelOptions.Types.WriteBufferWaterMark(low: 1 << 17, high: 1 << 18)
  /// Bytes of a token.
  static let tokenBytes = 512
  /// Capabilities, and what else is listed in words.
  static let texts = 1_024
  static let textBytes = 1_024
  /// Bytes of one that are read, and of an error's words that are shown.
  static let readTextBytes = 4 * textBytes
  /// Bytes that a client sends to a peer before it has them settled: what a break costs, and more than the question does.
  static let unsettledBytes = 1 << 23
  /// The most of them, where settling takes longer than sending.
  static let mostUnsettledBytes = 1 << 26
  /// Contents that are asked about at a time.
  static let contents = 10_000
  /// In which a first frame has to come (W-2).
  static let handshake = Duration.seconds(10)
  /// In which something has to be heard, or taken (W-12).
  static let silence = Duration.seconds(60)
  /// In which a client has to get room for a frame (W-12): who sends over a slow link waits for it for more than one silence.
  static let room = silence * 3
  /// After which the server says that it is there.
  static let ping = Duration.seconds(15)
  /// In which what was asked before a server stops has to be over.
  static let grace = Duration.seconds(30)
  /// For which who has a content waits for another who is bringing the same.
  static let sameContent = Duration.seconds(600)
  /// For which a server goes on taking what is on its way after an error (W-13), and how many frames of it.
  static let linger = Duration.seconds(2)
  static let lingerFrames = 256
  /// Replicas of which a server takes something.
  static let replicas = Standing.mostReplicas
  /// Replica ids that a token gets (W-4): twice as many as a server takes, since several may share a file of tokens, and an id
  /// that is left stays the token's.
  static let idsOfToken = 2 * replicas
  /// Connections that have not said who they are, or were refused.
  static let strangers = 512
  /// Sessions in all, and from one address.
  static let sessions = 1_024
  static let sessionsOfAddress = 256
  /// In which a connection has to come about.
  static let connect = TimeAmount.seconds(10)
}
