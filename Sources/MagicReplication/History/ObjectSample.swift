internal import MagicJournal

/// Which values are superseded, of all objects while they are few, and then of a part that is chosen by a hash of their names:
/// half as many each time there are too many. So memory is flat, and the answer the same whenever it is asked.
struct ObjectSample {
  private struct Object {
    var (updated, removed) = (ObjectSample.never, ObjectSample.never)
    var (values, bytes) = (0, 0)
  }

  /// What a slot or an element of an object holds: the winner, and what it takes.
  private struct Cell {
    var object: UInt64
    var version: Version
    var bytes: Int
  }

  /// What a type's entries have in common.
  struct Places {
    fileprivate let seed: UInt64
    fileprivate let slots: [UInt64]

    init(_ type: TypeSchema) {
      seed = ObjectSample.hash(type.name)
      // By name, which is the same in every segment's schema; fields of one name compete as one (M-2).
      slots = type.fields.map { ObjectSample.hash($0.name) }
    }
  }

  /// By the hash of their names.
  private var objects = HashTable(Object())
  /// By those and the hash of their places.
  private var cells = HashTable(Cell(object: 0, version: ObjectSample.never, bytes: 0))
  private var mask: UInt64 = 0

  private static let most = 20_000
  /// The prime of FNV-1a.
  private static let prime: UInt64 = 0x100_0000_01b3
  /// Before all that is written (C-4).
  private static let never = Version(stamp: .earliest, root: ReplicaID(0, 0))

  private static func hash(_ name: Name) -> UInt64 {
    name.text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* prime }
  }

  /// - Returns: what the entry's values take.
  mutating func add(_ entry: some EntryView, _ version: Version, _ type: Places) -> Int {
    let name = entry.hash(seed: type.seed)
    guard name & mask == 0 else { return (0..<entry.fieldCount).reduce(0) { $0 + entry.length(ofValueAt: $1) } }
    var bytes = 0
    let object = objects.index(of: name).index
    if entry.code.isRemove {
      objects[object].removed = max(objects[object].removed, version)
    } else if entry.code.isLife {
      objects[object].updated = max(objects[object].updated, version)
    }
    let version = entry.code == .purge ? entry.operation.version(ofValuesAt: version) : version
    for index in 0..<entry.fieldCount {
      let slot = type.slots[entry.field(at: index)]
      let length = entry.length(ofValueAt: index)
      bytes += length
      switch entry.relation(at: index) {
      case .set(let elements):
        for element in elements { add(slot ^ element.key.hash(seed: slot), object, name, version, element.key.encodedLength) }
      case .dictionary(let elements):
        for element in elements {
          let cell = element.name.reduce(slot) { ($0 ^ UInt64($1)) &* ObjectSample.prime }
          add(cell, object, name, version, element.name.count + (element.key?.encodedLength ?? 1))
        }
      default: add(slot, object, name, version, length)
      }
    }
    // Hashes that others have chosen may all end in zeros.
    if cells.count > ObjectSample.most, objects.count > 1, mask < 1 << 32 { halve() }
    return bytes
  }

  private mutating func add(_ cell: UInt64, _ object: Int, _ name: UInt64, _ version: Version, _ size: Int) {
    // Some of the bits choose.
    let (index, isNew) = cells.index(of: (name ^ cell &* 0x9e37_79b9_7f4a_7c15).mixed)
    guard !isNew else {
      cells[index] = Cell(object: name, version: version, bytes: size)
      return
    }
    objects[object].values += 1
    if cells[index].version < version {
      objects[object].bytes += cells[index].bytes
      (cells[index].version, cells[index].bytes) = (version, size)
    } else {
      objects[object].bytes += size
    }
  }

  private mutating func halve() {
    mask = mask << 1 | 1
    objects.keep { [mask] name, _ in name & mask == 0 }
    cells.keep { [mask] _, cell in cell.object & mask == 0 }
  }

  var compaction: MagicJournalStatistics.Compaction {
    var (values, bytes) = (0, 0)
    var gone: Set<UInt64> = []
    objects.forEachElement { name, object in
      values += object.values
      bytes += object.bytes
      if object.removed > ObjectSample.never, object.removed >= object.updated { gone.insert(name) }
    }
    if !gone.isEmpty {
      cells.forEachElement { _, cell in
        guard gone.contains(cell.object) else { return }
        values += 1
        bytes += cell.bytes
      }
    }
    let scale = Int(mask) + 1
    func scaled(_ count: Int) -> Int {
      let (product, overflow) = count.multipliedReportingOverflow(by: scale)
      return overflow ? .max : product
    }
    return .init(values: scaled(values), bytes: scaled(bytes), isEstimate: mask != 0)
  }
}

/// Values by hashes that are taken for what they are hashes of. Open addressing in one piece of memory: a dictionary would hash
/// the hash, and ask for more.
private struct HashTable<Element> {
  /// 0 for none.
  private var hashes: [UInt64]
  private var elements: [Element]
  private let empty: Element
  private(set) var count = 0

  init(_ empty: Element) {
    self.empty = empty
    hashes = Array(repeating: 0, count: 1_024)
    elements = Array(repeating: empty, count: 1_024)
  }

  /// The place of an element, which is an empty one if it was not there. Places are good until the next one is made.
  mutating func index(of hash: UInt64) -> (index: Int, isNew: Bool) {
    if count * 5 >= hashes.count * 4 { refill(hashes.count * 2) { _, _ in true } }
    let index = place(of: hash)
    guard hashes[index] == 0 else { return (index, false) }
    hashes[index] = max(hash, 1)
    count += 1
    return (index, true)
  }

  subscript(index: Int) -> Element {
    get { elements[index] }
    _modify { yield &elements[index] }
  }

  func forEachElement(_ body: (UInt64, Element) -> Void) {
    for (index, hash) in hashes.enumerated() where hash != 0 { body(hash, elements[index]) }
  }

  mutating func keep(_ isKept: (UInt64, Element) -> Bool) { refill(hashes.count, isKept) }

  private mutating func refill(_ size: Int, _ isKept: (UInt64, Element) -> Bool) {
    let before = self
    hashes = Array(repeating: 0, count: size)
    elements = Array(repeating: empty, count: size)
    count = 0
    before.forEachElement { hash, element in
      guard isKept(hash, element) else { return }
      let index = place(of: hash)
      (hashes[index], elements[index]) = (hash, element)
      count += 1
    }
  }

  private func place(of hash: UInt64) -> Int {
    let hash = max(hash, 1)
    // The lowest bits of a name are all the same once few are kept.
    var index = Int(truncatingIfNeeded: hash >> 20) & (hashes.count - 1)
    while hashes[index] != 0, hashes[index] != hash { index = (index + 1) & (hashes.count - 1) }
    return index
  }
}
