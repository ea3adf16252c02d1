"""The bytes of a segment file: its header, and the way to its body (segment.md)."""
from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from typing import Iterable, Tuple

from .body import read_body
from .clock import checked_stamp
from .cursor import FormatError, UnsupportedFormat
from .journal import Name, Transaction
from .schema import Type

MAGIC = b"MAGICSEG"
FORMAT = 1
LAYOUT = struct.Struct(">8sHH16s16s16sQQ12s12sQQI")
HEADER_SIZE = LAYOUT.size + 4
SEQUENCE_END = 1 << 62
BODY_LIMIT = 1 << 27  # S-8, as are the next two
COUNT_LIMIT = 1 << 20
RATIO_LIMIT = 1_032


@dataclass(frozen=True)
class Header:
    data_set: bytes
    writer: bytes
    replica: bytes
    first: int
    last: int
    previous: Name
    last_name: Name
    inflated: int
    stored: int
    checksum: int


@dataclass(frozen=True)
class Segment:
    header: Header
    schema: Tuple[Type, ...]
    transactions: Tuple[Transaction, ...]

    @property
    def name(self) -> str:
        return segment_name(self.transactions)


def segment_name(transactions: Iterable[Transaction]) -> str:
    names = b"".join(transaction.name.encoding() for transaction in transactions)
    return hashlib.sha256(names).digest()[:16].hex()  # S-3


def read_segment(data: bytes) -> Segment:
    header = read_header(data[:HEADER_SIZE], len(data))
    if zlib.crc32(data[HEADER_SIZE:]) != header.checksum:
        raise FormatError("body's CRC is wrong", 116)
    body = inflated_body(data, header)
    schema, transactions = read_body(body, header.replica, header.first, header.last)
    # S-6, for the two transactions that the header names.
    if header.first > 1 and header.previous.stamp >= transactions[0].stamp:
        raise FormatError("the transaction before the first is not earlier", 76)
    if header.last_name != transactions[-1].name:
        raise FormatError("the last transaction is another than the header says", 88)
    return Segment(header, schema, transactions)


def read_header(data: bytes, file_size: int) -> Header:
    """The checks of S-1 in its order, up to the file's length: what F-5 calls a sound header."""
    if data[:8] != MAGIC:
        raise FormatError("not a segment", 0)
    version = int.from_bytes(data[8:10], "big")
    if len(data) >= 10 and version != FORMAT:
        if len(data) >= HEADER_SIZE:
            whole = data[:8] + FORMAT.to_bytes(2, "big") + data[10:LAYOUT.size]
            if zlib.crc32(whole) == int.from_bytes(data[LAYOUT.size:HEADER_SIZE], "big"):
                raise FormatError("header's format was changed", 8)  # S-2
        raise UnsupportedFormat(f"format {version} is not supported", 8)  # S-2
    if len(data) < HEADER_SIZE:
        raise FormatError("header is cut short", len(data))
    (_, _, reserved, data_set, writer, replica, first, last, previous, last_name,
     inflated, stored, checksum) = LAYOUT.unpack(data[:LAYOUT.size])
    if zlib.crc32(data[:LAYOUT.size]) != int.from_bytes(data[LAYOUT.size:HEADER_SIZE], "big"):
        raise FormatError("header's CRC is wrong", 120)
    if reserved != 0:
        raise UnsupportedFormat("reserved bytes are not zero", 10)  # S-2
    if not 1 <= first <= last < SEQUENCE_END:
        raise FormatError(f"sequences {first} to {last} are impossible", 60)
    if last - first >= COUNT_LIMIT:
        raise FormatError("more transactions than the limit", 68)
    if first == 1 and any(previous):
        raise FormatError("a transaction is named before the first of all", 76)
    checked_stamp(Name.read(previous).stamp, 76)
    checked_stamp(Name.read(last_name).stamp, 88)
    if inflated > BODY_LIMIT:
        raise FormatError("body is over the limit", 100)
    if stored > BODY_LIMIT:
        raise FormatError("body in the file is over the limit", 108)
    if inflated > stored * RATIO_LIMIT:
        raise FormatError("body is said to inflate beyond what zlib can", 100)
    if file_size != HEADER_SIZE + stored:
        raise FormatError("file's length is not what the header says", file_size)
    return Header(data_set, writer, replica, first, last, Name.read(previous),
                  Name.read(last_name), inflated, stored, checksum)


def inflated_body(data: bytes, header: Header) -> bytes:
    stream = zlib.decompressobj()
    try:
        # One byte more than was said, to learn whether there are more. Zero would mean no limit.
        body = stream.decompress(data[HEADER_SIZE:], header.inflated + 1)
    except zlib.error as error:
        raise FormatError(f"body does not inflate ({error})", HEADER_SIZE) from error
    if len(body) != header.inflated:
        raise FormatError("body's length is not what the header says", 100)
    if not stream.eof:
        raise FormatError("body's zlib stream is cut short", len(data))
    if stream.unused_data:
        offset = len(data) - len(stream.unused_data)
        raise FormatError("bytes follow the body's zlib stream", offset)
    return body
