"""Pulling all of a folder remote into a new journal (folder.md, Pull)."""
from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Set, Tuple, Union

from .clock import is_too_early
from .bundle import Bundle
from .folder import Folder, RemoteError, SegmentName
from .journal import ForkError, Journal, Name
from .schema import KnownSchema
from .segment import Header, Segment
from .wire import Server


class Pull:
    """What came of it: the journal, and a line for each replica that is held back (C-5), each
    file that was of no use and each hole (F-10)."""

    def __init__(self, folder: Union[Folder, Bundle, Server], now: int) -> None:
        self.folder = folder
        self.now = now
        self.journal = Journal()
        self.schema = KnownSchema()
        self.held_back: List[str] = []
        self.unread: List[str] = []
        self.parked: List[str] = []
        self.waiting: Set[bytes] = set()  # the replicas that are held back
        self.headers: Dict[SegmentName, Header] = {}  # of the files that count (F-5)
        self.unusable: Dict[SegmentName, RemoteError] = {}  # do not count, or are damaged
        for name in folder.segments():
            try:
                self.headers[name] = folder.read_header(name)
            except RemoteError as error:
                self.unusable[name] = error
        check_claims(self.headers.values(), self.journal)
        for replica in sorted({name.replica for name in self.headers}):
            self.pull_replica(replica)
        # F-7, once more: a fork between a file that was taken and one that was not shows only now.
        check_claims(self.headers.values(), self.journal)
        self.tell()

    def tell(self) -> None:
        """What nothing else gave (F-10)."""
        for name, error in self.unusable.items():
            if name.replica not in self.waiting and name.last >= self.next(name):
                self.unread.append(str(error))
        for replica in sorted({name.replica for name in self.headers} - self.waiting):
            first = self.journal.next_sequence(replica)
            readable = [name for name in self.headers
                        if name.replica == replica and name not in self.unusable]
            beyond = [name.first for name in readable if name.first > first]
            if beyond and farthest(readable, first) is None:
                self.parked.append(f"{replica.hex()} {first} to {min(beyond) - 1} are missing")

    def next(self, name: SegmentName) -> int:
        return self.journal.next_sequence(name.replica)

    def pull_replica(self, replica: bytes) -> None:
        names = [name for name in self.headers if name.replica == replica]
        while True:
            name = farthest(names, self.journal.next_sequence(replica))
            if name is None:
                return
            try:
                segment = self.folder.read(name)
            except RemoteError as error:
                self.unusable[name] = error
                names.remove(name)  # F-9: the next best
                continue
            if not self.merge(segment):
                return

    def merge(self, segment: Segment) -> bool:
        """Whether all of it is held now."""
        header = segment.header
        self.journal.check_held(header.replica, header.first - 1, header.previous)  # J-3
        self.schema.learn(segment.schema)
        for transaction in segment.transactions:
            is_new = transaction.sequence == self.journal.next_sequence(transaction.replica)
            if is_new and is_too_early(transaction.stamp, self.now):
                self.waiting.add(transaction.replica)
                place = f"{transaction.replica.hex()} {transaction.sequence}"
                self.held_back.append(f"{place} waits: its clock is more than an hour ahead")
                return False
            self.journal.store(transaction)
        return True


def farthest(names: Iterable[SegmentName], next_sequence: int) -> Optional[SegmentName]:
    """The segment to take next (F-9)."""
    usable = [name for name in names if name.first <= next_sequence <= name.last]
    return max(usable, key=lambda name: (name.last, name.first, name.name), default=None)


def check_claims(headers: Iterable[Header], journal: Journal) -> None:
    """What the headers say of the name at one sequence is the same everywhere (F-7)."""
    claims: Dict[Tuple[bytes, int], Name] = {}
    for header in headers:
        named = ((header.first - 1, header.previous), (header.last, header.last_name))
        for sequence, name in named:
            if claims.setdefault((header.replica, sequence), name) != name:
                raise ForkError(f"fork: two transactions at {header.replica.hex()} {sequence}")
            journal.check_held(header.replica, sequence, name)
