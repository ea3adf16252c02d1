"""Writes segments, to check reading by it and to make fixtures (segment.md)."""
from __future__ import annotations

import zlib
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from .cursor import string_bytes, varint_bytes
from .journal import FIRSTS, REMOVES, Birth, Name, Transaction
from .schema import Field, Shape, Type
from .segment import FORMAT, LAYOUT, MAGIC
from .values import BIRTH_FORM, WITH_ELEMENTS, Kind, Target

Schema = Tuple[Type, ...]
NO_NAME = Name(0, bytes(4))


def encode_segment(
    transactions: Sequence[Transaction],
    data_set: bytes,
    writer: bytes,
    previous: Name = NO_NAME,
    schema: Optional[Schema] = None,
) -> bytes:
    body = encode_body(transactions, needed_schema(transactions) if schema is None else schema)
    return encode_file(body, transactions, data_set, writer, previous)


def encode_file(
    body: bytes,
    transactions: Sequence[Transaction],
    data_set: bytes,
    writer: bytes,
    previous: Name = NO_NAME,
) -> bytes:
    stored = zlib.compress(body)
    first, last = transactions[0], transactions[-1]
    header = LAYOUT.pack(
        MAGIC, FORMAT, 0, data_set, writer, first.replica, first.sequence, last.sequence,
        previous.encoding(), last.name.encoding(), len(body), len(stored), zlib.crc32(stored))
    return header + zlib.crc32(header).to_bytes(4, "big") + stored


def needed_schema(transactions: Sequence[Transaction]) -> Schema:
    types: Dict[Target, Dict[Field, None]] = {}
    for transaction in transactions:
        for entry in transaction.entries:
            fields = types.setdefault((entry.object.type, entry.object.primary_kind), {})
            for name, value in entry.fields.items():
                fields[Field(name, value.kind, value.target)] = None
                if value.target is not None:
                    types.setdefault(value.target, {})
    return tuple(
        Type(name, kind, "" if kind == Kind.NULL else "id", known_fields(fields))
        for (name, kind), fields in types.items())


def known_fields(fields: Iterable[Field]) -> Tuple[Field, ...]:
    """A null tells no kind: it goes with any field of its name, and text will do for want of one."""
    usable = {field.name for field in fields if field.kind not in (Kind.NULL, *WITH_ELEMENTS)}
    return tuple(Field(field.name, field.kind or Kind.TEXT, field.target) for field in fields
                 if field.kind != Kind.NULL or field.name not in usable)


def field_places(type: Type) -> Dict[Field, int]:
    places: Dict[Field, int] = {}
    for place, field in enumerate(type.fields):
        places[field] = place
        if field.kind not in WITH_ELEMENTS:
            places.setdefault(Field(field.name, Kind.NULL), place)
    return places


class Columns:
    """The streams while they are filled."""

    def __init__(self, schema: Schema) -> None:
        self.common = {name: bytearray() for name in
                       ("stamps", "tags", "roots", "counts", "shapes", "bases")}
        self.objects = [bytearray() for _ in schema]
        self.values = [[bytearray() for _ in type.fields] for type in schema]

    def encoding(self) -> bytes:
        streams: List[bytearray] = list(self.common.values())
        for objects, values in zip(self.objects, self.values):
            streams += [objects, *values]
        # Not sized(): the limit of V-7 is for values.
        return b"".join(varint_bytes(len(stream)) + bytes(stream) for stream in streams)


def encode_body(transactions: Sequence[Transaction], schema: Schema) -> bytes:
    types = {(type.name, type.primary_kind): index for index, type in enumerate(schema)}
    places = [field_places(type) for type in schema]
    roots: Dict[bytes, int] = {}
    shapes: Dict[Shape, int] = {}
    columns = Columns(schema)
    common = columns.common
    last_stamp = 0
    for transaction in transactions:
        common["stamps"] += varint_bytes(transaction.stamp - last_stamp)
        last_stamp = transaction.stamp
        common["tags"] += transaction.tag
        common["roots"] += varint_bytes(roots.setdefault(transaction.root, len(roots)))
        common["counts"] += varint_bytes(len(transaction.entries))
        for entry in transaction.entries:
            type = types[entry.object.type, entry.object.primary_kind]
            fields = sorted(
                ((places[type][Field(name, value.kind, value.target)], value) for name, value in entry.fields.items()),
                key=lambda place_and_value: place_and_value[0])
            shape = Shape(type, entry.operation, tuple(place for place, _ in fields))
            common["shapes"] += varint_bytes(shapes.setdefault(shape, len(shapes)))
            if entry.base is not None:
                common["bases"] += varint_bytes(transaction.stamp - entry.base)
            identity = entry.object.identity
            if not isinstance(identity, Birth):
                columns.objects[type] += identity.encoding()
            elif entry.operation in FIRSTS:
                columns.objects[type] += b"" if entry.number is None else varint_bytes(entry.number)
            else:
                if entry.object.primary_kind != Kind.NULL:
                    columns.objects[type].append(BIRTH_FORM)
                columns.objects[type] += varint_bytes(transaction.stamp - identity.stamp)
                columns.objects[type] += identity.tag + varint_bytes(identity.ordinal)
            for place, value in fields:
                columns.values[type][place] += value.encoding()
    return (encode_schema(schema) + varint_bytes(len(roots)) + b"".join(roots)
            + encode_shapes(list(shapes)) + columns.encoding())


def encode_schema(schema: Schema) -> bytes:
    places = {(type.name, type.primary_kind): index for index, type in enumerate(schema)}
    result = varint_bytes(len(schema))
    for type in schema:
        result += string_bytes(type.name) + bytes([type.primary_kind])
        if type.primary_kind != Kind.NULL:
            result += string_bytes(type.primary_name)
        result += varint_bytes(len(type.fields))
        for field in type.fields:
            result += string_bytes(field.name) + bytes([field.kind])
            if field.target is not None:
                result += varint_bytes(places[field.target])
    return result


def encode_shapes(shapes: List[Shape]) -> bytes:
    result = bytearray(varint_bytes(len(shapes)))
    for shape in shapes:
        result += varint_bytes(shape.type) + bytes([shape.operation])
        if shape.operation not in REMOVES:
            result += varint_bytes(len(shape.fields))
            for place in shape.fields:
                result += varint_bytes(place)
    return bytes(result)
