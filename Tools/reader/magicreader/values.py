"""What one field of one object holds (values.md)."""
from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from enum import IntEnum
from typing import Union

from .cursor import Cursor, FormatError, sized, string_bytes, varint_bytes

UUID_FORM = 4
UUID_TEXT = re.compile("[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")


class Kind(IntEnum):
    """A kind's number is the code of its first form."""

    NULL = 0
    INTEGER = 1
    REAL = 2
    TEXT = 3
    BYTES = 5
    CODED = 6


@dataclass(frozen=True)
class Value:
    """A real's content is its 8 bytes, so that equal values are equal bits (V-5)."""

    kind: Kind
    content: Union[None, int, str, bytes]

    def encoding(self) -> bytes:
        content = self.content
        if content is None:
            return bytes([Kind.NULL])
        if isinstance(content, int):
            return bytes([Kind.INTEGER]) + varint_bytes(zigzag(content))
        if isinstance(content, str):
            if UUID_TEXT.fullmatch(content):  # V-4
                return bytes([UUID_FORM]) + uuid.UUID(content).bytes
            return bytes([Kind.TEXT]) + string_bytes(content)
        if self.kind == Kind.REAL:
            return bytes([Kind.REAL]) + content
        return bytes([self.kind]) + sized(content)


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
