package import MagicData

/// What a database and a transaction have in common.
package protocol Editor {
  @discardableResult nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int
  nonisolated(nonsending) func update<Object: MagicObject>(
    contentsOf objects: some Sequence<Object>, progress: ((_ saved: Int) -> Void)?) async throws
  nonisolated(nonsending) func remove<Object: MagicObject>(_ object: Object) async throws
  nonisolated(nonsending) func removeAll<Object: MagicObject>(of: Object.Type) async throws
  nonisolated(nonsending) func object<Object: MagicObject>(of: Object.Type) async throws -> [Object]
}

extension MagicData: Editor {}
extension MagicTransaction: Editor {}
