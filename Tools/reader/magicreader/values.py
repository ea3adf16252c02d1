"""What one field of one object holds (values.md)."""
from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from enum import IntEnum
from typing import Callable, List, Optional, Tuple, TypeVar, Union

from .clock import checked_stamp
from .cursor import LARGEST_LENGTH, Cursor, FormatError, sized, string_bytes, varint_bytes

UUID_FORM = 4
BIRTH_FORM = 7
ELEMENT_LIMIT = 1 << 22  # V-7
ORDINAL_LIMIT = 1 << 22  # S-8
ASSET_NAME = re.compile(r"[0-9a-f]{64}(\.[A-Za-z0-9]{1,32})?")  # V-16
UUID_TEXT = re.compile("[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")


class Kind(IntEnum):
    """A kind's number is the code of its first form."""

    NULL = 0
    INTEGER = 1
    REAL = 2
    TEXT = 3
    BYTES = 5
    CODED = 6
    REFERENCE = 8
    LIST = 9
    SET = 10
    DICTIONARY = 11
    ASSET = 12


RELATIONS = (Kind.REFERENCE, Kind.LIST, Kind.SET, Kind.DICTIONARY)
WITH_ELEMENTS = (Kind.SET, Kind.DICTIONARY)
Target = Tuple[str, Kind]  # a type's name, and the kind of its primary value (J-5)


@dataclass(frozen=True)
class Birth:
    """Names an object without a primary value (J-7), or with an automatic number (J-26)."""

    stamp: int
    tag: bytes
    ordinal: int

    def encoding(self) -> bytes:
        return self.stamp.to_bytes(8, "big") + self.tag + self.ordinal.to_bytes(4, "big")


@dataclass(frozen=True)
class Value:
    """A real's content is its 8 bytes, so that equal values are equal bits (V-5).

    Of a relation it is an identity, a tuple of identities (list), of pairs of an identity and
    whether it is in (set), or of pairs of a key and an identity or None (dictionary). What an
    identity means, only the target tells; it belongs to the field and is not in the encoding.
    """

    kind: Kind
    content: Union[None, int, str, bytes, Value, Birth, tuple]
    target: Optional[Target] = None

    def encoding(self) -> bytes:
        content = self.content
        if content is None:
            return bytes([Kind.NULL])
        if self.kind in RELATIONS:
            return bytes([self.kind]) + self.relation_encoding()
        if self.kind == Kind.ASSET:
            return bytes([Kind.ASSET]) + string_bytes(content)
        if isinstance(content, int):
            return bytes([Kind.INTEGER]) + varint_bytes(zigzag(content))
        if isinstance(content, str):
            if UUID_TEXT.fullmatch(content):  # V-4
                return bytes([UUID_FORM]) + uuid.UUID(content).bytes
            return bytes([Kind.TEXT]) + string_bytes(content)
        if self.kind == Kind.REAL:
            return bytes([Kind.REAL]) + content
        return bytes([self.kind]) + sized(content)

    def relation_encoding(self) -> bytes:
        if self.kind == Kind.REFERENCE:
            return identity_bytes(self.content)
        count = varint_bytes(len(self.content))
        if self.kind == Kind.LIST:
            return count + b"".join(identity_bytes(each) for each in self.content)
        if self.kind == Kind.SET:
            return count + b"".join(identity_bytes(identity) + bytes([is_in])
                                    for identity, is_in in self.content)
        return count + b"".join(
            sized(key) + (b"\0" if identity is None else identity_bytes(identity))
            for key, identity in self.content)

    def elements(self) -> List[Tuple[bytes, bool, Value]]:
        """Of a set or dictionary: what tells an element apart, whether it is in, and a value of it alone."""
        result = []
        for element in self.content:
            if self.kind == Kind.SET:
                name, is_in = identity_bytes(element[0]), element[1]
            else:
                name, is_in = element[0], element[1] is not None
            result.append((name, is_in, Value(self.kind, (element,), self.target)))
        return result

    def element_count(self) -> int:
        """What J-20 counts."""
        if self.kind == Kind.REFERENCE:
            return 1
        return len(self.content) if self.kind in RELATIONS else 0

    def identities(self) -> list:
        if self.kind == Kind.REFERENCE:
            return [self.content]
        if self.kind == Kind.LIST:
            return list(self.content)
        if self.kind == Kind.SET:
            return [identity for identity, _ in self.content]
        return [identity for _, identity in self.content if identity is not None]

    def fits(self, target: Target) -> bool:
        """Whether all its identities name objects of such a type (S-7)."""
        return all(target[1] in (Kind.NULL, Kind.INTEGER) if isinstance(each, Birth)  # J-26
                   else each.kind == target[1] for each in self.identities())


Identity = Union[Value, Birth]
Element = TypeVar("Element")


def identity_bytes(identity: Identity) -> bytes:
    """V-12."""
    start = bytes([BIRTH_FORM]) if isinstance(identity, Birth) else b""
    return start + identity.encoding()


def read_identity(cursor: Cursor) -> Identity:
    start = cursor.offset
    code = cursor.byte()
    if code in (Kind.INTEGER, Kind.TEXT, UUID_FORM):
        cursor.offset = start
        return read_value(cursor)
    if code != BIRTH_FORM:
        raise FormatError(f"code {code} begins no identity", start)
    stamp = checked_stamp(int.from_bytes(cursor.take(8), "big"), start)
    tag = cursor.take(4)
    ordinal = int.from_bytes(cursor.take(4), "big")
    if stamp < 1 or ordinal >= ORDINAL_LIMIT:  # C-4, S-8
        raise FormatError("birth that no transaction has", start)
    return Birth(stamp, tag, ordinal)


def read_set_element(cursor: Cursor) -> Tuple[Identity, bool]:
    identity, offset = read_identity(cursor), cursor.offset
    flag = cursor.byte()
    if flag > 1:
        raise FormatError("element is neither in nor out", offset)
    return identity, flag == 1


def read_dictionary_element(cursor: Cursor) -> Tuple[bytes, Optional[Identity]]:
    key, start = cursor.sized_bytes(), cursor.offset
    if cursor.byte() == 0:
        return key, None
    cursor.offset = start
    return key, read_identity(cursor)


def read_elements(cursor: Cursor, read: Callable[[Cursor], Element]) -> Tuple[Element, ...]:
    start, count = cursor.offset, cursor.varint()
    if count > ELEMENT_LIMIT:  # V-7
        raise FormatError(f"{count} elements are over the limit", start)
    if count > cursor.remaining // 2:
        raise FormatError(f"{count} elements are more than the bytes hold", start)
    result = []
    for _ in range(count):
        result.append(read(cursor))
        if cursor.offset - start > LARGEST_LENGTH:
            raise FormatError("relation is over the limit", start)
    return tuple(result)


def read_relation(cursor: Cursor, kind: Kind) -> Value:
    start = cursor.offset
    if kind == Kind.REFERENCE:
        return Value(kind, read_identity(cursor))
    if kind == Kind.LIST:
        return Value(kind, read_elements(cursor, read_identity))
    value = Value(kind, read_elements(
        cursor, read_set_element if kind == Kind.SET else read_dictionary_element))
    names = [name for name, _, _ in value.elements()]
    if not names:
        raise FormatError("no element changed", start)
    if any(not lower < higher for lower, higher in zip(names, names[1:])):  # V-14, V-15
        raise FormatError("elements do not rise", start)
    return value


def read_value(cursor: Cursor) -> Value:
    start = cursor.offset
    code = cursor.byte()
    if code == Kind.NULL:
        return Value(Kind.NULL, None)
    if code == Kind.INTEGER:
        return Value(Kind.INTEGER, unzigzag(cursor.varint()))
    if code == Kind.REAL:
        return Value(Kind.REAL, cursor.take(8))
    if code == Kind.TEXT:
        text = cursor.string()
        if UUID_TEXT.fullmatch(text):
            raise FormatError("text of a UUID is not in form 4", start)  # V-4
        return Value(Kind.TEXT, text)
    if code == UUID_FORM:
        return Value(Kind.TEXT, str(uuid.UUID(bytes=cursor.take(16))).upper())
    if code in (Kind.BYTES, Kind.CODED):
        # No rule has a decoder check the JSON of V-8 to V-10; it could not without the Swift type.
        return Value(Kind(code), cursor.sized_bytes())
    if code in RELATIONS:
        return read_relation(cursor, Kind(code))
    if code == Kind.ASSET:
        name = cursor.string()
        if not ASSET_NAME.fullmatch(name):
            raise FormatError("text names no asset", start)  # V-16
        return Value(Kind.ASSET, name)
    raise FormatError(f"code {code} is reserved", start)  # V-1


def read_only_value(data: bytes) -> Value:
    cursor = Cursor(data)
    value = read_value(cursor)
    cursor.finish("the value")
    return value


def zigzag(number: int) -> int:
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{number} is no signed number of 64 bits")
    return (number << 1) ^ (number >> 63)


def unzigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)
