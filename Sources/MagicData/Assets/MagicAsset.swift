internal import Foundation
public import MagicJournal

/// A value that is kept in a file of its own, for what is large: a photo, a document, a long list.
///
/// ```swift
/// @OptionMagicValue var photo: MagicAsset<Data>?
/// ```
///
/// The database holds the asset's name, which is the SHA-256 of its content and the extension; the file lies under that name in
/// the database's folder `files`, so that the folder can be moved. A file is never changed: a property that is given another
/// asset gets another file, and equal assets share one. It is on the disk before the object is stored that names it, and goes
/// away once no object names it any more. The limit on the size of values does not apply.
///
/// An asset that the app made holds its value; one that was fetched reads it from the file whenever it is asked, and holds
/// nothing. Its value stays as it was given: for another, assign another asset, or to ``value``.
///
/// Other replicas receive the name with the object, and the content with it or by a later pull: until its file is there,
/// ``value`` is nil and ``load()`` says why.
public struct MagicAsset<Element: MagicAssetConvert>: Magical {
  private var given: Element?
  /// Whether `given` was read from the file, which may hold more than can be made of it again.
  private var isLoaded = false
  let place: AssetPlace

  /// An asset without a value yet. It is stored as null, so that an optional property is fetched as nil.
  public init() {
    place = AssetPlace()
  }

  /// An asset with a value.
  ///
  /// - Parameter pathExtension: for the file's name, for programs that open it: 1 to 32 ASCII letters and digits, without the
  ///   dot; an empty one is none. With any other an update throws ``MagicDataError`` with `value`.
  public init(value: Element, pathExtension: String? = nil) {
    self.init(given: value, pathExtension: pathExtension)
  }

  private init(given: Element?, pathExtension: String?) {
    self.given = given
    place = AssetPlace(pathExtension: pathExtension)
  }

  /// The value; nil if there is none, and also if its file is missing or damaged: ``load()`` tells these apart.
  ///
  /// Each reading of a fetched asset reads the file and checks it; keep what is needed more than once. To assign makes another
  /// asset with the same extension, which one that was set to nil keeps until it is fetched: what is stored as null has none.
  /// To a property that was never set, assign a `MagicAsset(value:)`.
  ///
  /// - Complexity: O(*n*) in the size of the content.
  public var value: Element? {
    get {
      do { return try load() } catch { return nil }
    }
    set {
      self = MagicAsset(given: newValue, pathExtension: place.pathExtension)
    }
  }

  /// The value, or why there is none.
  ///
  /// - Throws: ``MagicDataError`` with `unsetValue` (it has no value yet), `notFound` (the file is not here: the object was
  ///   changed or removed since it was fetched, or the content has not arrived from another replica), `damaged` (the file does
  ///   not hold what its name says), `value` (the content is not of this type) or `notAllowed`.
  /// - Complexity: O(*n*) in the size of the content.
  public func load() throws -> Element {
    if let given { return given }
    return try MagicAsset.element(place.content())
  }

  private static func element(_ content: Data) throws -> Element {
    do {
      return try Element(assetContent: content)
    } catch let error as MagicDataError {
      throw error
    } catch {
      throw MagicDataError(.value, "the content of an asset is no \(Element.self): \(error)", cause: error)
    }
  }

  /// The absolute path of the file, which is to be read and never written; nil while there is no file.
  public var path: String? { place.file?.path }

  public static var magicKind: Value.Kind { .asset }

  public var magicValue: Value {
    get throws {
      if let name = place.name { return .asset(name) }
      return try givenContent().map { .asset(try place.named(after: $0)) } ?? .null
    }
  }

  public init(magicValue: Value) throws {
    switch magicValue {
    case .null: place = AssetPlace()
    case .asset(let name) where AssetName.isValid(name): place = AssetPlace(name: name)
    default: throw magicValue.unreadable(as: MagicAsset.self)
    }
  }
}

extension MagicAsset: Sendable where Element: Sendable {}

/// An asset of whatever type, as a save needs it.
protocol AnyAsset {
  var place: AssetPlace { get }
  /// Whether it has its value with it.
  var isGiven: Bool { get }
  /// The content, if it was made by the app, or is in no file any more.
  func givenContent() throws -> Data?
  /// The asset with its value in memory.
  nonisolated(nonsending) func loaded<Asset>(as type: Asset.Type) async throws -> Asset?
}

extension AnyAsset {
  /// Whether it has a value and no name yet.
  var isUnnamed: Bool { isGiven && place.name == nil }
}

extension MagicAsset: AnyAsset {
  var isGiven: Bool { given != nil }
  func givenContent() throws -> Data? { isLoaded && place.file != nil ? nil : try given?.assetContent }

  nonisolated(nonsending) func loaded<Asset>(as type: Asset.Type) async throws -> Asset? {
    guard given == nil else { return self as? Asset }
    var asset = self
    asset.given = try MagicAsset.element(await place.loadedContent())
    asset.isLoaded = true
    return asset as? Asset
  }
}

// Objects are stored by themselves, in assets no less than in values.
extension MagicAsset: CodedCollection {
  static var parts: [Any.Type] { [Element.self] }
}
