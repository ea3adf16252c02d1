"""The fold of transactions to a state, and its digest (merge.md)."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

from .cursor import string_bytes, varint_bytes
from .journal import CLAIM_END, REMOVES, Entry, ObjectName, Operation, Transaction
from .schema import Field
from .values import WITH_ELEMENTS, Kind, Value, identity_bytes

Version = Tuple[int, bytes]  # M-1: stamp, root
Rank = Tuple[Version, bytes, bytes, bytes, int]


@dataclass(frozen=True)
class Write:
    """Of a set or dictionary: to one element."""

    version: Version
    value: Value

    def order(self) -> Tuple[Version, bytes]:
        return self.version, self.value.encoding()  # M-1

    def is_in(self) -> bool:
        return self.value.kind not in WITH_ELEMENTS or self.value.elements()[0][1]

    def rank(self) -> Rank:
        """Among the writes to the fields of one name (M-14)."""
        encoding = self.value.encoding()
        rest = b"" if self.value.kind in WITH_ELEMENTS else encoding[1:]
        name, kind = self.value.target or ("", 0)
        return self.version, encoding[:1], rest, name.encode("utf-8"), kind


@dataclass
class ObjectState:
    """What all the entries of one object come to, in whichever order they came."""

    updated: Optional[Version] = None
    removed: Optional[Version] = None
    base: Optional[int] = None
    claim: Optional[int] = None
    writes: Dict[str, Write] = field(default_factory=dict)
    elements: Dict[Tuple[Field, bytes], Write] = field(default_factory=dict)

    def merge(self, entry: Entry, version: Version) -> None:
        if entry.number is not None:
            self.claim = max(self.claim or 0, entry.number)  # M-20
        if entry.operation in REMOVES:
            self.removed = max(self.removed or version, version)
            return
        if entry.base is not None:
            self.base = entry.base if self.base is None else max(self.base, entry.base)
        if entry.operation == Operation.PURGE and entry.base is not None:
            remove = (entry.base + 1, bytes(16))
            self.removed = max(self.removed or remove, remove)
            version = (entry.base + 1, version[1])  # M-23
        else:
            self.updated = max(self.updated or version, version)
        for name, value in entry.fields.items():
            if value.kind in WITH_ELEMENTS:
                self.merge_elements(Field(name, value.kind, value.target), value, version)
                continue
            write = Write(version, value)
            held = self.writes.get(name)
            if held is None or held.rank() < write.rank():  # M-2
                self.writes[name] = write

    def merge_elements(self, place: Field, value: Value, version: Version) -> None:
        for name, _, alone in value.elements():
            write = Write(version, alone)
            held = self.elements.get((place, name))
            if held is None or held.order() < write.order():  # M-13
                self.elements[place, name] = write

    def is_alive(self) -> bool:
        if self.updated is None:
            return False
        return self.removed is None or self.updated > self.removed  # M-3

    def is_valid(self, write: Write) -> bool:
        """M-4. If the highest write is void, so are all below it."""
        return self.base is None or write.version[0] > self.base

    def values(self) -> Dict[str, Write]:
        return {name: write for name, write in self.writes.items() if self.is_valid(write)}

    def valid_elements(self) -> List[Tuple[Field, Write]]:
        """In or out."""
        return [(place, write) for (place, _), write in self.elements.items() if self.is_valid(write)]

    def row(self) -> Dict[str, Value]:
        """What is shown of each name (M-14)."""
        highest: Dict[str, Tuple[Rank, Field]] = {}
        values, elements = self.values(), self.valid_elements()
        for place, write in [*((Field(name, write.value.kind, write.value.target), write)
                               for name, write in values.items()), *elements]:
            if place.name not in highest or highest[place.name][0] < write.rank():
                highest[place.name] = write.rank(), place
        row: Dict[str, Value] = {}
        for name, (_, shown) in highest.items():
            if shown.kind not in WITH_ELEMENTS:
                row[name] = values[name].value
                continue
            ins = [write.value for place, write in elements if place == shown and write.is_in()]
            if ins:
                ins.sort(key=lambda value: value.elements()[0][0])
                row[name] = Value(shown.kind, tuple(value.content[0] for value in ins), shown.target)
        return row


State = Dict[ObjectName, ObjectState]


def fold(transactions: Iterable[Transaction]) -> State:
    state: State = {}
    for transaction in transactions:
        version = (transaction.stamp, transaction.root)
        for entry in transaction.entries:
            state.setdefault(entry.object, ObjectState()).merge(entry, version)
    return state


def alive(state: State) -> Dict[ObjectName, ObjectState]:
    return {name: held for name, held in state.items() if held.is_alive()}


def numbers(state: State) -> Dict[ObjectName, int]:
    """The numbers of all objects that have claimed one, alive or not (M-16 to M-18)."""
    shown: Dict[ObjectName, int] = {}
    taken = {(name.type, name.identity.content) for name in state
             if name.primary_kind == Kind.INTEGER and isinstance(name.identity, Value)}
    claims = sorted(((name.identity.encoding(), name, held.claim)
                     for name, held in state.items() if held.claim is not None),
                    key=lambda claim: claim[0])
    lost = []
    for birth, name, number in claims:
        if (name.type, number) in taken:
            lost.append((birth, name))
        else:
            taken.add((name.type, number))
            shown[name] = number
    for birth, name in lost:
        shown[name] = next(number for number in own_numbers(birth) if (name.type, number) not in taken)
        taken.add((name.type, shown[name]))
    return shown


def own_numbers(birth: bytes) -> Iterator[int]:
    """Attempt after attempt, each with a byte 0 more behind the birth (M-17)."""
    hashed = hashlib.sha256(birth)
    while True:
        # The state goes on, so that what it takes grows with how many a file makes others take, and no faster.
        yield CLAIM_END + int.from_bytes(hashed.digest()[:8], "big") % CLAIM_END
        hashed.update(b"\0")


def digest(state: State) -> str:
    total = 0
    known = numbers(state)
    for name, held in alive(state).items():
        number = object_number(name)
        total += int.from_bytes(number, "big")
        if held.claim is not None:
            is_lost = bytes([known[name] != held.claim])
            claim = shortened(b"C" + number + is_lost + varint_bytes(held.claim))
            total += int.from_bytes(claim, "big")
        elements = [(place.name, write) for place, write in held.valid_elements() if write.is_in()]
        for field_name, write in [*held.values().items(), *elements]:
            total += int.from_bytes(value_number(number, field_name, write), "big")
    return f"{total % (1 << 128):032x}"  # M-11


def object_number(name: ObjectName) -> bytes:
    kind = bytes([name.primary_kind])
    return shortened(b"O" + string_bytes(name.type) + kind + identity_bytes(name.identity))


def value_number(number: bytes, field_name: str, write: Write) -> bytes:
    stamp, root = write.version
    place = string_bytes(field_name) + stamp.to_bytes(8, "big") + root
    return shortened(b"V" + number + place + write.value.encoding())


def shortened(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:16]
