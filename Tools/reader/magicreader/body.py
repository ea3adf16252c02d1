"""The inflated body of a segment: its streams and the transactions in them (segment.md, Body)."""
from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Set, Tuple, Union

from .clock import checked_stamp
from .cursor import Cursor, FormatError
from .journal import (BIRTH_SIZE, CLAIM_END, CLAIMS, ELEMENT_SIZE, ENTRY_LIMIT, ENTRY_SIZE, FIELD_SIZE, FIRSTS,
                      SEGMENT_LIMIT, TRANSACTION_LIMIT, WITH_BASE, Birth, Entry, ObjectName, Operation, Transaction)
from .schema import Field, Type, read_index, read_roots, read_schema, read_shapes
from .values import BIRTH_FORM, RELATIONS, WITH_ELEMENTS, Kind, Value, read_value


class Streams:
    """The columns, each a cursor; all lie behind one another in the body."""

    def __init__(self, cursor: Cursor, schema: Tuple[Type, ...]) -> None:
        self.stamps = cursor.part()
        self.tags = cursor.part()
        self.roots = cursor.part()
        self.counts = cursor.part()
        self.shapes = cursor.part()
        self.bases = cursor.part()
        self.objects: List[Cursor] = []
        self.values: List[List[Cursor]] = []
        for type in schema:
            self.objects.append(cursor.part())
            self.values.append([cursor.part() for _ in type.fields])

    def finish(self) -> None:  # S-6
        for name in ("stamps", "tags", "roots", "counts", "shapes", "bases"):
            getattr(self, name).finish(name)
        for objects, values in zip(self.objects, self.values):
            objects.finish("objects")
            for column in values:
                column.finish("values")


class BodyReader:
    """Reads entries off the streams, in their order (S-4)."""

    def __init__(self, cursor: Cursor, is_kept: bool = False) -> None:
        self.is_kept = is_kept  # of a checkpoint (K-11)
        self.schema = read_schema(cursor)
        self.roots = read_roots(cursor)
        self.shapes = read_shapes(cursor, self.schema)
        self.streams = Streams(cursor, self.schema)
        self.entries_left = ENTRY_LIMIT
        self.size_left = SEGMENT_LIMIT
        cursor.finish("the body")  # S-6

    def transactions(self, replica: bytes, first: int, last: int) -> Tuple[Transaction, ...]:
        result = []
        stamp = 0
        for sequence in range(first, last + 1):
            offset = self.streams.stamps.offset
            step = self.streams.stamps.varint()
            if step < 1:  # C-4 for the first one
                raise FormatError("stamps do not rise", offset)
            stamp = checked_stamp(stamp + step, offset)
            tag = self.streams.tags.take(4)
            root = self.roots[read_index(self.streams.roots, len(self.roots), "root")]
            entries = self.read_entries(stamp, tag)
            result.append(Transaction(replica, sequence, stamp, tag, root, entries))
        self.streams.finish()
        return tuple(result)

    def kept(self) -> Tuple[Transaction, ...]:
        """Of several replicas, and as many as there are stamps (K-11)."""
        result = []
        stamp = 0
        while self.streams.stamps.remaining:
            offset = self.streams.stamps.offset
            stamp = checked_stamp(stamp + self.streams.stamps.varint(), offset)
            if stamp < 1:
                raise FormatError("a stamp of 0", offset)
            tag = self.streams.tags.take(4)
            root = self.roots[read_index(self.streams.roots, len(self.roots), "root")]
            result.append(Transaction(root, 0, stamp, tag, root, self.read_entries(stamp, tag)))
        self.streams.finish()
        return tuple(result)

    def read_entries(self, stamp: int, tag: bytes) -> Tuple[Entry, ...]:
        offset = self.streams.counts.offset
        count = self.streams.counts.varint()
        if count < 1:
            raise FormatError("transaction has no entries", offset)
        if count > min(self.entries_left, self.streams.shapes.remaining):  # S-8
            raise FormatError(f"{count} entries are more than there can be", offset)
        self.entries_left -= count
        entries: List[Entry] = []
        objects: Set[ObjectName] = set()
        size = 0
        for ordinal in range(count):
            entry_offset = self.streams.shapes.offset
            entry, entry_size = self.read_entry(stamp, tag, ordinal)
            if entry.object in objects:
                raise FormatError("transaction speaks twice of an object", entry_offset)  # S-7
            size += entry_size
            self.size_left -= entry_size
            if size > TRANSACTION_LIMIT or self.size_left < 0:  # J-20, S-8
                raise FormatError("transaction is over the limit", entry_offset)
            objects.add(entry.object)
            entries.append(entry)
        return tuple(entries)

    def read_entry(self, stamp: int, tag: bytes, ordinal: int) -> Tuple[Entry, int]:
        """An entry, and what it adds to its transaction's size (J-20)."""
        shape = self.shapes[read_index(self.streams.shapes, len(self.shapes), "shape")]
        type = self.schema[shape.type]
        base = None
        if shape.operation in WITH_BASE:
            base = read_earlier(self.streams.bases, stamp, "base")  # J-9
        objects = self.streams.objects[shape.type]
        size = ENTRY_SIZE + BIRTH_SIZE
        identity: Union[Value, Birth]
        if self.is_kept and shape.operation in FIRSTS:
            ordinal = read_ordinal(objects)
        number = read_number(objects) if shape.operation in CLAIMS else None
        if shape.operation in FIRSTS:
            identity = Birth(stamp, tag, ordinal)
        elif type.primary_kind == Kind.INTEGER and objects.next_is(BIRTH_FORM):  # S-10
            objects.byte()
            identity = read_birth(objects, stamp, None)
        elif type.primary_kind == Kind.NULL:
            own = Birth(stamp, tag, ordinal) if shape.operation == Operation.REMOVE else None
            identity = read_birth(objects, stamp, own, self.is_kept)
        else:
            start = objects.offset
            identity = read_primary(objects, type.primary_kind)
            size = ENTRY_SIZE + objects.offset - start
        fields: Dict[str, Value] = {}
        for index in shape.fields:
            column = self.streams.values[shape.type][index]
            start = column.offset
            value = read_field_value(column, type.fields[index])
            fields[type.fields[index].name] = value
            size += FIELD_SIZE + column.offset - start + ELEMENT_SIZE * value.element_count()
        name = ObjectName(type.name, type.primary_kind, identity)
        return Entry(name, shape.operation, fields, base, number), size


def read_body(
    body: bytes, replica: bytes, first: int, last: int
) -> Tuple[Tuple[Type, ...], Tuple[Transaction, ...]]:
    reader = BodyReader(Cursor(body))
    return reader.schema, reader.transactions(replica, first, last)


def read_kept(body: bytes) -> Tuple[Tuple[Type, ...], Tuple[Transaction, ...]]:
    """A checkpoint's part."""
    reader = BodyReader(Cursor(body), is_kept=True)
    return reader.schema, reader.kept()


def read_field_value(cursor: Cursor, field: Field) -> Value:
    start = cursor.offset
    value = read_value(cursor)
    if value.kind == Kind.NULL:
        if field.kind in WITH_ELEMENTS:
            raise FormatError("null where elements are kept", start)  # S-7
        return value
    if value.kind != field.kind:
        raise FormatError("value is of another kind than its field's", start)  # S-7
    if field.kind not in RELATIONS or field.target is None:
        return value
    if not value.fits(field.target):
        raise FormatError("identity is of another kind than its target's", start)  # S-7
    return replace(value, target=field.target)


def read_primary(cursor: Cursor, kind: Kind) -> Value:
    offset = cursor.offset
    value = read_value(cursor)
    if value.kind != kind:
        raise FormatError("primary value is of another kind than its type's", offset)  # S-5
    return value


def read_ordinal(cursor: Cursor) -> int:
    offset = cursor.offset
    ordinal = cursor.varint()
    if ordinal >= ENTRY_LIMIT:  # S-8
        raise FormatError(f"ordinal {ordinal} is over the limit", offset)
    return ordinal


def read_birth(cursor: Cursor, stamp: int, own: Optional[Birth], is_kept: bool = False) -> Birth:
    """`own` is the birth at the entry's place, which only a remove may name (J-11); of a checkpoint, any of its transaction (K-11)."""
    start = cursor.offset
    birth_stamp = read_earlier(cursor, stamp, "birth", 1 if own is None else 0)
    if birth_stamp < 1:
        raise FormatError("birth before all stamps", start)  # C-4
    tag = cursor.take(4)
    birth = Birth(birth_stamp, tag, read_ordinal(cursor))
    is_own = birth == own or (is_kept and own is not None and tag == own.tag)
    if birth_stamp == stamp and not is_own:
        raise FormatError("birth at another place of its transaction", start)
    return birth


def read_number(cursor: Cursor) -> int:
    """What is claimed (S-10)."""
    offset = cursor.offset
    number = cursor.varint()
    if not 1 <= number < CLAIM_END:
        raise FormatError(f"{number} cannot be claimed", offset)
    return number


def read_earlier(cursor: Cursor, stamp: int, what: str, least: int = 1) -> int:
    offset = cursor.offset
    step = cursor.varint()
    if not least <= step <= stamp:
        raise FormatError(f"{what} is not earlier than its entry, or before all time", offset)
    return stamp - step
