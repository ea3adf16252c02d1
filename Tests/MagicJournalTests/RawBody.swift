import MagicJournal

/// The body of a segment with one transaction at stamp 9, part by part: as it should be, unless a part is changed.
struct RawBody {
  /// Type `T` with the primary value `id` (text) and the field `a` (integer).
  var types: [[UInt8]] = [string("T") + [3] + string("id") + [1] + string("a") + [1]]
  /// An update of `a`.
  var shapes: [[UInt8]] = [[0, 1, 1, 0]]
  var stamps: [UInt8] = [9]
  var tags: [UInt8] = [0, 0, 0, 0]
  var roots: [UInt8] = [0]
  var counts: [UInt8] = [1]
  var entries: [UInt8] = [0]
  var bases: [UInt8] = []
  /// Objects, then values of each field, of each type.
  var columns: [[UInt8]] = [[3, 1, 0x78], [1, 2]]

  static func string(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.varint(types.count)
    for type in types { writer.append(type) }
    writer.varint(1)
    Identifier(1, 1).encode(to: &writer)
    writer.varint(shapes.count)
    for shape in shapes { writer.append(shape) }
    for stream in [stamps, tags, roots, counts, entries, bases] + columns { writer.block(stream) }
    return writer.bytes
  }

  var header: SegmentHeader {
    SegmentHeader(
      dataSet: Identifier(1, 1), writer: Identifier(1, 1), replica: Identifier(1, 1), first: 1, last: 1, previous: .none,
      lastName: TransactionName(stamp: Stamp(UInt64(stamps[0])), tag: 0), bodyLength: 0, storedLength: 0, storedChecksum: 0)
  }

  func with(_ change: (inout RawBody) -> Void) -> RawBody {
    var body = self
    change(&body)
    return body
  }

  /// Bodies with one fault each, and what it is.
  static var forgeries: [(String, RawBody, String)] {
    let good = RawBody()
    let keyless = good.with {
      $0.types = [string("T") + [0, 1] + string("a") + [1]]
      $0.columns = [[1, 0, 0, 0, 0, 0], [1, 2]]
    }
    let counted = good.with {
      $0.types = [string("T") + [1] + string("id") + [1] + string("a") + [1]]
      ($0.shapes, $0.columns[0]) = ([[0, 4, 1, 0]], [5])
    }
    return [
      (
        "type twice",
        good.with {
          $0.types += $0.types
          $0.columns += [[], []]
        }, "a type stands twice"
      ),
      (
        "field twice",
        good.with {
          $0.types = [string("T") + [3] + string("id") + [2] + string("a") + [1] + string("a") + [1]]
          $0.columns += [[]]
        },
        "a field stands twice"
      ),
      (
        "field kind", good.with { $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [4]] }, "kind 4 is no kind"
      ),
      (
        "primary kind", good.with { $0.types = [string("T") + [2] + string("id") + [1] + string("a") + [1]] },
        "a real names no object"
      ),
      ("empty name", good.with { $0.types = [[0, 3] + string("id") + [1] + string("a") + [1]] }, "a name has a byte at least"),
      (
        "control character", good.with { $0.types = [string("\u{7}") + [3] + string("id") + [1] + string("a") + [1]] },
        "a name with BEL"
      ),
      ("no such type", good.with { $0.shapes = [[1, 1, 1, 0]] }, "a shape of a type that is not there"),
      ("no such operation", good.with { $0.shapes = [[0, 7, 1, 0]] }, "operation 7"),
      ("claim of a text", good.with { ($0.shapes, $0.columns[0]) = ([[0, 4, 1, 0]], [1]) }, "no text is claimed"),
      ("withdrawal of a text", good.with { ($0.shapes, $0.columns) = ([[0, 5]], [[1], []]) }, "no text is withdrawn"),
      ("birth named by text", good.with { $0.columns[0] = [7, 1, 0, 0, 0, 0, 0] }, "a birth of a type named by text"),
      ("birth with a number", counted.with { $0.shapes = [[0, 3, 1, 0]] }, "a birth of a type that counts"),
      ("claim of 0", counted.with { $0.columns[0] = [0] }, "0 is not claimed"),
      (
        "claim of a hash", counted.with { $0.columns[0] = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20] },
        "2^61 is not claimed"
      ),
      ("claim without a number", counted.with { $0.columns[0] = [] }, "a claim claims something"),
      ("withdrawal with fields", counted.with { $0.shapes = [[0, 5, 1, 0]] }, "a withdrawal has no fields"),
      (
        "a counted object's own remove",
        counted.with { ($0.shapes, $0.columns) = ([[0, 0]], [[7, 0, 0, 0, 0, 0, 0], []]) },
        "what was made and removed is withdrawn"
      ),
      (
        "update of a counted birth of its own time",
        counted.with { ($0.shapes, $0.columns[0]) = ([[0, 1, 1, 0]], [7, 0, 0, 0, 0, 0, 0]) },
        "an object born with its own update"
      ),
      (
        "text in place of a number", counted.with { ($0.shapes, $0.columns[0]) = ([[0, 1, 1, 0]], [3, 1, 0x78]) },
        "a text names no object of a type named by numbers"
      ),
      ("birth with a primary", good.with { $0.shapes = [[0, 3, 1, 0]] }, "a birth of a type with a primary value"),
      ("no such field", good.with { $0.shapes = [[0, 1, 1, 1]] }, "a shape of a field that is not there"),
      ("fields fall", good.with { $0.shapes = [[0, 1, 2, 0, 0]] }, "a shape's fields do not rise"),
      (
        "two fields of one name",
        good.with {
          $0.types = [string("T") + [3] + string("id") + [2] + string("a") + [1] + string("a") + [3]]
          $0.shapes = [[0, 1, 2, 0, 1]]
          $0.columns += [[3, 0]]
        }, "a shape has two fields of one name"
      ),
      ("stamp 0", good.with { $0.stamps = [0] }, "stamps begin at 1"),
      ("no entries", good.with { $0.counts = [0] }, "a transaction without entries"),
      ("entries", good.with { $0.counts = [2] }, "an entry is missing"),
      ("no such root", good.with { $0.roots = [1] }, "a root that is not there"),
      ("no such shape", good.with { $0.entries = [1] }, "a shape that is not there"),
      ("tag", good.with { $0.tags = [0, 0, 0] }, "a tag that ends too early"),
      ("value kind", good.with { $0.columns[1] = [3, 0] }, "a text in a field of integers"),
      ("identity kind", good.with { $0.columns[0] = [1, 0] }, "an integer for an object of a type named by text"),
      ("value left over", good.with { $0.columns[1] += [0] }, "a value that no entry has"),
      (
        "object twice",
        good.with {
          ($0.counts, $0.entries) = ([2], [0, 0])
          $0.columns = [[3, 1, 0x78, 3, 1, 0x78], [1, 2, 1, 4]]
        }, "an object has two entries in one transaction"
      ),
      (
        "base not earlier", good.with { ($0.shapes, $0.bases) = ([[0, 2, 1, 0]], [0]) }, "a base at the transaction's own stamp"
      ),
      (
        "purge of what it says itself", good.with { ($0.shapes, $0.bases) = ([[0, 6, 1, 0]], [0]) },
        "a purge's base is earlier"
      ),
      ("purge without a base", good.with { $0.shapes = [[0, 6, 1, 0]] }, "a purge has a base"),
      (
        "purge of its own birth",
        keyless.with { ($0.shapes, $0.bases, $0.columns) = ([[0, 6, 0]], [1], [[0, 0, 0, 0, 0, 0], []]) },
        "an object purged by its own birth's transaction"
      ),
      ("base before time", good.with { ($0.shapes, $0.bases) = ([[0, 2, 1, 0]], [10]) }, "a base below 0"),
      ("birth not earlier", keyless.with { $0.columns[0] = [0, 0, 0, 0, 0, 0] }, "an object born with its own update"),
      (
        "no such target",
        good.with { $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [8, 1]] }, "a target that is not there"
      ),
      (
        "no target", good.with { $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [8]] },
        "a relation without a target"
      ),
      (
        "target of an integer",
        good.with { $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [1, 0]] }, "an integer has no target"
      ),
      ("field kind 7", good.with { $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [7]] }, "7 is no kind"),
      (
        "field kind 13", good.with { $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [13]] },
        "13 is reserved"
      ),
      (
        "relation twice",
        good.with {
          $0.types = [string("T") + [3] + string("id") + [2] + string("a") + [8, 0] + string("a") + [8, 0]]
          $0.columns = [[3, 1, 0x78], [8, 3, 1, 0x78], []]
        }, "a field stands twice"
      ),
      (
        "target's kind",
        good.with {
          $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [8, 0]]
          $0.columns[1] = [8, 1, 2]
        }, "an integer names no object of a type named by text"
      ),
      (
        "target without a primary",
        good.with {
          $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [9, 1], string("E") + [0, 0]]
          $0.columns = [[3, 1, 0x78], [9, 1, 3, 1, 0x78], []]
        }, "a text names no object of a type without a primary value"
      ),
      (
        "null set",
        good.with {
          $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [10, 0]]
          $0.columns[1] = [0]
        }, "a set is never null"
      ),
      (
        "null dictionary",
        good.with {
          $0.types = [string("T") + [3] + string("id") + [1] + string("a") + [11, 0]]
          $0.columns[1] = [0]
        }, "a dictionary is never null"
      ),
      ("born at 0", keyless.with { $0.columns[0] = [9, 0, 0, 0, 0, 0] }, "an object born at stamp 0"),
      (
        "birth at another place", keyless.with { ($0.shapes, $0.columns) = ([[0, 0]], [[0, 0, 0, 0, 0, 1], []]) },
        "a remove of what another entry of its transaction would have made"
      ),
      ("birth before time", keyless.with { $0.columns[0] = [10, 0, 0, 0, 0, 0] }, "an object born below 0"),
      (
        "ordinal", keyless.with { $0.columns[0] = [1, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x02] },
        "an ordinal that no transaction has"
      ),
    ]
  }
}
