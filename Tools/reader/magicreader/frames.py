"""What a frame's body may be (wire.md, Frames), to check recorded sessions with."""
from __future__ import annotations

from typing import Callable, Dict, List

from .cursor import FormatError
from .segment import HEADER_SIZE
from .wire import MAGIC, PIECE_LIMIT, read_varint


class Body:
    """The bytes of one, from the front to the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0

    def take(self, size: int) -> bytes:
        if self.offset + size > len(self.data):
            raise FormatError("a frame is shorter than it says", self.offset)
        self.offset += size
        return self.data[self.offset - size:self.offset]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def count(self) -> int:
        number, self.offset = read_varint(self.data, self.offset)
        return number

    def block(self) -> bytes:
        return self.take(self.count())

    def text(self) -> str:
        return self.block().decode("utf-8")

    def texts(self) -> List[str]:
        return [self.text() for _ in range(self.count())]

    def each(self, take: Callable[[], object]) -> None:
        for _ in range(self.count()):
            take()

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            raise FormatError(what, self.offset)


def hello(body: Body) -> None:
    body.expect(body.take(8) == MAGIC, "not the magic")
    body.expect(body.number(2) <= body.number(2), "the lowest version is above the highest")
    body.take(32)
    body.block()
    body.texts()


def welcome(body: Body) -> None:
    body.expect(body.number(2) == 1, "another version")
    body.take(32)
    body.expect(1 <= body.number(1) <= 3, "no rights")
    body.texts()


def standing(body: Body) -> None:
    body.take(12)

    def row() -> None:
        body.take(16)
        sequence, name = body.number(8), body.take(12)
        body.expect((sequence == 0) == (not any(name)), "a name without a sequence, or a sequence without a name")
        body.expect(body.number(1) <= 1, "flags that are not known")
        body.each(lambda: body.expect(body.number(8) <= body.number(8), "a run that ends before it begins"))

    body.each(row)


def error(body: Body) -> None:
    body.expect(1 <= body.number(1) <= 11, "a code that is not known")
    body.expect(0 < len(body.text()) <= 1_024, "no words, or too many")


def piece(body: Body) -> None:
    body.expect(1 <= len(body.take(len(body.data))) <= PIECE_LIMIT, "a piece of another length than it may have")


def digested(body: Body) -> None:
    body.take({0: 0, 1: 16}[body.number(1)])


def nothing(body: Body) -> None:
    pass


def frontier(body: Body) -> None:
    body.each(lambda: body.take(24))


KINDS: Dict[int, Callable[[Body], object]] = {
    0x01: hello, 0x81: welcome,
    0x02: lambda body: body.take(16), 0x82: lambda body: body.take(16),
    0x03: lambda body: body.each(lambda: body.take(36)), 0x83: standing,
    0x04: frontier, 0x84: lambda body: body.texts(),
    0x05: lambda body: body.take(16 + HEADER_SIZE), 0x06: piece,
    0x07: nothing, 0x87: standing,
    0x08: lambda body: body.each(lambda: body.take(32)), 0x88: lambda body: body.each(lambda: body.take(8)),
    0x09: lambda body: body.take(40), 0x89: lambda body: body.take(8),
    0x0A: lambda body: body.take(40), 0x8A: lambda body: body.take(8), 0x8B: nothing,
    0x0B: nothing, 0x8C: nothing,
    0x0C: lambda body: body.each(body.block), 0x8F: lambda body: body.each(body.block),
    0x8D: nothing, 0x0D: nothing,
    0x0E: frontier, 0x8E: digested,
    0x0F: lambda body: body.take(8),
    0xFF: error,
}

FROM_BOTH = (0x05, 0x06, 0x0F)


def check_frame(data: bytes, is_servers: bool) -> None:
    """That a frame is one, with a body of its kind and nothing after it."""
    kind = data[4]
    if int.from_bytes(data[:4], "big") != len(data) - 5 or kind not in KINDS:
        raise FormatError("a frame of another length than it says, or of a kind that there is not", 0)
    if kind not in FROM_BOTH and (kind >= 0x80) != is_servers:
        raise FormatError("a frame of the other side", 4)
    body = Body(data[5:])
    KINDS[kind](body)
    body.expect(body.offset == len(body.data), "something follows a frame's body")
