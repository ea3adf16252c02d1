"""A folder remote in one file (bundle.md)."""
from __future__ import annotations

import hashlib
import zlib
from typing import Dict

from . import checkpoint
from .checkpoint import Checkpoint, read_checkpoint
from .cursor import FormatError
from .folder import Held, RemoteError, SegmentName, name_of
from .segment import HEADER_SIZE, Segment, read_segment

MAGIC = b"MAGICBUN"
CONTENT = b"MAGICAST"
END = b"MAGICEND"
START_SIZE = 32
CONTENT_HEADER_SIZE = 48
END_SIZE = 20
# Where a segment's header says how long its body is in the file (segment.md).
STORED_LENGTH = slice(108, 116)


def is_bundle(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


class Bundle(Held):
    """What a folder is to a pull."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.held: Dict[SegmentName, Segment] = {}
        self.kept: Dict[str, Checkpoint] = {}
        with open(path, "rb") as file:
            data = file.read()
        if data[:8] != MAGIC:
            raise self.damaged(0, "it does not begin with MAGICBUN")
        if data[8:10] != b"\x00\x01":  # B-3
            raise self.damaged(8, "another format")
        if len(data) < START_SIZE or data[28:32] != checksum(data[:28]) or data[10:12] != b"\x00\x00":
            raise self.damaged(28, "the header is damaged")
        self.data_set = data[12:28]
        self.contents: Dict[str, int] = {}
        self.read_parts(data)

    def read_parts(self, data: bytes) -> None:
        offset, segments, contents = START_SIZE, 0, 0
        while data[offset:offset + 8] != END:
            if data[offset:offset + 8] == checkpoint.MAGIC:
                offset, segments = self.take_checkpoint(data, offset), segments + 1
                continue
            if data[offset:offset + 8] == CONTENT:
                offset, contents = self.read_content(data, offset), contents + 1
                continue
            header = data[offset:offset + HEADER_SIZE]
            if len(header) < HEADER_SIZE:
                raise self.damaged(offset, "it ends within a segment")
            size = HEADER_SIZE + int.from_bytes(header[STORED_LENGTH], "big")
            try:
                segment = read_segment(data[offset:offset + size])
            except FormatError as error:
                raise self.damaged(offset, str(error)) from error
            if segment.header.data_set != self.data_set:
                raise self.damaged(offset, "a segment of another data set")
            self.held[name_of(segment)] = segment
            offset, segments = offset + size, segments + 1
        end = data[offset:]
        counts = segments.to_bytes(4, "big") + contents.to_bytes(4, "big")
        if len(end) != END_SIZE or end[8:16] != counts or end[16:] != checksum(end[:16]):
            raise self.damaged(offset, "it lacks parts, or its end is damaged")

    def read_content(self, data: bytes, offset: int) -> int:
        header = data[offset:offset + CONTENT_HEADER_SIZE]
        size = int.from_bytes(header[40:], "big")
        start = offset + CONTENT_HEADER_SIZE
        if len(header) < CONTENT_HEADER_SIZE or size > len(data) - start:
            raise self.damaged(offset, "it ends within a content")
        if hashlib.sha256(data[start:start + size]).digest() != header[8:40]:
            raise self.damaged(offset, "a content is not what its hash says")
        self.contents[header[8:40].hex()] = size
        return start + size

    def take_checkpoint(self, data: bytes, offset: int) -> int:
        try:
            size = checkpoint.length_of(data, offset)
            taken = read_checkpoint(data[offset:offset + size])
        except FormatError as error:
            raise self.damaged(offset, str(error)) from error
        if taken.data_set != self.data_set:
            raise self.damaged(offset, "a checkpoint of another data set")
        self.kept[taken.name] = taken
        return offset + size

    def damaged(self, offset: int, what: str) -> RemoteError:
        return RemoteError(f"{self.path}: byte {offset}: {what}")


def checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big")
