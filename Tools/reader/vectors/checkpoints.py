"""Checkpoints for what the vectors that Swift writes leave out (checkpoint.md)."""
from __future__ import annotations

from typing import Any, Dict, List, Sequence

from magicreader.body import read_kept
from magicreader.checkpoint import read_checkpoint
from magicreader.clock import HIGHEST_STAMP
from magicreader.cursor import varint_bytes
from magicreader.journal import Name
from magicreader.merge import digest, fold
from magicreader.notation import transaction_json

from .raw import REPLICA, Body, End, Vectors, checkpoint_end, checkpoint_header, crc, deflated, invalid, part, string

OTHER = bytes.fromhex("00000000000000020000000000000002")
END: End = (REPLICA, 1, Name(9, bytes(4)))
ONE = Body()
BODY = ONE.encoding()
# At one stamp, by tag and then by root.
THREE = ONE.with_(
    roots=(REPLICA, OTHER), stamps=b"\x09\0\0", tags=bytes(4) + b"\0\0\0\1" * 2, places=b"\0\0\1",
    counts=b"\1\1\1", entries=b"\0\0\0",
    columns=(b"\3\1x\3\1y\3\1z", b"\1\2" * 3))
BORN = ONE.with_(
    types=(string("T") + b"\0\1" + string("a") + b"\1", string("N") + b"\1" + string("id") + b"\0"),
    shapes=(b"\0\3\1\0", b"\0\0", b"\1\4\0", b"\1\5"), counts=b"\4", entries=b"\0\1\2\3",
    columns=(varint_bytes((1 << 22) - 1) + bytes(5) + b"\7", b"\1\2", b"\2\1" + b"\5" + varint_bytes((1 << 61) - 1)))


def digest_of(bodies: Sequence[bytes]) -> str:
    return digest(fold([each for body in bodies for each in read_kept(body)[1]]))


def checkpoint(bodies: Sequence[bytes], floor: Sequence[End] = (END,)) -> bytes:
    entries = sum(len(each.entries) for body in bodies for each in read_kept(body)[1])
    parts = b"".join(part(body) for body in bodies)
    return checkpoint_header(floor, digest_of(bodies)) + parts + checkpoint_end(entries, len(bodies))


def said(name: str, file: bytes) -> Dict[str, Any]:
    """A valid one, and what it says."""
    read = read_checkpoint(file)
    return {"name": name, "fileName": read.name + ".checkpoint", "file": file.hex(), "dataSet": read.data_set.hex(),
            "writer": read.writer.hex(), "digest": read.digest,
            "floor": {replica.hex(): f"{sequence} {end.encoding().hex()}" for replica, (sequence, end) in read.floor.items()},
            "transactions": [transaction_json(each) for each in read.transactions()]}


def valid() -> Vectors:
    later = ONE.with_(stamps=b"\x0a").encoding()
    highest = (OTHER, (1 << 62) - 1, Name(HIGHEST_STAMP, b"\xff" * 4))
    return [
        said("K-10: the lowest and the highest end", checkpoint([BODY], [(REPLICA, 1, Name(1, bytes(4))), highest])),
        said("K-11: two parts", checkpoint([BODY, later])),
        said("K-11: two parts that divide a stamp", checkpoint([BODY, ONE.with_(tags=b"\0\0\0\1").encoding()])),
        said("K-11: nothing is kept", checkpoint([])),
        said("K-11: three of one stamp", checkpoint([THREE.encoding()])),
        said("K-11: ordinals of their own, and a remove of another birth of its transaction", checkpoint([BORN.encoding()])),
    ]


def broken_headers() -> Vectors:
    rest = part(BODY) + checkpoint_end(1, 1)
    digest = digest_of([BODY])

    def with_floor(*floor: End) -> bytes:
        return checkpoint_header(floor, digest) + rest

    good = checkpoint([BODY])
    return [
        invalid("another format", checkpoint_header([END], digest, format=2) + rest,
                "S-2: format 2 is not known", "incompatible"),
        invalid("reserved bytes", checkpoint_header([END], digest, reserved=1) + rest,
                "S-2: reserved bytes are 0", "incompatible"),
        invalid("a short header", good[:63], "K-12: the header is cut"),
        invalid("a header without its checksum", good[:102], "K-12: the header is cut"),
        invalid("no floor", with_floor(), "K-10: a floor has one replica at least"),
        invalid("a replica twice", with_floor(END, END), "K-10: replicas rise"),
        invalid("replicas fall", with_floor((OTHER, 1, Name(9, bytes(4))), END), "K-10: replicas rise"),
        invalid("floor at 0", with_floor((REPLICA, 0, Name(9, bytes(4)))), "K-11: a floor ends at 1 at least"),
        invalid("floor at 2^62", with_floor((REPLICA, 1 << 62, Name(9, bytes(4)))), "K-11: sequences are below 2^62"),
        invalid("floor at stamp 0", with_floor((REPLICA, 1, Name(0, bytes(4)))), "C-4: stamps begin at 1"),
        invalid("floor beyond time", with_floor((REPLICA, 1, Name(HIGHEST_STAMP + 1, bytes(4)))), "C-4: after the year 9999"),
    ]


def broken_parts() -> Vectors:
    header, packed, end = checkpoint_header([END], digest_of([BODY])), deflated(BODY), checkpoint_end(1, 1)
    good = part(BODY)

    def with_parts(name: str, parts: List[bytes], why: str, end: bytes = end) -> Dict[str, str]:
        return invalid(name, header + b"".join(parts) + end, why)

    return [
        with_parts("lengths changed", [bytes([good[0] ^ 1]) + good[1:]], "K-12: the checksum of the lengths"),
        with_parts("longer body", [part(BODY, inflated=len(BODY) + 1)], "K-12: the body inflates to less"),
        with_parts("shorter body", [part(BODY, inflated=len(BODY) - 1)], "K-12: the body inflates to more"),
        with_parts("bomb", [part(BODY, inflated=len(packed) * 1_032 + 1)], "S-8: zlib cannot inflate so far"),
        with_parts("huge body", [part(BODY, inflated=(1 << 27) + 1)], "S-8: the body is above the limit"),
        with_parts("longer than the file", [part(BODY, length=len(packed) + 1)], "K-12: the part is cut"),
        with_parts("behind the stream", [part(BODY, packed + b"\0")], "K-12: a byte behind the zlib stream"),
        with_parts("stream cut", [part(BODY, packed[:-1])], "K-12: the zlib stream ends too early"),
        with_parts("between part and end", [good, b"\0"], "K-10: a byte between the part and the end"),
        with_parts("no part", [], "K-10: the end counts a part that is not there"),
        with_parts("other magic at the end", [good], "K-10: the end does not begin with MAGICEND",
                   b"MAGICENT" + end[8:20] + crc(b"MAGICENT" + end[8:20])),
        with_parts("more entries", [good], "K-10: the end counts an entry too many", checkpoint_end(2, 1)),
        with_parts("fewer entries", [good], "K-10: the end counts an entry too few", checkpoint_end(0, 1)),
        with_parts("more parts", [good], "K-10: the end counts a part too many", checkpoint_end(1, 2)),
        with_parts("two ends", [good, end], "K-10: something follows the end"),
        with_parts("parts that fall", [part(ONE.with_(stamps=b"\x0a").encoding()), good],
                   "K-11: transactions rise from part to part", checkpoint_end(2, 2)),
        with_parts("a part twice", [good, good], "K-11: transactions rise from part to part", checkpoint_end(2, 2)),
    ]


def broken_bodies() -> Vectors:
    cases = [
        ("stamp 0", ONE.with_(stamps=b"\0"), 1, "C-4: stamps begin at 1"),
        ("stamp beyond time", ONE.with_(stamps=varint_bytes(HIGHEST_STAMP + 1)), 1, "C-4: after the year 9999"),
        ("one twice", THREE.with_(places=b"\0\0\0"), 3, "K-11: stamp, tag and root are those of the one before"),
        ("tags fall", THREE.with_(tags=b"\0\0\0\2" + b"\0\0\0\1" * 2), 3, "K-11: tags rise within a stamp"),
        ("roots fall", THREE.with_(places=b"\0\1\0"), 3, "K-11: roots rise within a tag"),
        ("more stamps than tags", ONE.with_(stamps=b"\x09\1"), 1, "K-11: there are as many transactions as stamps"),
        ("more tags than stamps", ONE.with_(tags=bytes(8)), 1, "S-6: a tag that no transaction has"),
        ("ordinal", BORN.with_(columns=(varint_bytes(1 << 22) + bytes(5) + b"\7", *BORN.columns[1:])), 4,
         "S-8: an ordinal that no transaction has"),
        ("no ordinal", ONE.with_(types=BORN.types, shapes=(b"\0\3\1\0",), columns=(b"", b"\1\2", b"")), 1,
         "K-11: a birth has its ordinal"),
        ("no number", ONE.with_(types=BORN.types, shapes=(b"\1\4\0",), columns=(b"", b"", b"\0")), 1,
         "K-11: a claim has an ordinal and a number"),
        ("update of its own birth", ONE.with_(types=BORN.types, columns=(bytes(6), b"\1\2", b"")), 1,
         "K-11: only a remove may name a birth of its own transaction"),
        ("remove with another tag", ONE.with_(types=BORN.types, shapes=(b"\0\0",), columns=(b"\0\0\0\0\1\0", b"", b"")), 1,
         "K-11: a remove of what another transaction of its stamp made"),
        ("object twice", BORN.with_(columns=(b"\7" + bytes(5) + b"\7", *BORN.columns[1:])), 4,
         "S-7: an object has two entries in one transaction"),
        ("no entries", ONE.with_(counts=b"\0", entries=b"", columns=(b"", b"")), 0, "J-2: a transaction without entries"),
    ]
    header = checkpoint_header([END], digest_of([BODY]))
    return [invalid(name, header + part(body.encoding()) + checkpoint_end(entries, 1), why)
            for name, body, entries, why in cases]


def checkpoint_rules() -> Dict[str, Vectors]:
    return {"valid": valid(), "invalid": broken_headers() + broken_parts() + broken_bodies()}
