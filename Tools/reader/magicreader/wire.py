"""Pulling from a server (wire.md), as a client that holds nothing and reads only."""
from __future__ import annotations

import os
import socket
from typing import Dict, Tuple
from urllib.parse import urlsplit

from .checkpoint import Checkpoint, read_checkpoint
from .cursor import FormatError
from .folder import Held, RemoteError, SegmentName, name_of
from .segment import HEADER_SIZE, Segment, read_header, read_segment

MAGIC = b"MAGICWIR"
VERSION = 1
FRAME_LIMIT = 1 << 20  # W-1
PIECE_LIMIT = 262_144
SILENCE = 60  # seconds, W-12
STORED_LENGTH = slice(108, 116)  # in a segment's header (segment.md)

CAPABILITIES = (b"checkpoints",)

HELLO, HELD, PULL, SEGMENT, DATA, PONG, DIGEST, CHECKPOINT = 0x01, 0x03, 0x04, 0x05, 0x06, 0x0D, 0x0E, 0x0F
WELCOME, STANDING, PULLED, CHANGED, PING, DIGESTED, ERROR = (
    0x81, 0x83, 0x84, 0x8C, 0x8D, 0x8E, 0xFF)


def is_server(address: str) -> bool:
    return address.startswith(("tcp://", "unix:"))


class Server(Held):
    """What a folder is to a pull: all segments of a server that stores or merges."""

    def __init__(self, address: str, token: bytes = b"") -> None:
        self.path = address
        self.held: Dict[SegmentName, Segment] = {}
        self.kept: Dict[str, Checkpoint] = {}
        try:
            with connect(address) as self.stream:
                self.exchange(token)
        except OSError as error:
            raise RemoteError(f"{address}: {error}") from error

    def exchange(self, token: bytes) -> None:
        versions = VERSION.to_bytes(2, "big") * 2
        self.send(HELLO, MAGIC + versions + os.urandom(16) + bytes(16) + varint(len(token)) + token
                  + varint(len(CAPABILITIES)) + b"".join(varint(len(each)) + each for each in CAPABILITIES))
        welcome = self.answer(WELCOME)
        if len(welcome) < 35 or int.from_bytes(welcome[:2], "big") != VERSION:
            raise self.wrong("another version")
        self.data_set = welcome[18:34]
        if not any(self.data_set):
            raise self.wrong("it holds nothing yet")
        self.digest: str = ""
        self.send(HELD, varint(0))
        self.frontier = self.read_standing(self.answer(STANDING))
        self.send(PULL, varint(0))
        while True:
            kind, body = self.frame()
            if kind == PULLED:
                break
            if kind == CHECKPOINT and len(body) == 8:
                self.read_checkpoint_of(int.from_bytes(body, "big"))
                continue
            if kind != SEGMENT or len(body) != 16 + HEADER_SIZE:
                raise self.wrong(f"a frame of kind {kind} among segments")
            self.read_segment(body[:16], body[16:])
        self.check_frontier()
        asked = sorted(self.frontier.items())
        self.send(DIGEST, varint(len(asked)) + b"".join(
            replica + last.to_bytes(8, "big") for replica, last in asked))
        answer = self.answer(DIGESTED)
        if answer[:1] == b"\x01" and len(answer) == 17:
            self.digest = answer[1:].hex()

    def read_segment(self, name: bytes, head: bytes) -> None:
        size = int.from_bytes(head[STORED_LENGTH], "big")
        try:
            read_header(head, HEADER_SIZE + size)
            data = bytearray(head)
            while len(data) < HEADER_SIZE + size:
                piece = self.answer(DATA)
                if not 1 <= len(piece) <= min(PIECE_LIMIT, HEADER_SIZE + size - len(data)):
                    raise self.wrong("a piece of a segment has another length than it may")
                data += piece
            segment = read_segment(bytes(data))
        except FormatError as error:
            raise self.wrong(str(error)) from error
        if segment.header.data_set != self.data_set or segment.name != name.hex():
            raise self.wrong("a segment of another data set, or under another name")
        self.held[name_of(segment)] = segment

    def read_checkpoint_of(self, size: int) -> None:
        data = bytearray()
        while len(data) < size:
            piece = self.answer(DATA)
            if not 1 <= len(piece) <= min(PIECE_LIMIT, size - len(data)):
                raise self.wrong("a piece of a checkpoint has another length than it may")
            data += piece
        try:
            checkpoint = read_checkpoint(bytes(data))
        except FormatError as error:
            raise self.wrong(str(error)) from error
        if checkpoint.data_set != self.data_set:
            raise self.wrong("a checkpoint of another data set")
        self.kept[checkpoint.name] = checkpoint

    def read_standing(self, body: bytes) -> Dict[bytes, int]:
        count, offset = read_varint(body, 12)
        frontier: Dict[bytes, int] = {}
        for _ in range(count):
            frontier[body[offset:offset + 16]] = int.from_bytes(body[offset + 16:offset + 24], "big")
            runs, offset = read_varint(body, offset + 37)
            offset += 16 * runs
        if offset != len(body):
            raise self.wrong("a standing has another length than it says")
        return frontier

    def check_frontier(self) -> None:
        """W-7: all that it takes to arrive where the server stands."""
        for replica, last in self.frontier.items():
            reached = max((each.floor[replica][0] for each in self.kept.values() if replica in each.floor), default=0)
            for name in sorted((name for name in self.held if name.replica == replica), key=lambda name: name.first):
                if name.first <= reached + 1:
                    reached = max(reached, name.last)
            if reached < last:
                raise self.wrong(f"of {replica.hex()} {reached + 1} to {last} did not come")

    # Frames

    def send(self, kind: int, body: bytes) -> None:
        self.stream.sendall(len(body).to_bytes(4, "big") + bytes([kind]) + body)

    def frame(self) -> Tuple[int, bytes]:
        while True:
            head = self.take(5)
            size, kind = int.from_bytes(head[:4], "big"), head[4]
            if size > FRAME_LIMIT:
                raise self.wrong("a frame above the limit")
            body = self.take(size)
            if kind == PING:
                self.send(PONG, b"")
            elif kind == ERROR:
                _, offset = read_varint(body, 1)
                raise self.wrong(f"refused with {body[0]}: {body[offset:].decode('utf-8', 'replace')}")
            elif kind != CHANGED:
                return kind, body

    def answer(self, kind: int) -> bytes:
        found, body = self.frame()
        if found != kind:
            raise self.wrong(f"a frame of kind {found} where {kind} belongs")
        return body

    def take(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self.stream.recv(size - len(data))
            if not piece:
                raise self.wrong("it closed the connection")
            data += piece
        return bytes(data)

    def wrong(self, what: str) -> RemoteError:
        return RemoteError(f"{self.path}: {what}")


class Replay(Server):
    """A server of which it is known beforehand what it says."""

    def __init__(self, name: str, said: bytes) -> None:
        self.path = name
        self.held = {}
        self.kept = {}
        self.said = said
        self.exchange(b"")

    def send(self, kind: int, body: bytes) -> None:
        pass

    def take(self, size: int) -> bytes:
        if size > len(self.said):
            raise self.wrong("it closed the connection")
        data, self.said = self.said[:size], self.said[size:]
        return data


def connect(address: str) -> socket.socket:
    if address.startswith("unix:"):
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(SILENCE)
        stream.connect(address[len("unix:"):])
        return stream
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname or "", parts.port or 7420), timeout=SILENCE)


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def read_varint(data: bytes, offset: int) -> Tuple[int, int]:
    number = shift = 0
    while offset < len(data) and shift < 63:
        byte = data[offset]
        number |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return number, offset
    raise FormatError("a number is cut short", offset)
