/// One replica's files, with what it takes to find the next one without looking at all.
struct ReplicaSegments: Sendable {
  /// Rising by first sequence.
  private(set) var files: [FolderListing.File] = []
  /// For each file the one among it and those before it that reaches farthest.
  private var farthest: [Int] = []

  init(_ files: [FolderListing.File]) {
    for file in files.sorted(by: { ($0.name.first, $0.name.last) < ($1.name.first, $1.name.last) }) { append(file) }
  }

  /// In the place of one of the same name. Mostly it is the next one.
  mutating func add(_ file: FolderListing.File) {
    if files.last.map({ $0.name.first < file.name.first }) ?? true { return append(file) }
    self = ReplicaSegments(files.filter { $0.name != file.name } + [file])
  }

  /// Takes one away. Of many that are damaged each goes by itself, so the others are not put in order anew.
  mutating func remove(_ name: SegmentFileName) {
    guard let index = files(from: name.first).firstIndex(where: { $0.name == name }) else { return }
    files.remove(at: index)
    farthest.removeSubrange(index...)
    while farthest.count < files.count { extend() }
  }

  private mutating func append(_ file: FolderListing.File) {
    files.append(file)
    extend()
  }

  /// By the next file.
  private mutating func extend() {
    let index = farthest.count
    let before = farthest.last ?? index
    farthest.append(files[before].name.last >= files[index].name.last ? before : index)
  }

  /// As few files as hold all that these hold, in their order.
  var chain: [FolderListing.File] {
    var chain: [FolderListing.File] = []
    var last: UInt64 = 0
    while let file = next(after: last)
      ?? files.first(where: { $0.name.first > last + 1 }).flatMap({ next(after: $0.name.first - 1) })
    {
      chain.append(file)
      last = file.name.last
    }
    return chain
  }

  func next(after sequence: UInt64) -> FolderListing.File? {
    let end = files.boundary { $0.name.first > sequence + 1 }
    guard end > 0 else { return nil }
    let file = files[farthest[end - 1]]
    return file.name.last > sequence ? file : nil
  }

  /// Those that begin at a sequence.
  func files(from first: UInt64) -> ArraySlice<FolderListing.File> {
    files[files.boundary { $0.name.first >= first }..<files.boundary { $0.name.first > first }]
  }
}
