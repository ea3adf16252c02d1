internal import MagicJournal

/// An object and all objects below it, each once, on their owner's side.
struct ObjectGraph {
  struct Node {
    let instance: Instance
    let mark: UInt8
    let held: [Int: Held]
  }

  private(set) var nodes: [Node] = []
  private(set) var save = GraphSave()
  private var numbers: [InstanceIdentity: Int] = [:]
  private let database: Store
  private let fresh = FreshInstances()

  /// Deep graphs are walked without recursion.
  ///
  /// - Parameters:
  ///   - types: where the types of all its objects are.
  ///   - database: where it is saved.
  init(_ roots: [Instance], _ types: [ObjectIdentifier: MappedType], in database: Store) throws {
    self.database = database
    for root in roots { save.roots.append(try add(root, types)) }
  }

  private mutating func add(_ root: Instance, _ types: [ObjectIdentifier: MappedType]) throws -> Int {
    if let number = numbers[root.identity] { return number }
    // Objects whose values were taken and whose parts were not, with the parts that are left.
    var open: [(number: Int, rest: ArraySlice<Instance>)] = []
    open.append(try visit(root, types))
    let number = open[0].number
    while let last = open.indices.last {
      guard let next = open[last].rest.popFirst() else {
        save.order.append(open.removeLast().number)
        continue
      }
      if numbers[next.identity].map({ save.isVisited[$0] }) != true { open.append(try visit(next, types)) }
    }
    return number
  }

  private mutating func visit(
    _ instance: Instance, _ types: [ObjectIdentifier: MappedType]
  ) throws -> (number: Int, rest: ArraySlice<Instance>) {
    let own = number(instance)
    guard let type = types[ObjectIdentifier(instance.layout.type)] else {
      throw MagicDataError(.failed, "the type \(instance.layout.name) found no place in the database")
    }
    var parts: [Instance] = []
    let (object, mark) = try instance.save(in: database, fresh) { part in
      parts.append(part)
      return number(part)
    }
    nodes[own] = Node(instance: instance, mark: mark, held: instance.heldRelations())
    save.objects[own] = object
    save.types[own] = type
    save.isVisited[own] = true
    return (own, parts[...])
  }

  private mutating func number(_ instance: Instance) -> Int {
    if let number = numbers[instance.identity] { return number }
    let number = nodes.count
    numbers[instance.identity] = number
    nodes.append(Node(instance: instance, mark: 0, held: [:]))
    save.objects.append(ObjectSave(ObjectSave.Content()))
    save.types.append(nil)
    save.isVisited.append(false)
    return number
  }
}

/// A graph on its way to the database.
struct GraphSave: Sendable {
  var objects: [ObjectSave] = []
  var types: [MappedType?] = []
  var isVisited: [Bool] = []
  /// Parts before what holds them, but where they hold each other.
  var order: [Int] = []
  /// What the app saves by itself.
  var roots: [Int] = []
}
