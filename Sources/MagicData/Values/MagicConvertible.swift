/// A plain value of the app's, a struct for one, that is kept as objects of a model: what is fetched as such values can cross
/// to any task.
///
/// ```swift
/// struct Cat: MagicConvertible {
///   let name: String
///   let weight: Double
///
///   init(_ model: CatModel) {
///     name = model.name
///     weight = model.weight
///   }
///
///   func makeModel() -> CatModel {
///     let model = CatModel()
///     model.name = name
///     model.weight = weight
///     return model
///   }
/// }
/// ```
///
/// ``MagicData/values(of:)`` stores and fetches them.
public protocol MagicConvertible: Sendable {
  /// The model as which it is stored.
  associatedtype Model: MagicObject

  /// Reads a fetched object. An error that it throws ends the fetch.
  init(_ model: Model) throws

  /// Makes an instance with all of the value. Assign every property after its `init()`, also those that are `nil`: one that is
  /// not assigned, or that a memberwise or delegating `init` gives its default, leaves what is stored as it is.
  func makeModel() throws -> Model
}
