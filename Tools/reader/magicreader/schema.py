"""What stands before the streams of a segment's body: schema, roots and shapes (segment.md, Body)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from .cursor import Cursor, FormatError
from .journal import (CLAIMS, ENTRY_LIMIT, FIELD_LIMIT, REMOVES, SCHEMA_LIMIT, SEGMENT_LIMIT, TYPE_LIMIT, Operation,
                      checked_name)
from .values import RELATIONS, Kind, Target

PRIMARY_KINDS = (Kind.NULL, Kind.INTEGER, Kind.TEXT)
FIELD_KINDS = tuple(kind for kind in Kind if kind != Kind.NULL)


class Field(NamedTuple):
    """A name and a kind, and for a relation the type of its objects (J-14)."""

    name: str
    kind: Kind
    target: Optional[Target] = None


class EncodedField(NamedTuple):
    """A field whose target is an index yet."""

    offset: int
    name: str
    kind: Kind
    target: Optional[int]


@dataclass(frozen=True)
class Type:
    name: str
    primary_kind: Kind
    primary_name: str
    fields: Tuple[Field, ...]


@dataclass(frozen=True)
class Shape:
    type: int
    operation: Operation
    fields: Tuple[int, ...]


class SchemaError(Exception):
    """A merge would take the schema beyond its limits (J-15)."""


class KnownSchema:
    """The facts of all segments that were merged (J-14)."""

    def __init__(self) -> None:
        self.types: Dict[Target, Set[Field]] = {}

    def learn(self, schema: Tuple[Type, ...]) -> None:
        """All of it or, if it is too much, nothing."""
        types = dict(self.types)
        for type in schema:
            target = type.name, type.primary_kind
            types[target] = types.get(target, set()) | set(type.fields)
            if len(types[target]) > FIELD_LIMIT:
                raise SchemaError(f"type {type.name} comes to more than {FIELD_LIMIT} fields")
        if len(types) > TYPE_LIMIT:
            raise SchemaError(f"the schema comes to more than {TYPE_LIMIT} types")
        if sum(len(fields) for fields in types.values()) > SCHEMA_LIMIT:
            raise SchemaError(f"the types come to more than {SCHEMA_LIMIT} fields together")
        self.types = types


def read_schema(cursor: Cursor) -> Tuple[Type, ...]:
    heads: List[Tuple[str, Kind, str]] = []
    fields: List[List[EncodedField]] = []
    known: Set[Target] = set()
    count = read_count(cursor, TYPE_LIMIT, "types")
    left = SCHEMA_LIMIT
    for _ in range(count):
        offset = cursor.offset
        name = checked_name(cursor.string(), offset)
        kind = read_kind(cursor, PRIMARY_KINDS)
        if (name, kind) in known:
            raise FormatError("type stands twice", offset)  # S-7
        known.add((name, kind))
        offset = cursor.offset
        primary_name = "" if kind == Kind.NULL else checked_name(cursor.string(), offset)
        heads.append((name, kind, primary_name))
        fields.append([read_field(cursor, count) for _ in
                       range(read_count(cursor, min(left, FIELD_LIMIT), "fields"))])
        left -= len(fields[-1])
    # A target may be a type that comes later.
    targets = [(name, kind) for name, kind, _ in heads]
    return tuple(Type(*head, known_fields(encoded, targets)) for head, encoded in zip(heads, fields))


def read_field(cursor: Cursor, types: int) -> EncodedField:
    offset = cursor.offset
    name = checked_name(cursor.string(), offset)
    kind = read_kind(cursor, FIELD_KINDS)
    target = read_index(cursor, types, "type") if kind in RELATIONS else None
    return EncodedField(offset, name, kind, target)


def known_fields(encoded: List[EncodedField], targets: List[Target]) -> Tuple[Field, ...]:
    fields: Dict[Field, None] = {}
    for each in encoded:
        target = None if each.target is None else targets[each.target]
        field = Field(each.name, each.kind, target)
        if field in fields:
            raise FormatError("field stands twice", each.offset)  # S-7
        fields[field] = None
    return tuple(fields)


def read_roots(cursor: Cursor) -> Tuple[bytes, ...]:
    count = read_count(cursor, cursor.remaining // 16, "roots")
    return tuple(cursor.take(16) for _ in range(count))


def read_shapes(cursor: Cursor, schema: Tuple[Type, ...]) -> Tuple[Shape, ...]:
    shapes = []
    fields_left = SEGMENT_LIMIT
    for _ in range(read_count(cursor, min(cursor.remaining // 2, ENTRY_LIMIT), "shapes")):  # S-8
        type_index = read_index(cursor, len(schema), "type")
        type, offset = schema[type_index], cursor.offset
        code = cursor.byte()
        if code > Operation.PURGE:
            raise FormatError(f"operation {code} is not known", offset)
        operation = Operation(code)
        if operation == Operation.BIRTH and type.primary_kind != Kind.NULL:
            raise FormatError("birth of an object with a primary value", offset)  # S-5
        if operation in CLAIMS and type.primary_kind != Kind.INTEGER:
            raise FormatError("claim of an object that has no number", offset)  # S-10
        fields = () if operation in REMOVES else read_shape_fields(cursor, type)
        fields_left -= len(fields)
        if fields_left < 0:
            raise FormatError("shapes have more fields than values are allowed", offset)  # S-8
        shapes.append(Shape(type_index, operation, fields))
    return tuple(shapes)


def read_shape_fields(cursor: Cursor, type: Type) -> Tuple[int, ...]:
    fields: List[int] = []
    names: Set[str] = set()
    for _ in range(read_count(cursor, len(type.fields), "fields of a shape")):
        offset = cursor.offset
        index = read_index(cursor, len(type.fields), "field")
        if fields and index <= fields[-1]:
            raise FormatError("fields of a shape do not rise", offset)
        name = type.fields[index].name
        if name in names:
            raise FormatError("shape has two fields of one name", offset)  # S-7
        names.add(name)
        fields.append(index)
    return tuple(fields)


def read_count(cursor: Cursor, limit: int, what: str) -> int:
    offset = cursor.offset
    count = cursor.varint()
    if count > limit:
        raise FormatError(f"{count} {what} are more than there can be", offset)
    return count


def read_index(cursor: Cursor, end: int, what: str) -> int:
    offset = cursor.offset
    index = cursor.varint()
    if index >= end:
        raise FormatError(f"there is no {what} {index}", offset)
    return index


def read_kind(cursor: Cursor, allowed: Tuple[Kind, ...]) -> Kind:
    offset = cursor.offset
    code = cursor.byte()
    if code not in [int(kind) for kind in allowed]:
        raise FormatError(f"kind {code} cannot stand here", offset)
    return Kind(code)
