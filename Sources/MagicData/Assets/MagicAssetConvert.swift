public import Foundation
internal import MagicJournal

/// A value that can be the content of a ``MagicAsset``: `String`, `Data`, a ``MagicalCodable``, and arrays, sets and
/// dictionaries of Codable elements.
public protocol MagicAssetConvert: SendableMetatype {
  /// The content of the file. Equal values give equal bytes, so that they share a file.
  var assetContent: Data { get throws }

  /// Reads the content of a file; throws if it is not one of this type.
  init(assetContent: Data) throws
}

/// The text in UTF-8.
extension String: MagicAssetConvert {
  public var assetContent: Data { Data(utf8) }

  public init(assetContent: Data) throws {
    self.init(decoding: assetContent, as: UTF8.self)
    // What is no UTF-8 was replaced.
    guard utf8.elementsEqual(assetContent) else {
      throw MagicDataError(.value, "an asset cannot be read as String: its content is not UTF-8")
    }
  }
}

/// The bytes as they are.
extension Data: MagicAssetConvert {
  public var assetContent: Data { self }
  public init(assetContent: Data) { self = assetContent }
}

/// Canonical JSON (Protocol/values.md, V-8 to V-10).
extension MagicAssetConvert where Self: Codable {
  public var assetContent: Data { get throws { Data(try CanonicalJSON.bytes(of: self)) } }

  public init(assetContent: Data) throws {
    do {
      self = try CanonicalJSON.read(Self.self, from: .coded([UInt8](assetContent)))
    } catch let error as MagicDataError {
      throw MagicDataError(.value, "an asset cannot be read as \(Self.self)", cause: error.cause)
    }
  }
}

extension Array: MagicAssetConvert where Element: Codable {}
extension Set: MagicAssetConvert where Element: Codable {}
extension Dictionary: MagicAssetConvert where Key: Codable, Value: Codable {}
