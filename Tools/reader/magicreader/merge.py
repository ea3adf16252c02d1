"""The fold of transactions to a state, and its digest (merge.md)."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Dict, Iterable, Optional, Tuple

from .cursor import string_bytes
from .journal import Birth, Entry, ObjectName, Operation, Transaction
from .values import Value

BIRTH_CODE = b"\x07"  # M-11: no value begins so (V-1)
Version = Tuple[int, bytes]  # M-1: stamp, root


@dataclass(frozen=True)
class Write:
    version: Version
    value: Value

    def order(self) -> Tuple[Version, bytes]:
        return self.version, self.value.encoding()  # M-1


@dataclass
class ObjectState:
    """What all the entries of one object come to, in whichever order they came."""

    updated: Optional[Version] = None
    removed: Optional[Version] = None
    base: Optional[int] = None
    writes: Dict[str, Write] = field(default_factory=dict)

    def merge(self, entry: Entry, version: Version) -> None:
        if entry.operation == Operation.REMOVE:
            self.removed = max(self.removed or version, version)
            return
        self.updated = max(self.updated or version, version)
        if entry.base is not None:
            self.base = entry.base if self.base is None else max(self.base, entry.base)
        for name, value in entry.fields.items():
            write = Write(version, value)
            held = self.writes.get(name)
            if held is None or held.order() < write.order():  # M-2
                self.writes[name] = write

    def is_alive(self) -> bool:
        if self.updated is None:
            return False
        return self.removed is None or self.updated > self.removed  # M-3

    def values(self) -> Dict[str, Write]:
        """Those that are not void (M-4). If the highest write is void, so are all below it."""
        return {
            name: write
            for name, write in self.writes.items()
            if self.base is None or write.version[0] > self.base
        }


State = Dict[ObjectName, ObjectState]


def fold(transactions: Iterable[Transaction]) -> State:
    state: State = {}
    for transaction in transactions:
        version = (transaction.stamp, transaction.root)
        for entry in transaction.entries:
            state.setdefault(entry.object, ObjectState()).merge(entry, version)
    return state


def alive(state: State) -> Dict[ObjectName, Dict[str, Write]]:
    return {name: held.values() for name, held in state.items() if held.is_alive()}


def digest(state: State) -> str:
    total = 0
    for name, writes in alive(state).items():
        number = object_number(name)
        total += int.from_bytes(number, "big")
        for field_name, write in writes.items():
            total += int.from_bytes(value_number(number, field_name, write), "big")
    return f"{total % (1 << 128):032x}"  # M-11


def object_number(name: ObjectName) -> bytes:
    kind = bytes([name.primary_kind])
    identity = name.identity.encoding()
    if isinstance(name.identity, Birth):
        identity = BIRTH_CODE + identity
    return shortened(b"O" + string_bytes(name.type) + kind + identity)


def value_number(number: bytes, field_name: str, write: Write) -> bytes:
    stamp, root = write.version
    place = string_bytes(field_name) + stamp.to_bytes(8, "big") + root
    return shortened(b"V" + number + place + write.value.encoding())


def shortened(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:16]
