"""Reading bytes from front to back, and the numbers and strings that all formats share."""
from __future__ import annotations

from typing import Optional

LARGEST_LENGTH = 1 << 25  # V-7


class FormatError(Exception):
    """Bytes that a rule refuses, and where: in the file, or in the inflated body (S-9)."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} at offset {offset}")
        self.message = message
        self.offset = offset


class UnsupportedFormat(FormatError):
    """Another format than ours. Nothing is known of such a file, not even that it is damaged (S-2)."""


class Cursor:
    """A place in some bytes. A part's cursor keeps the offsets of the whole, for errors (S-9)."""

    def __init__(self, data: bytes, start: int = 0, end: Optional[int] = None) -> None:
        self.data = data
        self.offset = start
        self.end = len(data) if end is None else end

    @property
    def remaining(self) -> int:
        return self.end - self.offset

    def take(self, count: int) -> bytes:
        if count > self.remaining:
            raise FormatError(f"{count} bytes are needed, {self.remaining} are left", self.offset)
        start = self.offset
        self.offset += count
        return self.data[start:self.offset]

    def byte(self) -> int:
        if self.remaining < 1:
            raise FormatError("a byte is needed, none is left", self.offset)
        self.offset += 1
        return self.data[self.offset - 1]

    def next_is(self, byte: int) -> bool:
        return self.remaining > 0 and self.data[self.offset] == byte

    def varint(self) -> int:
        start, number = self.offset, 0
        for index in range(10):  # V-2: at most 10 bytes
            byte = self.byte()
            number |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                if byte == 0 and index > 0:
                    raise FormatError("varint is longer than it need be", start)
                if number >> 64:
                    raise FormatError("varint has more than 64 bits", start)
                return number
        raise FormatError("varint has more than 10 bytes", start)

    def sized_bytes(self) -> bytes:
        start, length = self.offset, self.varint()
        if length > LARGEST_LENGTH:
            raise FormatError(f"length {length} is over the limit", start)
        return self.take(length)

    def string(self) -> str:
        start, content = self.offset, self.sized_bytes()
        try:
            return content.decode("utf-8")  # V-3: surrogates and overlong forms are refused, too
        except UnicodeDecodeError as error:
            raise FormatError("text is not UTF-8", start) from error

    def part(self) -> Cursor:
        """What a length announces, as a cursor of its own. V-7 is about values and does not bind it."""
        length, start = self.varint(), self.offset
        if length > self.remaining:
            raise FormatError(f"{length} bytes are needed, {self.remaining} are left", start)
        self.offset += length
        return Cursor(self.data, start, self.offset)

    def finish(self, what: str) -> None:
        if self.remaining:
            raise FormatError(f"{self.remaining} bytes left over in {what}", self.offset)


def varint_bytes(number: int) -> bytes:
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{number} is no unsigned number of 64 bits")
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def sized(content: bytes) -> bytes:
    if len(content) > LARGEST_LENGTH:  # V-7
        raise ValueError(f"{len(content)} bytes are over the limit")
    return varint_bytes(len(content)) + content


def string_bytes(text: str) -> bytes:
    return sized(text.encode("utf-8"))
