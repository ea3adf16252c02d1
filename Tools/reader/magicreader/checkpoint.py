"""The bytes of a checkpoint file (checkpoint.md)."""
from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from typing import Dict, List, Tuple

from .body import read_kept
from .clock import checked_stamp
from .cursor import Cursor, FormatError, UnsupportedFormat
from .journal import NAME_SIZE, Name, Transaction
from .schema import Type
from .segment import BODY_LIMIT, RATIO_LIMIT, SEQUENCE_END

MAGIC, END = b"MAGICCHK", b"MAGICEND"
FORMAT = 1
FIXED_SIZE, FLOOR_SIZE, PART_SIZE, END_SIZE = 64, 36, 24, 24
FLOOR_LIMIT = 1 << 16  # K-11

Floor = Dict[bytes, Tuple[int, Name]]
Part = Tuple[Tuple[Type, ...], Tuple[Transaction, ...]]


@dataclass(frozen=True)
class Checkpoint:
    data_set: bytes
    writer: bytes
    digest: str
    floor: Floor
    name: str
    parts: Tuple[Part, ...]

    def transactions(self) -> List[Transaction]:
        """The kept entries; their sequences are 0 and their replicas their roots."""
        return [transaction for _, part in self.parts for transaction in part]


def read_checkpoint(data: bytes) -> Checkpoint:
    """All checks of K-12, in its order."""
    if data[:8] != MAGIC:
        raise FormatError("not a checkpoint", 0)
    version = int.from_bytes(data[8:10], "big")
    if len(data) >= 10 and version != FORMAT:
        if is_flipped(data):
            raise FormatError("header's format was changed", 8)  # S-2
        raise UnsupportedFormat(f"format {version} is not supported", 8)
    if len(data) < FIXED_SIZE:
        raise FormatError("header is cut short", len(data))
    count = int.from_bytes(data[60:64], "big")
    if not 1 <= count <= FLOOR_LIMIT:
        raise FormatError(f"a floor of {count} replicas", 60)
    end = FIXED_SIZE + FLOOR_SIZE * count
    check_crc(data, 0, end)
    if data[10:12] != b"\0\0":
        raise UnsupportedFormat("reserved bytes are not zero", 10)  # S-2
    floor = read_floor(data, count)
    name = hashlib.sha256(data[FIXED_SIZE:end]).digest()[:16].hex()  # K-10
    parts, entries = read_parts(data, end + 4)
    offset = len(data) - END_SIZE
    counts = int.from_bytes(data[offset + 8:offset + 16], "big"), int.from_bytes(data[offset + 16:offset + 20], "big")
    if counts != (entries, len(parts)):
        raise FormatError("the end counts other entries or parts than there are", offset)
    return Checkpoint(data[12:28], data[28:44], data[44:60].hex(), floor, name, parts)


def is_flipped(data: bytes) -> bool:
    """Whether a header is one of this format, of which nothing but the format was changed."""
    end = FIXED_SIZE + FLOOR_SIZE * int.from_bytes(data[60:64], "big")
    whole = data[:8] + FORMAT.to_bytes(2, "big") + data[10:end]
    return len(data) >= end + 4 and zlib.crc32(whole) == int.from_bytes(data[end:end + 4], "big")


def read_floor(data: bytes, count: int) -> Floor:
    floor: Floor = {}
    last = b""
    for index in range(count):
        offset = FIXED_SIZE + FLOOR_SIZE * index
        replica = data[offset:offset + 16]
        sequence = int.from_bytes(data[offset + 16:offset + 24], "big")
        name = Name.read(data[offset + 24:offset + 24 + NAME_SIZE])
        if replica <= last and index > 0:
            raise FormatError("a floor's replicas do not rise", offset)
        if not 1 <= sequence < SEQUENCE_END:
            raise FormatError(f"a floor at sequence {sequence}", offset + 16)
        checked_stamp(name.stamp, offset + 24)
        if name.stamp < 1:
            raise FormatError("a floor's transaction without a stamp", offset + 24)
        floor[replica] = sequence, name
        last = replica
    return floor


def read_parts(data: bytes, offset: int) -> Tuple[Tuple[Part, ...], int]:
    parts: List[Part] = []
    entries, last = 0, None
    while data[offset:offset + 8] != END:
        check_crc(data, offset, offset + PART_SIZE - 4)
        inflated = int.from_bytes(data[offset:offset + 8], "big")
        stored = int.from_bytes(data[offset + 8:offset + 16], "big")
        if inflated > BODY_LIMIT or stored > BODY_LIMIT or inflated > stored * RATIO_LIMIT:
            raise FormatError("a part is over the limits", offset)
        start = offset + PART_SIZE
        content = data[start:start + stored]
        if len(content) < stored:
            raise FormatError("a part is cut short", len(data))
        if zlib.crc32(content) != int.from_bytes(data[offset + 16:offset + 20], "big"):
            raise FormatError("a part's CRC is wrong", offset + 16)
        part = read_kept(inflate(content, inflated, start))
        for transaction in part[1]:
            order = transaction.stamp, transaction.tag, transaction.root
            if last is not None and order <= last:
                raise FormatError("a checkpoint's transactions do not rise", start)
            last = order
            entries += len(transaction.entries)
        parts.append(part)
        offset = start + stored
    if len(data) != offset + END_SIZE:
        raise FormatError("the end is cut short, or something follows it", offset)
    check_crc(data, offset, offset + END_SIZE - 4)
    return tuple(parts), entries


def inflate(content: bytes, inflated: int, offset: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        body = stream.decompress(content, inflated + 1)
    except zlib.error as error:
        raise FormatError(f"a part does not inflate ({error})", offset) from error
    if len(body) != inflated or not stream.eof or stream.unused_data:
        raise FormatError("a part's length is not what it says", offset)
    return body


def check_crc(data: bytes, start: int, end: int) -> None:
    if len(data) < end + 4:
        raise FormatError("cut short", len(data))
    if zlib.crc32(data[start:end]) != int.from_bytes(data[end:end + 4], "big"):
        raise FormatError("CRC is wrong", end)


def length_of(data: bytes, offset: int) -> int:
    """How long the checkpoint is that begins there, as its headers say."""
    count = int.from_bytes(Cursor(data, offset + 60).take(4), "big")
    end = offset + FIXED_SIZE + FLOOR_SIZE * count + 4
    while data[end:end + 8] != END:
        end += PART_SIZE + int.from_bytes(Cursor(data, end + 8).take(8), "big")
    return end + END_SIZE - offset


def floor_of(data: bytes, data_set: bytes) -> Floor:
    """What a checkpoint stands for, whatever follows its header; nothing if that is not right, or it is another data set's."""
    count = int.from_bytes(data[60:64], "big")
    if data[:12] != MAGIC + FORMAT.to_bytes(2, "big") + b"\0\0" or data[12:28] != data_set or not 1 <= count <= FLOOR_LIMIT:
        return {}
    try:
        check_crc(data, 0, FIXED_SIZE + FLOOR_SIZE * count)
        return read_floor(data, count)
    except FormatError:
        return {}
