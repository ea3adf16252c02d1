"""Folder remotes, and what is found in them (folder.md; checkpoint.md, Acknowledgement)."""
from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence

from check_vectors import write_files
from magicreader.clock import HOUR, LAST_MILLISECOND, TICKS
from magicreader.encoder import NO_NAME, encode_body, encode_segment, needed_schema
from magicreader.folder import SegmentName
from magicreader.found import found_in
from magicreader.journal import Entry, Name, ObjectName, Operation, Transaction
from magicreader.merge import digest, fold
from magicreader.schema import Field, Type
from magicreader.segment import segment_name
from magicreader.values import Kind, Value

from .raw import DATA_SET, Vectors, WRITER, checkpoint_end, checkpoint_header, checkpoint_name, crc, part
from .segments import names

NOW = 1_750_000_000_000
OTHER_SET = b"\xdd" * 16
A, B, C = (bytes([0xa0 + index]) * 16 for index in range(3))
Run = Sequence[Transaction]


def note(id: str, title: str) -> Entry:
    return Entry(ObjectName("Note", Kind.TEXT, Value(Kind.TEXT, id)), Operation.UPDATE, {"title": Value(Kind.TEXT, title)})


def run(replica: bytes, count: int, tag: str = "", start: int = NOW - 1_000) -> List[Transaction]:
    """Each sets an object of its own, and one that is everybody's."""
    return [Transaction(replica, number, (start + number) * TICKS, bytes([replica[0], 0, 0, number]), replica,
                        (note(f"{tag or replica.hex()[:2]}{number}", f"title {number}"), note("shared", f"{tag}{number}")))
            for number in range(1, count + 1)]


RUN_A, RUN_B = run(A, 6), run(B, 3, start=NOW - 500)


def marker(**members: Any) -> str:
    said = {"format": 1, "kind": "folder", "dataSet": DATA_SET.hex()} | members
    return json.dumps({name: member for name, member in said.items() if member is not ...})


def ack(writer: bytes, **members: Any) -> str:
    """Members that are `...` are lacking."""
    said = {"format": 1, "dataSet": DATA_SET.hex(), "replica": writer.hex(), "acknowledged": {}, "expired": {}} | members
    return json.dumps({name: member for name, member in said.items() if member is not ...})


def end(run: Run, sequence: int) -> str:
    return f"{sequence:016x}.{run[sequence - 1].name.encoding().hex()}"


def member(time: int, frontier: Dict[bytes, str], **more: Any) -> Dict[str, Any]:
    return {"time": time, "frontier": {replica.hex(): said for replica, said in frontier.items()}} | more


class Case:
    def __init__(self, name: str, marker: Optional[str] = marker()) -> None:
        self.vector: Dict[str, Any] = {"name": name, "now": str(NOW), "texts": {}, "files": {}}
        if marker is not None:
            self.text("magicdata.json", marker)

    def text(self, path: str, content: str) -> Case:
        self.vector["texts"][path] = content
        return self

    def file(self, path: str, content: bytes) -> Case:
        self.vector["files"][path] = content.hex()
        return self

    def ack(self, writer: bytes, **members: Any) -> Case:
        return self.text(f"acks/{writer.hex()}.json", ack(writer, **members))

    def segment(self, run: Run, first: int, last: int, change: Any = None, name: str = "", **more: Any) -> Case:
        """`change` makes other bytes of a file's; `name` is another than it should have."""
        path, content = file_of(run, first, last, **more)
        return self.file("segments/" + (name or path), change(content) if change else content)

    def checkpoint(self, runs: Sequence[Run], change: Any = None, name: str = "", **more: Any) -> Case:
        path, content = checkpoint_of(runs, **more)
        return self.file("checkpoints/" + (name or path), change(content) if change else content)

    def found(self, **expected: Any) -> Dict[str, Any]:
        """What this reader finds, which is what is expected here by hand, as far as that goes."""
        with tempfile.TemporaryDirectory() as folder:
            write_files(self.vector, folder)
            found = found_in(folder, NOW)
        for key, value in expected.items():
            if found.get(key) != value:
                raise AssertionError(f"{self.vector['name']}: {key} is {found.get(key)!r}, not {value!r}")
        return {**self.vector, **found}


def file_of(run: Run, first: int, last: int, data_set: bytes = DATA_SET, schema: Any = None) -> Any:
    part = run[first - 1:last]
    previous = run[first - 2].name if first > 1 else NO_NAME
    name = SegmentName(part[0].replica, first, last, segment_name(part)).file_name
    return name, encode_segment(part, data_set, WRITER, previous, schema)


def checkpoint_of(runs: Sequence[Run], data_set: bytes = DATA_SET, sum: str = "", later: int = 0) -> Any:
    """Of all that the runs have: each value that was not overwritten (K-2). `later` sets the last stamp on."""
    all = sorted((each for run in runs for each in run), key=lambda each: (each.stamp, each.tag, each.root))
    kept = [replace(each, replica=each.root, sequence=0, entries=each.entries if each is all[-1] else each.entries[:1])
            for each in all]
    kept[-1] = replace(kept[-1], stamp=kept[-1].stamp + later)
    floor = sorted((run[-1].replica, len(run), run[-1].name) for run in runs)
    body = encode_body(kept, needed_schema(kept))
    header = checkpoint_header(floor, sum or digest(fold(kept)), data_set)
    return checkpoint_name(floor), header + part(body) + checkpoint_end(sum_of(kept), 1)


def sum_of(kept: Run) -> int:
    return sum(len(each.entries) for each in kept)


def as_format_2(content: bytes) -> bytes:
    """As its writer would have it."""
    return with_crc(content[:8] + b"\0\2" + content[10:])


def with_crc(content: bytes) -> bytes:
    """With the checksum that its header has then."""
    return content[:120] + crc(content[:120]) + content[124:]


def flipped(content: bytes) -> bytes:
    return content[:9] + b"\3" + content[10:]


def cut(content: bytes) -> bytes:
    return content[:-1]


def damaged(content: bytes) -> bytes:
    """Where no header shows it."""
    return content[:-30] + bytes([content[-30] ^ 1]) + content[-29:]


def markers() -> Vectors:
    good = Case("F-1: an empty remote", marker(other=[1, None])).found(held={}, digest="0" * 32)
    refused = [
        ("F-1: there is no magicdata.json", None, "notFound"),
        ("F-1: format 2", marker(format=2), "incompatible"),
        ("F-1: format 2 without a data set", marker(format=2, dataSet=..., kind=...), "incompatible"),
        ("F-1: another kind", marker(kind="server"), "incompatible"),
        ("F-1: format 2, where the data set is a number", marker(format=2, dataSet=7), "damaged"),
        ("F-1: no format", marker(format=...), "damaged"),
        ("F-1: a format that is a text", marker(format="1"), "damaged"),
        ("F-1: a format that is true", marker(format=True), "damaged"),
        ("F-1: a format and a half", marker(format=1.5), "damaged"),
        ("F-1: no kind", marker(kind=...), "damaged"),
        ("F-1: no data set", marker(dataSet=...), "damaged"),
        ("F-1: a data set in capitals", marker(dataSet="D" * 32), "damaged"),
        ("F-1: a data set of 31 digits", marker(dataSet="d" * 31), "damaged"),
        ("F-1: a list", "[1]", "damaged"),
        ("F-1: NaN", marker(other=float("nan")), "damaged"),
        ("F-1: cut", marker()[:-1], "damaged"),
        ("F-1: empty", "", "damaged"),
    ]
    return [good] + [Case(name, content).found(refused=code) for name, content, code in refused]


def segments() -> Vectors:
    both = {A.hex(): "6", B.hex(): "3"}
    name = file_of(RUN_A, 5, 6)[0]
    hash = name.split(".")[3]
    alike = [name.upper(), "." + name + ".tmp", name + ".tmp", name.replace(".segment", " (1).segment"), name[1:], "." + name,
             SegmentName(A, 0, 6, hash).file_name, SegmentName(A, 6, 5, hash).file_name,
             SegmentName(A, 5, 1 << 62, hash).file_name]
    ignored = Case("F-3: other names are ignored").segment(RUN_A, 1, 4)
    for each in alike:
        ignored.file("segments/" + each, b"damaged")
    here = Case("F-3: a placeholder beside its file, and one of what another file has").segment(RUN_A, 1, 6)
    here.file(f"segments/.{file_of(RUN_A, 1, 6)[0]}.icloud", b"").file(f"segments/.{name}.icloud", b"")
    wide = [[Type("Note", Kind.TEXT, "id", (Field("title", Kind.TEXT),
                                            *(Field(tag + each, Kind.TEXT) for each in names(600))))] for tag in "ab"]
    return [
        Case("F-5: two replicas").segment(RUN_A, 1, 4).segment(RUN_A, 5, 6).segment(RUN_B, 1, 3).found(
            held=both, unread={}, missing=[]),
        Case("F-16: a doubt changes nothing").segment(RUN_A, 1, 6).file(f"doubts/{file_of(RUN_A, 1, 6)[0]}", b"").found(
            held={A.hex(): "6"}, unread={}),
        ignored.found(held={A.hex(): "4"}, unread={}),
        Case("F-3: a file that is not here yet").segment(RUN_A, 1, 4).file(f"segments/.{name}.icloud", b"").found(
            held={A.hex(): "4"}, unread={"segments/" + name: "busy"}),
        here.found(held={A.hex(): "6"}, unread={}),
        Case("F-9, F-18: files that overlap").segment(RUN_A, 1, 3).segment(RUN_A, 2, 5).segment(RUN_A, 4, 4).segment(
            RUN_A, 4, 6).segment(RUN_A, 1, 1).found(held={A.hex(): "6"}, unread={}),
        Case("F-9: the next best").segment(RUN_A, 1, 6, damaged).segment(RUN_A, 1, 2).segment(RUN_A, 3, 6).found(
            held={A.hex(): "6"}, unread={}),
        Case("F-10: the next best does not reach as far").segment(RUN_A, 1, 6, damaged).segment(RUN_A, 1, 2).found(
            held={A.hex(): "2"}, unread={"segments/" + file_of(RUN_A, 1, 6)[0]: "damaged"}, missing=[]),
        Case("F-10: a hole").segment(RUN_A, 1, 2).segment(RUN_A, 4, 6).segment(RUN_B, 1, 3).found(
            held={A.hex(): "2", B.hex(): "3"}, unread={}, missing=[f"{A.hex()} 3 3"]),
        Case("F-10: nothing from the first on").segment(RUN_A, 3, 6).found(held={}, missing=[f"{A.hex()} 1 2"]),
        Case("F-10: a damaged file in a hole").segment(RUN_A, 1, 2).segment(RUN_A, 3, 3, cut).segment(RUN_A, 4, 6).found(
            held={A.hex(): "2"}, unread={"segments/" + file_of(RUN_A, 3, 3)[0]: "damaged"}, missing=[f"{A.hex()} 3 3"]),
        *(Case(f"F-5: {what}").segment(RUN_A, 1, 4).segment(RUN_A, 5, 6, change, **more).found(
            held={A.hex(): "4"}, unread={"segments/" + name: code})
          for what, change, code, more in (
              ("cut", cut, "damaged", {}), ("grown", lambda content: content + b"\0", "damaged", {}),
              ("reserved bytes", lambda content: with_crc(content[:11] + b"\1" + content[12:]), "incompatible", {}),
              ("empty", lambda content: b"", "damaged", {}), ("another format", as_format_2, "incompatible", {}),
              ("a format that was changed", flipped, "damaged", {}), ("damaged within", damaged, "damaged", {}),
              ("another data set", None, "incompatible", {"data_set": OTHER_SET}))),
        *(Case(f"F-2: {what}").segment(RUN_A, 1, 4).segment(RUN_A, 5, 6, name=other).found(
            held={A.hex(): "4"}, unread={"segments/" + other: "damaged"})
          for what, other in (("another run", SegmentName(A, 5, 7, hash).file_name),
                              ("another hash", SegmentName(A, 5, 6, "0" * 32).file_name),
                              ("another replica", SegmentName(C, 5, 6, hash).file_name))),
        Case("J-15: more of a schema than there is room for").segment(RUN_A, 1, 6, schema=wide[0]).segment(
            RUN_B, 1, 3, schema=wide[1]).found(
                held={A.hex(): "6"}, unread={"segments/" + file_of(RUN_B, 1, 3)[0]: "tooLarge"}),
        *clocks(), *forks(),
    ]


def ahead(milliseconds: int, count: int = 3) -> Run:
    """After so many the clock was wrong."""
    wrong = [replace(each, stamp=(NOW + milliseconds) * TICKS + each.sequence) for each in RUN_A[count:]]
    return RUN_A[:count] + wrong


def clocks() -> Vectors:
    return [
        Case("C-5: an hour ahead").segment(ahead(HOUR), 1, 6).found(held={A.hex(): "6"}, waiting=[]),
        Case("C-5: more than an hour ahead").segment(ahead(HOUR + 1), 1, 6).segment(RUN_B, 1, 3).found(
            held={A.hex(): "3", B.hex(): "3"}, waiting=[A.hex()], unread={}, missing=[]),
        Case("C-5, F-10: nothing else is said of who waits").segment(ahead(HOUR + 1), 1, 4).segment(
            ahead(HOUR + 1), 6, 6, cut).found(held={A.hex(): "3"}, waiting=[A.hex()], unread={}, missing=[]),
    ]


def forks() -> Vectors:
    other = RUN_A[:2] + [replace(each, tag=b"fork") for each in RUN_A[2:]]
    closed = {A.hex(): f"{2:016x}"}
    return [
        Case("F-7: a fork at the last sequence").segment(RUN_A, 1, 3).segment(other, 2, 3).found(refused="fork"),
        Case("F-7: a fork before the first").segment(RUN_A, 1, 3).segment(other, 4, 6).found(refused="fork"),
        Case("F-7: a fork that is shown by what cannot be read").segment(RUN_A, 1, 3).segment(other, 2, 3, damaged).found(
            held={A.hex(): "3"}, unread={}, missing=[]),
        Case("F-7: a fork under an id that is closed").segment(RUN_A, 1, 3).segment(other, 2, 4).ack(B, closed=closed).found(
            held={A.hex(): "2"}, unread={}, missing=[]),
        Case("F-9: nothing is taken beyond a closing").segment(RUN_A, 1, 3).ack(B, closed=closed).found(held={A.hex(): "2"}),
        Case("K-6: of two closings the lower one counts").segment(RUN_A, 1, 3).ack(B, closed=closed).ack(
            C, closed={A.hex(): f"{1:016x}"}).found(held={A.hex(): "1"}),
        Case("F-7: a closing above the fork").segment(RUN_A, 1, 3).segment(other, 2, 3).ack(
            B, closed={A.hex(): f"{3:016x}"}).found(refused="fork"),
    ]


def checkpoints() -> Vectors:
    low, high = [RUN_A[:2], RUN_B[:1]], [RUN_A[:4], RUN_B[:1]]
    high_file = "checkpoints/" + checkpoint_of(high)[0]
    held = {A.hex(): "4", B.hex(): "1"}
    wrong = [replace(each, stamp=each.stamp + (HOUR + 2_000) * TICKS) for each in RUN_A[:3]]
    return [
        Case("K-15, K-16: a checkpoint, and what follows").checkpoint(high).segment(RUN_A, 5, 6).found(
            held={A.hex(): "6", B.hex(): "1"}, unread={}, missing=[]),
        Case("K-15: a hole above the floor").checkpoint(high).segment(RUN_A, 6, 6).found(
            held=held, missing=[f"{A.hex()} 5 5"]),
        Case("K-16: the one that no other is above").checkpoint(low).checkpoint(high).found(held=held, unread={}),
        Case("K-16: two, of which none is above the other").checkpoint([RUN_A[:2], RUN_B[:2]]).checkpoint(high).found(
            held={A.hex(): "4", B.hex(): "2"}, unread={}),
        Case("K-16: the next one").checkpoint(low).checkpoint(high, damaged).found(
            held={A.hex(): "2", B.hex(): "1"}, unread={high_file: "damaged"}),
        Case("F-10: a damaged checkpoint that is not lacking").checkpoint(low).checkpoint(high, damaged).segment(
            RUN_A, 3, 4).found(held=held, unread={}),
        Case("K-14: one that does not come to its digest").checkpoint(low).checkpoint(high, sum="1" * 32).found(
            held={A.hex(): "2", B.hex(): "1"}, unread={high_file: "damaged"}),
        Case("K-14: one that keeps what is later than its floor").checkpoint(low).checkpoint(
            high, later=(HOUR + 9_000) * TICKS).found(
                held={A.hex(): "2", B.hex(): "1"}, unread={high_file: "damaged"}),
        Case("K-12: cut, with nothing else").checkpoint(high, cut).found(held={}, unread={high_file: "damaged"}),
        Case("K-12: a header that cannot be read, where something is lacking").segment(RUN_A, 1, 1).segment(
            RUN_A, 3, 3).checkpoint(high, lambda content: content[:50]).found(unread={high_file: "damaged"}),
        Case("F-10: a header that cannot be read, where nothing is lacking").segment(RUN_A, 1, 1).checkpoint(
            high, lambda content: content[:50]).found(held={A.hex(): "1"}, unread={}),
        Case("S-2: a format that was changed").checkpoint(high, flipped).found(unread={high_file: "damaged"}),
        Case("S-2: another format").checkpoint(high, lambda content: with_format(content, 2)).found(
            unread={high_file: "incompatible"}),
        Case("K-12: another data set").checkpoint(high, data_set=OTHER_SET).found(unread={high_file: "incompatible"}),
        Case("K-10: another name").checkpoint(high, name="0" * 32 + ".checkpoint").found(
            unread={"checkpoints/" + "0" * 32 + ".checkpoint": "damaged"}),
        Case("F-3: other names of checkpoints").segment(RUN_A, 1, 1).segment(RUN_A, 3, 3).file(
            high_file.upper().replace("CHECKPOINTS/", "checkpoints/"), b"").file(high_file + ".tmp", b"").found(unread={}),
        Case("F-3: a checkpoint that is not here yet").file(high_file.replace("/", "/.") + ".icloud", b"").found(
            unread={high_file: "busy"}),
        Case("K-13: a floor that is ahead").checkpoint([wrong, RUN_B[:1]]).segment(RUN_B, 1, 1).found(
            held={B.hex(): "1"}, waiting=[A.hex()]),
        Case("K-13, M-8: what is in time before a floor that is ahead").checkpoint([ahead(HOUR + 2_000), RUN_B[:1]]).segment(
            RUN_A, 1, 3).segment(RUN_B, 1, 1).found(
                held={A.hex(): "3", B.hex(): "1"}, waiting=[A.hex()], unread={}, missing=[]),
        Case("K-13, K-16: one that waits is above none").checkpoint([wrong, RUN_B[:1]]).checkpoint(low).found(
            held={A.hex(): "2", B.hex(): "1"}, waiting=[A.hex()]),
    ]


def with_format(content: bytes, format: int) -> bytes:
    length = 64 + 36 * int.from_bytes(content[60:64], "big")
    header = content[:8] + format.to_bytes(2, "big") + content[10:length]
    return header + crc(header) + content[length + 4:]


def assets() -> Vectors:
    contents = [f"content {index}".encode() for index in range(5)]
    digits = [hashlib.sha256(each).hexdigest() for each in contents]

    def path(index: int) -> str:
        return f"assets/{digits[index][:2]}/{digits[index]}"

    photos = [Transaction(A, index + 1, (NOW + index) * TICKS, bytes(4), A, (Entry(
        ObjectName("Photo", Kind.TEXT, Value(Kind.TEXT, f"p{index}")), Operation.UPDATE,
        {"content": Value(Kind.ASSET, each + [".txt", ""][index % 2])}),)) for index, each in enumerate(digits)]
    case = Case("F-12, F-14: whole, damaged, cut, in another folder, missing").segment(photos, 1, 5)
    case.file(path(0), contents[0]).file(path(1), contents[1].upper()).file(path(2), contents[2][:-1])
    case.file(f"assets/{'0f' if digits[3][:2] != '0f' else 'f0'}/{digits[3]}", contents[3])
    case.file(path(0) + ".txt", b"").file(f"assets/{digits[0][:2]}/.{digits[0]}.part", b"")
    return [case.found(held={A.hex(): "5"}, unread={path(1): "damaged", path(2): "damaged"}, missingAssets=4)]


def acknowledgements() -> Vectors:
    both = {A: end(RUN_A, 4), B: end(RUN_B, 3)}
    highest = f"{(1 << 62) - 1:016x}.{LAST_MILLISECOND * TICKS + TICKS - 1:016x}ffffffff"
    lowest = f"{1:016x}.{1:016x}00000000"
    id = C.hex()

    def one(name: str, **members: Any) -> Case:
        return Case(name).segment(RUN_A, 1, 4).segment(RUN_B, 1, 3).ack(A, **members)

    good = [
        one("K-6: all that it may say", other=[None], acknowledged={
            A.hex(): member(NOW, both, digest="d" * 32), B.hex(): member(NOW - 5, {B: end(RUN_B, 1)}, other=1)},
            expired={id: NOW - 9}, accepted=NOW + 7).found(missing=[]),
        one("K-6: as little as it may say").found(acknowledgements={A.hex(): json.loads(ack(A))}),
        one("K-6: null where something may be lacking", acknowledged={A.hex(): member(0, {}, digest=None)}, closed=None,
            accepted=None).found(acknowledgements={A.hex(): json.loads(ack(A, acknowledged={A.hex(): member(0, {})}))}),
        one("K-6: the lowest and the highest", acknowledged={
            A.hex(): member(0, {}), B.hex(): member(LAST_MILLISECOND, {A: highest, B: lowest})},
            expired={A.hex(): 0, id: LAST_MILLISECOND}, closed={id: f"{(1 << 62) - 1:016x}", "f" * 32: "0" * 16}).found(),
    ]
    wrong: List[Any] = [
        ("no format", {"format": ...}), ("format 2", {"format": 2}), ("another data set", {"dataSet": OTHER_SET.hex()}),
        ("no data set", {"dataSet": ...}), ("another replica than its name", {"replica": B.hex()}),
        ("no replica", {"replica": ...}),
        ("no acknowledged", {"acknowledged": ...}), ("acknowledged is null", {"acknowledged": None}),
        ("no expired", {"expired": ...}), ("expired is null", {"expired": None}),
        ("no time", {"acknowledged": {id: {"frontier": {}}}}), ("no frontier", {"acknowledged": {id: {"time": 0}}}),
        ("a time before 1970", {"acknowledged": {id: member(-1, {})}}),
        ("a time after 9999", {"acknowledged": {id: member(LAST_MILLISECOND + 1, {})}}),
        ("a time that is a text", {"acknowledged": {id: {"time": "0", "frontier": {}}}}),
        ("half a millisecond", {"expired": {id: 0.5}}), ("expired after 9999", {"expired": {id: LAST_MILLISECOND + 1}}),
        ("expired without an id", {"expired": {id[1:]: 0}}), ("an id in capitals", {"expired": {id.upper(): 0}}),
        ("accepted after 9999", {"accepted": LAST_MILLISECOND + 1}), ("accepted before 1970", {"accepted": -1}),
        ("a digest of 31 digits", {"acknowledged": {id: member(0, {}, digest="d" * 31)}}),
        ("a digest in capitals", {"acknowledged": {id: member(0, {}, digest="D" * 32)}}),
        ("closed at 2^62", {"closed": {A.hex(): f"{1 << 62:016x}"}}), ("closed at a number", {"closed": {A.hex(): 2}}),
        ("closed without an id", {"closed": {"x": f"{2:016x}"}}), ("NaN", {"other": float("nan")}),
        *((what, {"acknowledged": {id: member(0, {A: text})}}) for what, text in (
            ("sequence 0", f"{0:016x}" + lowest[16:]), ("sequence 2^62", f"{1 << 62:016x}" + lowest[16:]),
            ("stamp 0", lowest[:17] + "0" * 24), ("a stamp after 9999", lowest[:17] + "f" * 24),
            ("no point", lowest.replace(".", "")), ("two points", lowest.replace(".", "..")),
            ("a name of 23 digits", lowest[:-1]), ("digits in capitals", highest.upper()))),
    ]
    # Each would close the id, if it were one.
    bad = [one(f"K-6, K-7: {what}", **({"closed": {A.hex(): f"{2:016x}"}} | members)).found(
        held={A.hex(): "4", B.hex(): "3"}, acknowledgements={}) for what, members in wrong]
    others = Case("K-7: other names are none").segment(RUN_A, 1, 4)
    for name in (f"{A.hex()} (1).json", f".{A.hex()}.json", f"{A.hex().upper()}.json", f"{A.hex()}.json.tmp"):
        others.text("acks/" + name, ack(A, closed={A.hex(): f"{2:016x}"}))
    broken = Case("K-7: cut").segment(RUN_A, 1, 4).text(f"acks/{A.hex()}.json", ack(A, closed={A.hex(): f"{2:016x}"})[:-1])
    later = one("K-7: the later of two counts, and of two of one time the one with a digest", acknowledged={
        A.hex(): member(9, both), B.hex(): member(7, {B: end(RUN_B, 1)}), id: member(5, {A: end(RUN_A, 1)})},
        expired={id: 3, B.hex(): 8}, accepted=4).ack(B, acknowledged={
            B.hex(): member(8, {B: end(RUN_B, 2)}), A.hex(): member(8, {A: end(RUN_A, 1)}),
            id: member(5, {A: end(RUN_A, 1)}, digest="e" * 32)}, expired={id: 6, B.hex(): 2}, accepted=5)
    return good + bad + [
        others.found(held={A.hex(): "4"}, acknowledgements={}), broken.found(held={A.hex(): "4"}, acknowledgements={}),
        later.found(missing=[], members={
            "acknowledged": {A.hex(): member(9, both), B.hex(): member(8, {B: end(RUN_B, 2)}),
                             id: member(5, {A: end(RUN_A, 1)}, digest="e" * 32)},
            "expired": {id: 6, B.hex(): 8}, "accepted": 5}),
        *labels(), *put(),
    ]


def labels() -> Vectors:
    """K-25: what replicas are called, which nothing else depends on."""
    closed = {C.hex(): f"{2:016x}"}
    spaces = [0x20, 0xa0, 0x1680, *range(0x2000, 0x200b), 0x202f, 0x205f, 0x3000]
    hidden = [*range(0x20), *range(0x7f, 0xa0), *range(0x2028, 0x202f), *range(0x2066, 0x206a)]

    def one(name: str, said: Any, good: Dict[str, Any]) -> Case:
        more = {"names": good} if good else {}
        return Case(f"K-25: {name}").segment(RUN_A, 1, 4).ack(A, closed=closed, names=said).found(
            held={A.hex(): "4"}, acknowledgements={A.hex(): json.loads(ack(A, closed=closed, **more))})

    def each(names: Sequence[Any]) -> Dict[str, Any]:
        return {f"{index:032x}": {"time": 1, "name": name} for index, name in enumerate(names)}

    def entries(said: Sequence[Any]) -> Dict[str, Any]:
        return {f"{index:032x}": entry for index, entry in enumerate(said)}

    good = {**each([
        "a", "laptop", "Ada's phone (old)", "Löwe", "\U0001f600" * 64, "x" * 64, "e\u0301" * 32, "\u200f\u200b", "\\\"/", "\ufeff",
        "a\u3000b", "0" * 32]), "e" * 32: {"time": 0, "name": "first"}, "f" * 32: {"time": LAST_MILLISECOND, "name": "last"}}
    named = {"time": 1, "name": "a"}
    return [
        one("names", {**good, "0" * 31 + "a": {"time": 1, "name": "more", "other": 1}},
            {**good, "0" * 31 + "a": {"time": 1, "name": "more"}}),
        one("texts that are none", {**good, **each(
            ["", "x" * 65, "\U0001f600" * 65, *(chr(scalar) + "a" for scalar in spaces), *("a" + chr(scalar) for scalar in spaces),
             *("a" + chr(scalar) + "b" for scalar in hidden)])},
            {id: good[id] for id in ("e" * 32, "f" * 32)}),
        one("what is no time and no text", entries([
            {"time": -1, "name": "a"}, {"time": LAST_MILLISECOND + 1, "name": "a"}, {"time": "1", "name": "a"}, {"time": 0.5, "name": "a"},
            {"time": None, "name": "a"}, {"time": True, "name": "a"}, {"name": "a"}, {"time": 1}, {"time": 1, "name": 1},
            {"time": 1, "name": None}, {"time": 1, "name": ["a"]}, "a", 1, None, True, [], {}, [named]]) | {C.hex(): named},
            {C.hex(): named}),
        one("what is no id", {C.hex()[1:]: named, C.hex().upper(): named, "": named, "x" * 32: named, A.hex(): named},
            {A.hex(): named}),
        *(one(f"{said} instead of names", said, {}) for said in (None, [], [named], "a", 1, True, {}, {"a": {}})),
        Case("K-25: the latest counts, and of one time the highest by its bytes").segment(RUN_A, 1, 4).ack(A, names={
            A.hex(): {"time": 3, "name": "later"}, B.hex(): {"time": 4, "name": "\uffee"}, C.hex(): {"time": 5, "name": "a"}}).ack(
                B, names={A.hex(): {"time": 2, "name": "z"}, B.hex(): {"time": 4, "name": "\U0001f600"}}).found(members={
                    "acknowledged": {}, "expired": {}, "names": {
                        A.hex(): {"time": 3, "name": "later"}, B.hex(): {"time": 4, "name": "\U0001f600"},
                        C.hex(): {"time": 5, "name": "a"}}}),
    ]


def put() -> Vectors:
    """F-10: what somebody says to have put here."""
    all = member(9, {A: end(RUN_A, 6), B: end(RUN_B, 3)})
    less = member(9, {A: end(RUN_A, 5), B: end(RUN_B, 3)})
    lacking = [f"{A.hex()} 5 6"]

    def lacks(name: str) -> Case:
        return Case(name).segment(RUN_A, 1, 4).segment(RUN_B, 1, 3)

    return [
        lacks("F-10: more was put here").ack(A, acknowledged={A.hex(): all}).found(missing=lacking, unread={}),
        lacks("F-10: by another replica").ack(B, acknowledged={B.hex(): all}).found(missing=lacking),
        lacks("F-10: what others say of him counts for nothing").ack(C, acknowledged={A.hex(): all}).found(missing=[]),
        lacks("F-10: he is expired").ack(B, acknowledged={B.hex(): all}).ack(A, expired={B.hex(): 9}).found(missing=[]),
        lacks("F-10: he was, and has come again").ack(B, acknowledged={B.hex(): all}).ack(A, expired={B.hex(): 8}).found(
            missing=lacking),
        lacks("F-10, J-31: a later word says less").ack(A, acknowledged={A.hex(): all}).ack(
            B, acknowledged={A.hex(): {**less, "time": 10}}).found(missing=[f"{A.hex()} 5 5"]),
        lacks("F-10: an earlier word says less").ack(A, acknowledged={A.hex(): all}).ack(
            B, acknowledged={A.hex(): {**less, "time": 8}}).found(missing=lacking),
        lacks("F-10: a file is named for it, and cannot be read").segment(RUN_A, 5, 6, cut).ack(
            A, acknowledged={A.hex(): all}).found(missing=[], unread={"segments/" + file_of(RUN_A, 5, 6)[0]: "damaged"}),
        Case("F-10: a checkpoint stands for it").checkpoint([RUN_A, RUN_B]).ack(A, acknowledged={A.hex(): all}).found(
            held={A.hex(): "6", B.hex(): "3"}, missing=[]),
        lacks("F-10: nothing of who waits").segment(ahead(HOUR + 1, 4), 5, 5).ack(A, acknowledged={A.hex(): all}).found(
            waiting=[A.hex()], missing=[]),
    ]


def folders() -> Dict[str, Vectors]:
    return {"cases": markers() + segments() + checkpoints() + assets() + acknowledgements()}
