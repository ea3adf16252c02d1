/// The streams of a body: one list of them, for the writer's bytes and for the reader's.
struct SegmentColumns<Stream: Sendable>: Sendable {
  struct OfType: Sendable {
    var objects: Stream
    var fields: [Stream]
  }

  var stamps: Stream
  var tags: Stream
  var roots: Stream
  var counts: Stream
  var shapes: Stream
  var bases: Stream
  var types: [OfType]
  /// Of a checkpoint (K-11).
  var isKept = false
}

extension SegmentColumns<ByteWriter> {
  init() {
    self.init(stamps: .init(), tags: .init(), roots: .init(), counts: .init(), shapes: .init(), bases: .init(), types: [])
  }

  /// In the order of Protocol/segment.md.
  func ordered(by schema: Schema) -> [ByteWriter] {
    [stamps, tags, roots, counts, shapes, bases] + types.flatMap { [$0.objects] + $0.fields }
  }
}

extension SegmentColumns<ByteWriter>.OfType {
  init() {
    self.init(objects: .init(), fields: [])
  }
}

extension SegmentColumns<ByteReader> {
  init(from reader: inout ByteReader, _ schema: Schema) throws(JournalError) {
    stamps = try reader.stream()
    tags = try reader.stream()
    roots = try reader.stream()
    counts = try reader.stream()
    shapes = try reader.stream()
    bases = try reader.stream()
    types = []
    for type in schema.types {
      let objects = try reader.stream()
      var fields: [ByteReader] = []
      for _ in type.fields { fields.append(try reader.stream()) }
      types.append(OfType(objects: objects, fields: fields))
    }
  }

  /// S-6.
  func expectEnd() throws(JournalError) {
    try stamps.expectEnd("the stamps")
    try tags.expectEnd("the tags")
    try roots.expectEnd("the roots")
    try counts.expectEnd("the counts")
    try shapes.expectEnd("the shapes")
    try bases.expectEnd("the bases")
    for type in types {
      try type.objects.expectEnd("a type's objects")
      for field in type.fields { try field.expectEnd("a field's values") }
    }
  }
}
