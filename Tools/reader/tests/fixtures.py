"""Seeded random values, transactions and replicas."""
from __future__ import annotations

import random
from typing import Dict, List, Optional, Sequence, Tuple

from magicreader.clock import TICKS
from magicreader.encoder import NO_NAME, encode_segment
from magicreader.folder import SegmentName
from magicreader.journal import CLAIM_END, REMOVES, WITH_BASE, Birth, Entry, ObjectName, Operation, Transaction
from magicreader.segment import segment_name
from magicreader.values import Identity, Kind, Target, Value, identity_bytes

DATA_SET = bytes(range(16))
TEXTS = ["", "é", "e\u0301", "a\0b", "\U0001F600", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F",
         "e621e1f8-c36c-495a-93fc-0c247a3e6e5f", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F ", "\\\""]
INTEGERS = [0, 1, -1, 63, -64, 64, -65, 2**63 - 1, -(2**63)]
TYPES = [("Note", Kind.NULL), ("Note", Kind.TEXT), ("Tag", Kind.INTEGER), ("Größe", Kind.NULL)]
FIELDS = ["title", "count", "data", "é"]


def random_value(generator: random.Random, target: Optional[Target] = None) -> Value:
    """A relation's objects are of the target, or of any type if there is none."""
    kind = generator.choice(list(Kind))
    if kind == Kind.ASSET:
        return Value(kind, generator.randbytes(32).hex() + generator.choice(["", ".x", ".Jpeg2"]))
    if kind >= Kind.REFERENCE:
        return Value(kind, random_content(generator, kind, target), target)
    if kind == Kind.NULL:
        return Value(kind, None)
    if kind == Kind.INTEGER:
        bits = generator.randrange(1, 64)
        either = generator.randrange(-(1 << bits), 1 << bits)
        return Value(kind, generator.choice(INTEGERS + [either]))
    if kind == Kind.REAL:
        return Value(kind, generator.randbytes(8))
    if kind == Kind.TEXT:
        return Value(kind, generator.choice(TEXTS) + generator.choice(["", "x" * 200]))
    return Value(kind, generator.randbytes(generator.randrange(200)))


def random_content(generator: random.Random, kind: Kind, target: Optional[Target]) -> object:
    def identity() -> Identity:
        return random_identity(generator, (target or generator.choice(TYPES))[1])

    if kind == Kind.REFERENCE:
        return identity()
    if kind == Kind.LIST:
        return tuple(identity() for _ in range(generator.randrange(5)))
    count = generator.randrange(1, 5)
    if kind == Kind.SET:
        members = {identity_bytes(each): each for each in (identity() for _ in range(count))}
        return tuple((members[name], generator.random() < 0.7) for name in sorted(members))
    keys = sorted({generator.choice([b'""', b'"aa"', b'"b"', b"10", b"9"]) for _ in range(count)})
    return tuple((key, identity() if generator.random() < 0.7 else None) for key in keys)


def random_identity(generator: random.Random, kind: Kind) -> Identity:
    if kind == Kind.NULL:  # few births, so that an element is written more than once
        return Birth(generator.randrange(1, 4), b"born", generator.randrange(2))
    if kind == Kind.INTEGER and generator.random() < 0.4:  # with an automatic number (J-26)
        return Birth(generator.randrange(1, 4), b"numb", generator.randrange(2))
    return random_primary(generator, kind)


def random_primary(generator: random.Random, kind: Kind) -> Value:
    if kind == Kind.INTEGER:
        return Value(kind, generator.choice(INTEGERS))
    return Value(kind, generator.choice(TEXTS))


def random_fields(generator: random.Random) -> Dict[str, Value]:
    names = generator.sample(FIELDS, generator.randrange(len(FIELDS) + 1))
    return {name: random_value(generator, generator.choice(TYPES)) for name in names}


class History:
    """What some replicas write, each knowing of births by chance."""

    def __init__(self, seed: int, replicas: int = 3) -> None:
        self.generator = random.Random(seed)
        self.replicas = [self.generator.randbytes(16) for _ in range(replicas)]
        self.stamps = {replica: 1_700_000_000_000 * TICKS for replica in self.replicas}
        self.births: List[Tuple[str, Kind, Birth]] = []
        self.written: Dict[bytes, List[Transaction]] = {replica: [] for replica in self.replicas}

    def write(self, count: int) -> List[Transaction]:
        return [self.write_one() for _ in range(count)]

    def write_one(self) -> Transaction:
        generator = self.generator
        replica = generator.choice(self.replicas)
        # Steps are small, so that replicas often use one stamp (C-6).
        stamp = self.stamps[replica] = self.stamps[replica] + generator.randrange(1, 4)
        tag = generator.randbytes(4)
        entries: Dict[ObjectName, Entry] = {}
        for _ in range(generator.randrange(1, 6)):
            entry = self.entry(stamp, tag, len(entries))
            if entry is not None:
                entries.setdefault(entry.object, entry)
        if not entries:
            name = ObjectName("Tag", Kind.INTEGER, Value(Kind.INTEGER, 7))
            entries[name] = Entry(name, Operation.UPDATE, random_fields(generator))
        transaction = Transaction(replica, len(self.written[replica]) + 1, stamp, tag, replica,
                                  tuple(entries.values()))
        self.written[replica].append(transaction)
        return transaction

    def entry(self, stamp: int, tag: bytes, ordinal: int) -> Optional[Entry]:
        generator = self.generator
        type, kind = generator.choice(TYPES)
        if kind == Kind.NULL and generator.random() < 0.3:
            birth = Birth(stamp, tag, ordinal)
            self.births.append((type, kind, birth))
            return Entry(ObjectName(type, kind, birth), Operation.BIRTH, random_fields(generator))
        if kind == Kind.INTEGER and generator.random() < 0.3:
            birth = Birth(stamp, tag, ordinal)
            self.births.append((type, kind, birth))
            number = generator.choice([1, 2, 63, 64, CLAIM_END - 1])
            operation = generator.choice([Operation.CLAIM, Operation.CLAIM, Operation.WITHDRAWAL])
            fields = {} if operation in REMOVES else random_fields(generator)
            return Entry(ObjectName(type, kind, birth), operation, fields, None, number)
        operation = generator.choice([Operation.REMOVE, Operation.UPDATE, Operation.REVIVAL, Operation.PURGE])
        fields = {} if operation in REMOVES else random_fields(generator)
        base = stamp - generator.randrange(1, 10) if operation in WITH_BASE else None
        if kind != Kind.NULL and (kind == Kind.TEXT or generator.random() < 0.5):
            name = ObjectName(type, kind, random_primary(generator, kind))
            return Entry(name, operation, fields, base)
        known = [each for each in self.births if each[2].stamp < stamp]
        if not known:
            return None
        type, kind, birth = generator.choice(known)
        return Entry(ObjectName(type, kind, birth), operation, fields, base)


def segment_file(transactions: Sequence[Transaction], first: int, last: int) -> Tuple[str, bytes]:
    """A segment of the run first to last of one replica's transactions: file name, content."""
    run = transactions[first - 1:last]
    previous = transactions[first - 2].name if first > 1 else NO_NAME
    name = SegmentName(run[0].replica, first, last, segment_name(run))
    return name.file_name, encode_segment(run, DATA_SET, bytes(16), previous)
