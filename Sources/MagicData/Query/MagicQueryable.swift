public import Foundation

/// A value that a query can ask for by its property's name, as in `$0.title`. Of other types write `$0.$title`.
public protocol MagicQueryable: Magical {}

/// A value that is stored in an order: text by its UTF-8 bytes (not as Swift's `<`), numbers and dates by their value. JSON has
/// none: a ``MagicalCodable`` type that conforms compiles where an order is asked for, and the query throws ``MagicDataError``
/// with `query`.
public protocol MagicOrdered: MagicQueryable {}

extension String: MagicOrdered {}
extension Int: MagicOrdered {}
extension Double: MagicOrdered {}
extension Float: MagicOrdered {}
extension Date: MagicOrdered {}
extension Bool: MagicQueryable {}
extension UUID: MagicQueryable {}
extension URL: MagicQueryable {}
extension Data: MagicQueryable {}
