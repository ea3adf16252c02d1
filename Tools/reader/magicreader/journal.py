"""Transactions, entries, names of objects, and the journal that keeps them (journal.md)."""
from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Dict, Iterator, List, Optional, Tuple, Union

from .cursor import FormatError
from .values import ORDINAL_LIMIT, Birth, Kind, Value

NAME_SIZE = 12
NAME_LIMIT, FIELD_LIMIT, SCHEMA_LIMIT, TYPE_LIMIT = 255, 1_000, 8_192, 4_096  # J-15
TRANSACTION_LIMIT = 1 << 26  # J-20, as is the next line
ENTRY_SIZE, BIRTH_SIZE, FIELD_SIZE, ELEMENT_SIZE = 16, 16, 4, 16
ENTRY_LIMIT = ORDINAL_LIMIT  # J-2, S-8
SEGMENT_LIMIT = (1 << 26) + (1 << 23)  # S-8: the sizes of a segment's transactions together
CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # J-15


class ForkError(Exception):
    """Two transactions at one address (J-3)."""


@dataclass(frozen=True)
class Name:
    """A transaction's name, wherever it is stored (J-3)."""

    stamp: int
    tag: bytes

    def encoding(self) -> bytes:
        return self.stamp.to_bytes(8, "big") + self.tag

    @staticmethod
    def read(data: bytes) -> Name:
        return Name(int.from_bytes(data[:8], "big"), data[8:NAME_SIZE])


@dataclass(frozen=True)
class ObjectName:
    """The kind belongs to the type (J-5); NULL stands for no primary value."""

    type: str
    primary_kind: Kind
    identity: Union[Value, Birth]


class Operation(IntEnum):
    REMOVE = 0
    UPDATE = 1
    REVIVAL = 2
    BIRTH = 3
    CLAIM = 4
    WITHDRAWAL = 5
    PURGE = 6


REMOVES = (Operation.REMOVE, Operation.WITHDRAWAL)
WITH_BASE = (Operation.REVIVAL, Operation.PURGE)
CLAIMS = (Operation.CLAIM, Operation.WITHDRAWAL)
FIRSTS = (Operation.BIRTH, *CLAIMS)  # their objects are named by the entry's own place
CLAIM_END = 1 << 61  # J-26


@dataclass(frozen=True)
class Entry:
    object: ObjectName
    operation: Operation
    fields: Dict[str, Value]
    base: Optional[int] = None
    number: Optional[int] = None


@dataclass(frozen=True)
class Transaction:
    replica: bytes
    sequence: int
    stamp: int
    tag: bytes
    root: bytes
    entries: Tuple[Entry, ...]

    @property
    def name(self) -> Name:
        return Name(self.stamp, self.tag)


class Journal:
    """The transactions that are held, of each replica from sequence 1 on."""

    def __init__(self) -> None:
        self.held: Dict[bytes, List[Transaction]] = {}
        self.floor: Dict[bytes, Tuple[int, Name]] = {}  # K-1
        self.kept: List[Transaction] = []  # K-2

    def __iter__(self) -> Iterator[Transaction]:
        yield from self.kept
        for transactions in self.held.values():
            yield from transactions

    def next_sequence(self, replica: bytes) -> int:
        return self.end_of_floor(replica) + len(self.held.get(replica, ())) + 1

    def end_of_floor(self, replica: bytes) -> int:
        return self.floor[replica][0] if replica in self.floor else 0

    def check_held(self, replica: bytes, sequence: int, name: Name) -> None:
        held = self.held.get(replica, [])
        index = sequence - self.end_of_floor(replica)
        is_floor = sequence > 0 and index == 0
        if is_floor and self.floor[replica][1] != name or 1 <= index <= len(held) and held[index - 1].name != name:
            raise ForkError(f"fork: two transactions at {replica.hex()} {sequence}")  # J-3

    def store(self, transaction: Transaction) -> bool:
        """Whether it is stored; one that is held, or beyond a gap, is not (M-8)."""
        self.check_held(transaction.replica, transaction.sequence, transaction.name)
        if transaction.sequence != self.next_sequence(transaction.replica):
            return False
        self.held.setdefault(transaction.replica, []).append(transaction)
        return True


def checked_name(name: str, offset: int) -> str:
    """A name of a type or field (J-15)."""
    if not 1 <= len(name.encode("utf-8")) <= NAME_LIMIT:
        raise FormatError("name is empty or too long", offset)
    if CONTROL_CHARACTER.search(name):
        raise FormatError("name has a control character", offset)
    return name
