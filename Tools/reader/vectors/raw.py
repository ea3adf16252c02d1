"""Files byte by byte, with checksums that fit: as they should be, unless a part is changed."""
from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Sequence, Tuple

from magicreader.cursor import varint_bytes
from magicreader.journal import Name
from magicreader.segment import LAYOUT

DATA_SET = bytes.fromhex("000000000000da7a00000000000005e7")
WRITER = bytes.fromhex("00000000000000090000000000000009")
REPLICA = bytes.fromhex("00000000000000010000000000000001")


def string(text: str) -> bytes:
    return varint_bytes(len(text.encode())) + text.encode()


def block(content: bytes) -> bytes:
    return varint_bytes(len(content)) + content


def crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big")


def deflated(body: bytes) -> bytes:
    """Stored blocks alone, which every zlib inflates and none has to write."""
    stream, rest = b"\x78\x01", body
    while True:
        piece, rest = rest[:65_535], rest[65_535:]
        stream += struct.pack("<BHH", not rest, len(piece), len(piece) ^ 0xffff) + piece
        if not rest:
            return stream + zlib.adler32(body).to_bytes(4, "big")


@dataclass(frozen=True)
class Body:
    """One transaction at stamp 9, with an update of the integer `a` of the object `x` of type `T`."""

    types: Tuple[bytes, ...] = (string("T") + b"\3" + string("id") + b"\1" + string("a") + b"\1",)
    roots: Tuple[bytes, ...] = (REPLICA,)
    shapes: Tuple[bytes, ...] = (b"\0\1\1\0",)
    stamps: bytes = b"\x09"
    tags: bytes = b"\0\0\0\0"
    places: bytes = b"\0"  # of roots
    counts: bytes = b"\1"
    entries: bytes = b"\0"
    bases: bytes = b""
    columns: Tuple[bytes, ...] = (b"\3\1x", b"\1\2")

    def with_(self, **changes: Any) -> Body:
        return replace(self, **changes)

    def encoding(self) -> bytes:
        parts = [varint_bytes(len(self.types)), *self.types, varint_bytes(len(self.roots)), *self.roots,
                 varint_bytes(len(self.shapes)), *self.shapes]
        streams = [self.stamps, self.tags, self.places, self.counts, self.entries, self.bases, *self.columns]
        return b"".join(parts + [block(each) for each in streams])


@dataclass(frozen=True)
class Head:
    """Of a segment."""

    format: int = 1
    reserved: int = 0
    first: int = 1
    last: int = 1
    previous: Name = Name(0, bytes(4))
    last_name: Name = Name(9, bytes(4))
    more: Dict[str, int] = field(default_factory=dict)  # other lengths than there are


def segment(body: bytes, head: Head = Head(), stored: bytes = b"") -> bytes:
    stored = stored or deflated(body)
    header = LAYOUT.pack(
        b"MAGICSEG", head.format, head.reserved, DATA_SET, WRITER, REPLICA, head.first, head.last, head.previous.encoding(),
        head.last_name.encoding(), head.more.get("inflated", len(body)), head.more.get("stored", len(stored)),
        zlib.crc32(stored))
    return header + crc(header) + stored


def segment_file_name(replica: bytes, first: int, last: int, names: Sequence[Name]) -> str:
    name = hashlib.sha256(b"".join(each.encoding() for each in names)).digest()[:16].hex()
    return f"{replica.hex()}.{first:016x}.{last:016x}.{name}.segment"


End = Tuple[bytes, int, Name]


def checkpoint_header(
    floor: Sequence[End], digest: str, data_set: bytes = DATA_SET, format: int = 1, reserved: int = 0
) -> bytes:
    header = b"MAGICCHK" + struct.pack(">HH", format, reserved) + data_set + WRITER + bytes.fromhex(digest)
    header += len(floor).to_bytes(4, "big") + floor_bytes(floor)
    return header + crc(header)


def floor_bytes(floor: Sequence[End]) -> bytes:
    return b"".join(replica + sequence.to_bytes(8, "big") + name.encoding() for replica, sequence, name in floor)


def checkpoint_name(floor: Sequence[End]) -> str:
    return hashlib.sha256(floor_bytes(floor)).digest()[:16].hex() + ".checkpoint"


def part(body: bytes, stored: bytes = b"", inflated: int = -1, length: int = -1) -> bytes:
    """Lengths that are not given are those that fit."""
    stored = stored or deflated(body)
    head = struct.pack(">QQ", len(body) if inflated < 0 else inflated, len(stored) if length < 0 else length) + crc(stored)
    return head + crc(head) + stored


def checkpoint_end(entries: int, parts: int) -> bytes:
    end = b"MAGICEND" + struct.pack(">QI", entries, parts)
    return end + crc(end)


def invalid(name: str, file: bytes, why: str, outcome: str = "") -> Dict[str, str]:
    """`outcome` where it matters which error it is (S-2)."""
    vector = {"name": name, "file": file.hex(), "why": why}
    return {**vector, "outcome": outcome} if outcome else vector


Vectors = List[Dict[str, Any]]
