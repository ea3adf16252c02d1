"""A folder remote in one file (bundle.md)."""
from __future__ import annotations

import zlib
from typing import Dict, List

from . import checkpoint
from .checkpoint import Checkpoint, read_checkpoint
from .cursor import FormatError
from .folder import RemoteError, SegmentName, name_of
from .segment import HEADER_SIZE, Header, Segment, read_segment

MAGIC = b"MAGICBUN"
END = b"MAGICEND"
START_SIZE = 32
END_SIZE = 16
# Where a segment's header says how long its body is in the file (segment.md).
STORED_LENGTH = slice(108, 116)


def is_bundle(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


class Bundle:
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
        self.read_segments(data)

    def read_segments(self, data: bytes) -> None:
        offset, count = START_SIZE, 0
        while data[offset:offset + 8] != END:
            if data[offset:offset + 8] == checkpoint.MAGIC:
                offset, count = self.take_checkpoint(data, offset), count + 1
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
            offset, count = offset + size, count + 1
        end = data[offset:]
        if len(end) != END_SIZE or end[8:12] != count.to_bytes(4, "big") or end[12:] != checksum(end[:12]):
            raise self.damaged(offset, "it lacks segments, or its end is damaged")

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

    def checkpoints(self) -> List[str]:
        return sorted(self.kept)

    def read_checkpoint(self, name: str) -> Checkpoint:
        return self.kept[name]

    def segments(self) -> List[SegmentName]:
        return sorted(self.held, key=lambda name: name.file_name)

    def read_header(self, name: SegmentName) -> Header:
        return self.held[name].header

    def read(self, name: SegmentName) -> Segment:
        return self.held[name]

    def damaged(self, offset: int, what: str) -> RemoteError:
        return RemoteError(f"{self.path}: byte {offset}: {what}")


def checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big")
