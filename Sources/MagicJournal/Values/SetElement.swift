/// One object that was put into a set of objects, or taken out of it (V-14).
public struct SetElement: Hashable, Sendable {
  package let key: ObjectKey
  package let isIn: Bool

  package init(key: ObjectKey, isIn: Bool = true) {
    self.key = key
    self.isIn = isIn
  }
}

/// One place of a dictionary of objects, and what was put there (V-15).
public struct DictionaryElement: Hashable, Sendable {
  /// The place's key as canonical JSON (V-8 to V-10).
  package let name: [UInt8]
  /// `nil` if the place was emptied.
  package let key: ObjectKey?

  package init(name: [UInt8], key: ObjectKey?) {
    self.name = name
    self.key = key
  }
}

extension SetElement {
  var identity: [UInt8] { key.encoded }
  var encodedLength: Int { key.encodedLength + 1 }

  func encode(to writer: inout ByteWriter) {
    key.encode(to: &writer)
    writer.byte(isIn ? 1 : 0)
  }

  init(from reader: inout ByteReader) throws(JournalError) {
    key = try ObjectKey(from: &reader)
    let start = reader
    switch try reader.byte() {
    case 0: isIn = false
    case 1: isIn = true
    default: throw start.damaged("an element that is neither in nor out")
    }
  }
}

extension DictionaryElement {
  var encodedLength: Int { ByteWriter.length(ofVarint: UInt64(name.count)) + name.count + (key?.encodedLength ?? 1) }

  func encode(to writer: inout ByteWriter) {
    writer.block(name)
    if let key { key.encode(to: &writer) } else { writer.byte(0) }
  }

  init(from reader: inout ByteReader) throws(JournalError) {
    name = Array(try reader.block(atMost: Limits.valueBytes))
    var ahead = reader
    if try ahead.byte() == 0 {
      reader = ahead
      key = nil
    } else {
      key = try ObjectKey(from: &reader)
    }
  }
}
