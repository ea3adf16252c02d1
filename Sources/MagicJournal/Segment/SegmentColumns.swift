/// The streams of a body: one list of them, for the writer's bytes and for the reader's.
struct SegmentColumns<Stream: Sendable>: Sendable {
  struct OfType: Sendable {
    /// The kind of the type's primary value.
    var primary: Value.Kind?
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
  /// Whether they are a checkpoint's (K-11).
  var isKept = false
}

extension SegmentColumns<ByteWriter> {
  init() {
    self.init(stamps: .init(), tags: .init(), roots: .init(), counts: .init(), shapes: .init(), bases: .init(), types: [])
  }

  /// In the order of Protocol/segment.md.
  var ordered: [ByteWriter] {
    [stamps, tags, roots, counts, shapes, bases] + types.flatMap { [$0.objects] + $0.fields }
  }
}

extension SegmentColumns<ByteWriter>.OfType {
  init() {
    self.init(objects: .init(), fields: [])
  }
}

extension SegmentColumns<ByteReader> {
  /// - Parameter isWhole: whether bytes that are missing are an error; else streams end where the bytes do.
  init(from reader: inout ByteReader, _ schema: Schema, isWhole: Bool) throws(JournalError) {
    func stream(_ reader: inout ByteReader) throws(JournalError) -> ByteReader {
      isWhole ? try reader.stream() : reader.streamPrefix()
    }
    stamps = try stream(&reader)
    tags = try stream(&reader)
    roots = try stream(&reader)
    counts = try stream(&reader)
    shapes = try stream(&reader)
    bases = try stream(&reader)
    types = []
    for type in schema.types {
      let objects = try stream(&reader)
      var fields: [ByteReader] = []
      for _ in type.fields { fields.append(try stream(&reader)) }
      types.append(OfType(primary: type.primary?.kind, objects: objects, fields: fields))
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
