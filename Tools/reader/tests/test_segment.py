from __future__ import annotations

import struct
import unittest
import zlib
from typing import Tuple
from unittest import mock

from magicreader.checkpoint import read_checkpoint
from magicreader.clock import HIGHEST_STAMP
from magicreader.cursor import FormatError, UnsupportedFormat, varint_bytes
from magicreader.encoder import (encode_body, encode_file, encode_schema, encode_segment,
                                 encode_shapes, needed_schema)
from magicreader.journal import Birth, Entry, ObjectName, Operation, Transaction
from magicreader.schema import Field, Shape, Type
from magicreader.segment import HEADER_SIZE, LAYOUT, read_segment
from magicreader.values import Kind, Value

from .fixtures import DATA_SET, History, segment_file

WRITER = bytes(16)


def with_header(data: bytes, offset: int, content: bytes) -> bytes:
    """The file with other bytes in its header, and the header's CRC put right."""
    header = bytearray(data[:LAYOUT.size])
    header[offset:offset + len(content)] = content
    return bytes(header) + struct.pack(">I", zlib.crc32(header)) + data[HEADER_SIZE:]


def one_transaction(*entries: Entry, stamp: int = 100) -> Tuple[Transaction]:
    return (Transaction(bytes(16), 1, stamp, b"tag!", bytes(16), entries),)


def note(identity: object, operation: Operation = Operation.UPDATE, **fields: Value) -> Entry:
    kind = Kind.NULL if isinstance(identity, Birth) else identity.kind  # type: ignore
    return Entry(ObjectName("Note", kind, identity), operation, fields)  # type: ignore


FIVE = Value(Kind.INTEGER, 5)
TITLE = Value(Kind.TEXT, "title")


class SegmentTests(unittest.TestCase):
    def refuse(self, data: bytes, why: str, offset: int = -1) -> None:
        with self.assertRaisesRegex(FormatError, why) as caught:
            read_segment(data)
        if offset >= 0:
            self.assertEqual(caught.exception.offset, offset)

    def refuse_transactions(self, transactions: Tuple[Transaction, ...], why: str) -> None:
        self.refuse(encode_segment(transactions, DATA_SET, WRITER), why)

    def refuse_schema(self, schema: Tuple[Type, ...], why: str) -> None:
        self.refuse(encode_segment(one_transaction(note(FIVE)), DATA_SET, WRITER, schema=schema), why)

    def test_header(self) -> None:
        history = History(1)
        history.write(20)
        transactions = history.written[history.replicas[0]]
        _, data = segment_file(transactions, 2, 3)
        body_size = len(data) - HEADER_SIZE
        read_segment(data)
        self.refuse(b"", "not a segment")
        self.refuse(data[:123], "cut short")
        self.refuse(b"m" + data[1:], "not a segment", 0)
        self.refuse(data[:119] + bytes([data[119] ^ 1]) + data[120:], "header's CRC", 120)
        self.refuse(with_header(data, 10, b"\0\1"), "reserved", 10)
        self.refuse(with_header(data, 60, struct.pack(">QQ", 0, 1)), "impossible", 60)
        self.refuse(with_header(data, 60, struct.pack(">QQ", 3, 2)), "impossible", 60)
        self.refuse(with_header(data, 60, struct.pack(">QQ", 1 << 62, 1 << 62)), "impossible")
        self.refuse(with_header(data, 68, struct.pack(">Q", 2 + (1 << 20))), "transactions", 68)
        self.refuse(with_header(data, 60, struct.pack(">QQ", 1, 2)), "before the first", 76)
        self.refuse(with_header(data, 76, b"\xff" * 12), "stamp", 76)
        self.refuse(with_header(data, 76, data[88:100]), "not earlier", 76)
        read_segment(with_header(data, 76, bytes(12)))  # S-1: a stamp of 0 is not looked at there
        self.refuse(with_header(data, 99, bytes([data[99] ^ 1])), "another than the header", 88)
        self.refuse(with_header(data, 100, struct.pack(">Q", (1 << 27) + 1)), "limit", 100)
        self.refuse(with_header(data, 108, struct.pack(">Q", (1 << 27) + 1)), "in the file", 108)
        self.refuse(with_header(data, 100, struct.pack(">Q", body_size * 1032 + 1)), "zlib can")
        self.refuse(data + b"\0", "length", len(data) + 1)
        self.refuse(data[:-1], "length")
        self.refuse(data[:-1] + bytes([data[-1] ^ 1]), "body's CRC", 116)
        inflated = struct.unpack(">Q", data[100:108])[0]
        for wrong in (inflated - 1, inflated + 1, 0):
            self.refuse(with_header(data, 100, struct.pack(">Q", wrong)), "body's length", 100)

    def test_another_format_is_told_before_all_else(self) -> None:
        _, data = segment_file(one_transaction(note(FIVE)), 1, 1)
        other = with_header(data, 8, b"\0\2")
        for file in (other, other[:10], with_header(data, 8, b"\0\0")):
            with self.assertRaisesRegex(UnsupportedFormat, "not supported at offset 8"):
                read_segment(file)
        self.refuse(other[:9], "cut short", 9)
        self.refuse(b"m" + other[1:], "not a segment", 0)

    def test_reserved_bytes_in_use_are_another_format(self) -> None:  # S-2
        _, data = segment_file(one_transaction(note(FIVE)), 1, 1)
        with self.assertRaisesRegex(UnsupportedFormat, "reserved"):
            read_segment(with_header(data, 10, b"\1\0"))
        floor = bytes(16) + struct.pack(">QQ", 1, 1) + b"tag!"
        for reserved in (b"\0\0", b"\0\1"):
            head = b"MAGICCHK\0\1" + reserved + bytes(48) + struct.pack(">I", 1) + floor
            end = b"MAGICEND" + bytes(12)
            file = b"".join(each + struct.pack(">I", zlib.crc32(each)) for each in (head, end))
            if reserved == b"\0\0":
                self.assertEqual(read_checkpoint(file).parts, ())
                continue
            with self.assertRaisesRegex(UnsupportedFormat, "reserved") as caught:
                read_checkpoint(file)
            self.assertEqual(caught.exception.offset, 10)
            # What was changed alone shows by the CRC.
            with self.assertRaisesRegex(FormatError, "CRC") as caught:
                read_checkpoint(file[:10] + b"\2\0" + file[12:])
            self.assertNotIsInstance(caught.exception, UnsupportedFormat)

    def test_a_format_that_was_changed_is_damage(self) -> None:
        _, data = segment_file(one_transaction(note(FIVE)), 1, 1)
        self.refuse(data[:8] + b"\0\2" + data[10:], "format was changed", 8)
        self.refuse(data[:8] + b"\3\1" + data[10:], "format was changed", 8)

    def test_zlib_stream(self) -> None:
        _, data = segment_file(one_transaction(note(FIVE)), 1, 1)
        stored = data[HEADER_SIZE:]
        wrong_sum = stored[:-1] + bytes([stored[-1] ^ 1])
        for body, why in [(stored + b"\0", "follow"), (stored[:-1], "cut short"),
                          (wrong_sum, "not inflate"), (b"\xff" + stored[1:], "not inflate")]:
            changed = with_header(data, 108, struct.pack(">QI", len(body), zlib.crc32(body)))
            self.refuse(changed[:HEADER_SIZE] + body, why)

    def test_transactions(self) -> None:
        birth = Birth(99, b"born", 0)
        read_segment(encode_segment(one_transaction(note(birth)), DATA_SET, WRITER))
        self.refuse_transactions(one_transaction(note(Birth(100, b"born", 0))), "birth")
        self.refuse_transactions(one_transaction(note(Birth(99, b"born", 1 << 22))), "ordinal")
        self.refuse_transactions(one_transaction(note(Birth(0, b"born", 0))), "before all stamps")
        self.refuse_transactions(one_transaction(), "no entries")
        self.refuse_transactions(one_transaction(note(FIVE), note(FIVE)), "twice of an object")
        self.refuse_transactions(one_transaction(note(FIVE), stamp=HIGHEST_STAMP + 1), "stamp")
        self.refuse_transactions(one_transaction(note(FIVE, Operation.BIRTH)), "primary")
        remove = note(FIVE, Operation.REMOVE)
        same_stamps = one_transaction(remove) + one_transaction(remove)
        data = encode_segment(same_stamps, DATA_SET, WRITER)
        self.refuse(with_header(data, 68, struct.pack(">Q", 2)), "do not rise")

    def test_size_of_a_transaction(self) -> None:
        born, title = Birth(99, b"born", 0), {"title": TITLE}  # the title takes 7 bytes, 5 takes 2
        made = Entry(ObjectName("Note", Kind.NULL, Birth(100, b"tag!", 3)), Operation.BIRTH, title)
        entries = note(FIVE, Operation.REMOVE), note(FIVE), note(born), made
        for chosen, size in ((entries[:1], 18), (entries[1:2], 18), (entries[2:3], 32),
                             ((note(FIVE, **title),), 29), (entries[1:], 18 + 32 + 43)):
            data = encode_segment(one_transaction(*chosen), DATA_SET, WRITER)
            with mock.patch("magicreader.body.TRANSACTION_LIMIT", size):
                read_segment(data)
            with mock.patch("magicreader.body.TRANSACTION_LIMIT", size - 1):
                self.refuse(data, "over the limit")

    def test_roots_and_shapes_may_stand_twice_or_be_unused(self) -> None:
        transactions = one_transaction(note(FIVE))
        schema = needed_schema(transactions)
        start = encode_schema(schema)
        streams = encode_body(transactions, schema)[len(start) + 17 + 4:]  # one root, one shape
        body = start + b"\2" + bytes(32) + encode_shapes([Shape(0, Operation.UPDATE, ())] * 3) + streams
        segment = read_segment(encode_file(body, transactions, DATA_SET, WRITER))
        self.assertEqual(segment.transactions, transactions)

    def test_schema(self) -> None:
        note_type = Type("Note", Kind.INTEGER, "id", ())
        read_segment(encode_segment(one_transaction(note(FIVE)), DATA_SET, WRITER,
                                    schema=(note_type, Type("Note", Kind.NULL, "", ()))))
        self.refuse_schema((note_type, note_type), "type stands twice")
        self.refuse_schema((note_type, Type("", Kind.NULL, "", ())), "empty")
        self.refuse_schema((note_type, Type("x" * 256, Kind.NULL, "", ())), "too long")
        for control in "\0\n\x1f\x7f\x80\x9f":
            self.refuse_schema((note_type, Type("a" + control, Kind.NULL, "", ())), "control")
        self.refuse_schema((note_type, Type("A", Kind.REAL, "id", ())), "kind")
        self.refuse_schema((note_type, Type("A", Kind.NULL, "", (Field("f", Kind.NULL),))), "kind")
        twice = (Field("f", Kind.TEXT), Field("f", Kind.REAL))
        read_segment(encode_segment(one_transaction(note(FIVE)), DATA_SET, WRITER,
                                    schema=(note_type, Type("A", Kind.TEXT, "f", twice))))
        twice = twice[:1] * 2
        self.refuse_schema((note_type, Type("A", Kind.NULL, "", twice)), "field stands twice")
        many = tuple(Field(f"f{index}", Kind.TEXT) for index in range(1001))
        self.refuse_schema((note_type, Type("A", Kind.NULL, "", many)), "1001 fields")
        full = tuple(Type(f"T{index}", Kind.NULL, "", many[:1000]) for index in range(8))
        self.refuse_schema((note_type,) + full + (Type("A", Kind.NULL, "", many[:193]),), "193 fields")
        types = tuple(Type(f"T{index}", Kind.NULL, "", ()) for index in range(4096))
        self.refuse_schema((note_type,) + types, "4097 types")

    def test_values_have_their_fields_kind(self) -> None:
        transactions = one_transaction(note(FIVE, title=TITLE))
        body = encode_body(transactions, needed_schema(transactions))
        changed = body.replace(b"\x05title\x03", b"\x05title\x02")
        self.refuse(encode_file(changed, transactions, DATA_SET, WRITER), "another kind")
        null = one_transaction(note(FIVE, title=Value(Kind.NULL, None)))
        data = encode_segment(null, DATA_SET, WRITER)
        self.assertEqual(read_segment(data).transactions, null)

    def test_relations(self) -> None:
        tag, own = ("Tag", Kind.NULL), ("Note", Kind.INTEGER)
        born = Birth(7, b"born", 1)
        values = {"parent": Value(Kind.REFERENCE, FIVE, own), "tags": Value(Kind.LIST, (born, born), tag),
                  "links": Value(Kind.SET, ((FIVE, True),), own),
                  "names": Value(Kind.DICTIONARY, ((b"1", None), (b"2", born)), tag)}
        transactions = one_transaction(note(FIVE, **values))
        data = encode_segment(transactions, DATA_SET, WRITER)
        segment = read_segment(data)
        self.assertEqual(segment.transactions, transactions)
        self.assertEqual([(type.name, len(type.fields)) for type in segment.schema], [("Note", 4), ("Tag", 0)])
        size = 18 + 4 * 4 + 3 + 36 + 5 + 24 + 16 * 6  # J-20
        with mock.patch("magicreader.body.TRANSACTION_LIMIT", size):
            read_segment(data)
        with mock.patch("magicreader.body.TRANSACTION_LIMIT", size - 1):
            self.refuse(data, "over the limit")

    def test_identities_are_named_as_the_target_is(self) -> None:
        tag, text = ("Tag", Kind.NULL), ("Text", Kind.TEXT)
        for target, identity in ((tag, FIVE), (tag, TITLE), (text, FIVE), (text, Birth(7, b"born", 1))):
            for kind, content in ((Kind.REFERENCE, identity), (Kind.LIST, (identity,)),
                                  (Kind.SET, ((identity, False),)), (Kind.DICTIONARY, ((b"1", identity),))):
                self.refuse_transactions(one_transaction(note(FIVE, f=Value(kind, content, target))), "target")

    def test_sets_and_dictionaries_are_not_null(self) -> None:
        null = one_transaction(note(FIVE, f=Value(Kind.NULL, None)))
        body = encode_body(null, needed_schema(null))
        for kind in (Kind.REFERENCE, Kind.LIST, Kind.SET, Kind.DICTIONARY):
            changed = body.replace(b"\x01f\x03", b"\x01f" + bytes([kind, 0]))
            file = encode_file(changed, null, DATA_SET, WRITER)
            if kind in (Kind.REFERENCE, Kind.LIST):
                self.assertEqual(read_segment(file).transactions, null)
            else:
                self.refuse(file, "elements are kept")
        self.refuse(encode_file(body.replace(b"\x01f\x03", b"\x01f\x08\x01"), null, DATA_SET, WRITER), "no type 1")

    def test_a_shape_has_a_field_name_once(self) -> None:
        schema = (Type("N", Kind.NULL, "", (Field("f", Kind.TEXT), Field("f", Kind.REAL))),)
        for places, why in (((0, 1), "one name"), ((1, 0), "rise"), ((2,), "no field 2")):
            shape = Shape(0, Operation.BIRTH, places)
            start = encode_schema(schema) + b"\0" + encode_shapes([shape])
            self.refuse(encode_file(start, one_transaction(), DATA_SET, WRITER), why)

    def test_limits_of_shapes(self) -> None:  # S-8
        fields = tuple(Field(f"f{index}", Kind.TEXT) for index in range(3))
        shapes = [Shape(0, Operation.BIRTH, (0, 1, 2)), Shape(0, Operation.REMOVE, ()), Shape(0, Operation.BIRTH, (0, 2))]
        body = encode_schema((Type("N", Kind.NULL, "", fields),)) + b"\0" + encode_shapes(shapes)
        file = encode_file(body, one_transaction(), DATA_SET, WRITER)
        shapes_at = len(body) - len(encode_shapes(shapes))
        for name, limit, why, offset in (("ENTRY_LIMIT", 3, "bytes? (are|is) needed", len(body)),
                                         ("ENTRY_LIMIT", 2, "3 shapes are more", shapes_at),
                                         ("SEGMENT_LIMIT", 5, "bytes? (are|is) needed", len(body)),
                                         ("SEGMENT_LIMIT", 4, "more fields than", -1)):
            with self.subTest((name, limit)), mock.patch(f"magicreader.schema.{name}", limit):
                self.refuse(file, why, offset)

    def test_more_entries_than_bytes(self) -> None:
        transactions = one_transaction(*[note(FIVE)] * 9)
        body = encode_body(transactions, needed_schema(transactions))
        counts = b"\x01\x09\x09" + bytes(9)  # nine entries, then the nine shapes
        for count in (b"\x0a", b"\x81\x80\x80\x02", b"\xff" * 9 + b"\x01"):
            changed = body.replace(counts, varint_bytes(len(count)) + count + counts[2:])
            self.assertNotEqual(changed, body)
            self.refuse(encode_file(changed, transactions, DATA_SET, WRITER), "entries are more")

    def test_nothing_may_be_left_in_the_body(self) -> None:
        transactions = one_transaction(note(FIVE, title=TITLE))
        body = encode_body(transactions, needed_schema(transactions))
        self.refuse(encode_file(body + b"\0", transactions, DATA_SET, WRITER), "left over", len(body))
        # The last stream is the title's: 7 bytes, and its length before it.
        longer = body[:-8] + b"\x08" + body[-7:] + b"\0"
        self.refuse(encode_file(longer, transactions, DATA_SET, WRITER), "left over in values")
