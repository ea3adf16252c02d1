from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
from dataclasses import replace
from typing import Any, Dict, Tuple
from unittest import mock

import check_vectors
from magicreader.checkpoint import Checkpoint
from magicreader.cli import main
from magicreader.clock import HOUR, LAST_MILLISECOND, TICKS
from magicreader.folder import Folder, RemoteError, SegmentName
from magicreader.journal import Entry, ForkError, ObjectName, Operation, Transaction
from magicreader.merge import digest, fold
from magicreader.notation import objects_json, segment_json
from magicreader.pull import Pull
from magicreader.schema import Field, KnownSchema, SchemaError, Type
from magicreader.segment import read_segment
from magicreader.values import Kind, Value

from .fixtures import DATA_SET, segment_file
from .folder_fixture import FolderFixture

NOW = 1_800_000_000_000
READER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class FolderTests(FolderFixture):
    def run_main(self, *arguments: str) -> Tuple[int, str, str]:
        output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            status = main(list(arguments))
        output.seek(0)
        return status, output.read(), errors.getvalue()

    def test_overlapping_segments_and_other_files(self) -> None:
        for run in self.runs:
            self.push(run, 1, 3)
            self.push(run, 2, 7)
            self.push(run, 4, 5)
            self.push(run, 8, 8)
            self.push(run, 10, len(run))  # beyond a gap
        self.write("segments/.hidden.segment", b"junk")
        self.write("segments/notes (conflict).txt", b"junk")
        folder = Folder(self.path)
        held = Pull(folder, NOW).journal.held
        self.assertEqual(held, {run[0].replica: run[:8] for run in self.runs})
        expected = fold(run_part for run in self.runs for run_part in run[:8])
        status, output, errors = self.run_main("digest", self.path)
        self.assertEqual((status, output), (3, digest(expected) + "\n"))  # F-10: a hole is said
        self.assertEqual(errors.count("9 to 9 are missing"), 2)
        status, output, _ = self.run_main("state", self.path)
        lines = output.splitlines()
        self.assertEqual((status, lines), (3, sorted(lines)))
        self.assertEqual(check_vectors.ordered([json.loads(line) for line in lines]),
                         check_vectors.ordered(objects_json(expected)))

    def test_empty_remote_and_no_remote(self) -> None:
        self.assertEqual(self.run_main("digest", self.path), (0, "0" * 32 + "\n", ""))
        path = os.path.join(self.path, "magicdata.json")
        self.write("magicdata.json", json.dumps(
            {"format": 1, "kind": "folder", "dataSet": "0" * 32, "other": []}).encode())
        self.assertEqual(Folder(self.path).data_set, bytes(16))
        for content in (b"", b"[]", b"\xff", b"[" * 100_000, b'{"format":2}', b'{"format":1}',
                        b'{"format":1,"kind":"folder","dataSet":"AA"}'):
            self.write("magicdata.json", content)
            with self.assertRaises(RemoteError):
                Folder(self.path)
        os.remove(path)
        status, output, errors = self.run_main("state", self.path)
        self.assertEqual((status, output, errors.count("\n")), (1, "", 1))

    def test_what_is_no_json_makes_no_remote(self) -> None:  # F-1
        good = json.dumps({"format": 1, "kind": "folder", "dataSet": DATA_SET.hex(), "other": 0}).encode()
        self.write("magicdata.json", good.ljust(65_536))
        self.assertEqual(Folder(self.path).data_set, DATA_SET)
        for other in (b"NaN", b"Infinity", b"-Infinity", b"[NaN]"):
            self.write("magicdata.json", good.replace(b": 0}", b": " + other + b"}"))
            with self.subTest(other), self.assertRaisesRegex(RemoteError, "no JSON"):
                Folder(self.path)
        self.write("magicdata.json", good.replace(b": 1,", b": true,"))
        with self.assertRaisesRegex(RemoteError, "format"):
            Folder(self.path)
        self.write("magicdata.json", good.ljust(65_537))
        with self.assertRaisesRegex(RemoteError, "more than 65536 bytes"):
            Folder(self.path)

    def test_damaged_files(self) -> None:
        run = self.runs[0]
        path = self.push(run, 1, 3)
        name = SegmentName.parse(os.path.basename(path))
        assert name is not None
        with open(path, "rb") as file:
            data = file.read()
        self.write(f"segments/{name.file_name}", data[:-1])
        self.expect_unread(name.file_name)
        os.remove(path)
        for other in (replace(name, last=4), replace(name, name="0" * 32),
                      replace(name, replica=bytes(16))):
            wrong = self.write(f"segments/{other.file_name}", data)
            self.expect_unread("disagrees")
            os.remove(wrong)

    def expect_unread(self, why: str) -> Pull:
        """One file is of no use, which is said."""
        pulled = Pull(Folder(self.path), NOW)
        self.assertEqual(len(pulled.unread), 1)
        self.assertRegex(pulled.unread[0], why)
        return pulled

    def test_damage_keeps_nothing_else_back(self) -> None:
        run, other = self.runs
        paths = [self.push(run, each, each) for each in (1, 2, 3)]
        self.push(other, 1, len(other))
        with open(paths[1], "rb") as file:
            data = file.read()
        for damage in (data[:-1], data[:-1] + bytes([data[-1] ^ 1]), None):
            with self.subTest(damage):
                if damage is None:
                    os.remove(paths[1])
                else:
                    self.write(f"segments/{os.path.basename(paths[1])}", damage)
                pulled = Pull(Folder(self.path), NOW)
                self.assertEqual(pulled.journal.held, {run[0].replica: run[:1], other[0].replica: other})
                self.assertEqual(len(pulled.unread), 0 if damage is None else 1)
                self.assertEqual(pulled.missing, [f"{run[0].replica.hex()} 2 to 2 are missing"])
                status, output, errors = self.run_main("digest", self.path)
                self.assertEqual((status, output), (3, digest(fold(pulled.journal)) + "\n"))
                self.assertIn("2 to 2", errors)
        self.push(run, 2, 2)
        self.assertEqual(self.run_main("state", self.path)[0::2], (0, ""))

    def test_contents_of_assets(self) -> None:
        content = b"the content"
        digits = hashlib.sha256(content).hexdigest()
        name = ObjectName("Photo", Kind.TEXT, Value(Kind.TEXT, "p"))
        entry = Entry(name, Operation.UPDATE, {"content": Value(Kind.ASSET, digits + ".txt")})
        first = self.runs[0][0]
        self.push([replace(first, entries=(entry,))], 1, 1)
        file = f"assets/{digits[:2]}/{digits}"
        self.assertEqual(self.run_main("assets", self.path), (3, f"missing {digits}.txt\n", ""))
        for damage in (b"", content[:-1], content + b"x", b"the contenT"):
            self.write(file, damage)
            self.assertEqual(self.run_main("assets", self.path), (3, f"damaged {digits}\n", ""))
        path = self.write(file, content)
        self.write(f"assets/{digits[:2]}/.temporary", b"x")
        self.write(f"assets/zz/{digits}", b"x")
        self.assertEqual(self.run_main("assets", self.path), (0, "", ""))
        os.rename(path, os.path.join(self.path, "elsewhere"))
        os.symlink(os.path.join(self.path, "elsewhere"), path)
        self.assertEqual(self.run_main("assets", self.path), (3, f"damaged {digits}\n", ""))

    def test_a_file_that_does_not_count_matters_only_beyond_what_is_held(self) -> None:
        run = self.runs[0]
        name, data = segment_file(run, 1, 3)
        for content, why in ((data[:8] + struct.pack(">H", 2), "format 2 is not supported"),
                             (data[:-1], "length"), (b"", "not a segment")):
            path = self.write(f"segments/{name}", content)
            self.expect_unread(why)
            longer = self.push(run, 1, 4)
            self.assertEqual(Pull(Folder(self.path), NOW).journal.held, {run[0].replica: run[:4]})
            os.remove(longer)
            os.remove(path)
        os.mkdir(path)  # a folder with a segment's name
        self.expect_unread("directory")
        self.push(run, 1, 4)
        self.assertEqual(Pull(Folder(self.path), NOW).journal.held, {run[0].replica: run[:4]})

    def test_the_limits_of_the_schema_hold_for_all_segments_together(self) -> None:
        known = KnownSchema()
        fields = tuple(Field(f"f{index}", Kind.TEXT) for index in range(1000))
        known.learn((Type("A", Kind.NULL, "", fields),))
        known.learn((Type("A", Kind.NULL, "", fields[:1]), Type("A", Kind.TEXT, "id", fields[:2])))
        known.learn(tuple(Type(f"T{index}", Kind.NULL, "", fields if index < 7 else ()) for index in range(4094)))
        known.learn((Type("T7", Kind.NULL, "", fields[:190]),))
        with self.assertRaisesRegex(SchemaError, "together"):
            known.learn((Type("T8", Kind.NULL, "", fields[:1]),))
        with self.assertRaisesRegex(SchemaError, "fields"):
            known.learn((Type("A", Kind.NULL, "", (Field("f0", Kind.REAL),)),))
        with self.assertRaisesRegex(SchemaError, "types"):
            known.learn((Type("B", Kind.NULL, "", ()),))

    def test_a_segment_with_too_much_of_a_schema_keeps_back_its_replica_alone(self) -> None:  # J-15
        run, other = self.runs
        path = self.push(run, 1, 2)
        self.push(other, 1, len(other))
        with open(path, "rb") as file:
            schema = read_segment(file.read()).schema
        learn = KnownSchema.learn

        def learn_less(known: KnownSchema, types: Tuple[Type, ...]) -> None:
            if types == schema:
                raise SchemaError("too much")
            learn(known, types)

        with mock.patch.object(KnownSchema, "learn", learn_less):
            pulled = self.expect_unread("too much")
        self.assertEqual(pulled.journal.held, {other[0].replica: other})

    def test_a_false_checkpoint_is_passed_over(self) -> None:  # K-14
        run = self.runs[0]
        self.push(run, 3, 5)
        floor = {run[0].replica: (2, run[1].name)}
        kept = tuple(replace(each, sequence=0) for each in run[:2])
        for is_false in (True, False):
            sum = digest(fold(list(kept)))
            checkpoint = Checkpoint(DATA_SET, run[0].replica, "0" * 64 if is_false else sum, floor, "c", (((), kept),))
            with mock.patch.object(Folder, "checkpoints", lambda _: ["c"]), \
                    mock.patch.object(Folder, "read_checkpoint", lambda _, __: checkpoint):
                pulled = Pull(Folder(self.path), NOW)
            self.assertEqual(len(pulled.unread), is_false)
            self.assertEqual(pulled.journal.held, {} if is_false else {run[0].replica: run[2:5]})

    def test_a_checkpoint_that_keeps_what_is_later_than_its_floor(self) -> None:  # K-14
        run = self.runs[0]
        floor = {run[0].replica: (2, run[1].name)}
        milliseconds = run[1].stamp // TICKS
        # To the last stamp of the floor's millisecond nothing is later, whatever time it is; beyond, that is asked.
        for ahead, now, is_beyond in ((0, 0, False), (1, milliseconds, False), (HOUR, milliseconds, False),
                                      (HOUR + 1, milliseconds, True), (HOUR + 1, milliseconds + 1, False),
                                      (1, milliseconds - HOUR, True), (1 << 40, NOW, True)):
            last = (milliseconds + ahead) * TICKS + TICKS - 1
            kept = replace(run[0], sequence=0), replace(run[1], sequence=0, stamp=last)
            checkpoint = Checkpoint(DATA_SET, run[0].replica, digest(fold(list(kept))), floor, "c",
                                    (((), kept[:1]), ((), kept[1:]), ((), ())))
            with mock.patch.object(Folder, "checkpoints", lambda _: ["c"]), \
                    mock.patch.object(Folder, "read_checkpoint", lambda _, __: checkpoint):
                pulled = Pull(Folder(self.path), now)
            with self.subTest((ahead, now)):
                self.assertEqual(len(pulled.unread), is_beyond)
                if now >= milliseconds - HOUR:  # else its floor waits
                    self.assertEqual(pulled.journal.floor, {} if is_beyond else floor)
                    self.assertEqual(pulled.journal.kept, [] if is_beyond else list(kept))

    def test_a_checkpoint_that_waits_is_above_none(self) -> None:  # K-13, K-16
        run = self.runs[0]
        ahead = replace(run[4], stamp=run[4].stamp + (1 << 40))

        def checkpoint(name: str, last: Transaction) -> Checkpoint:
            kept = tuple(replace(each, sequence=0) for each in run[:2])
            return Checkpoint(DATA_SET, run[0].replica, digest(fold(list(kept))),
                              {run[0].replica: (last.sequence, last.name)}, name, (((), kept),))

        both = {"high": checkpoint("high", ahead), "low": checkpoint("low", run[1])}
        with mock.patch.object(Folder, "checkpoints", lambda _: sorted(both)), \
                mock.patch.object(Folder, "read_checkpoint", lambda _, name: both[name]):
            pulled = Pull(Folder(self.path), run[4].stamp // TICKS)
        self.assertEqual(len(pulled.held_back), 1)
        self.assertEqual(pulled.journal.floor, both["low"].floor)

    def test_what_is_no_folder_is_as_if_it_were_not_there(self) -> None:  # K-7
        run = self.runs[0]
        self.push(run, 1, 2)
        self.write("checkpoints", b"a file")
        os.symlink(self.path, os.path.join(self.path, "acks"))
        folder = Folder(self.path)
        self.assertEqual((folder.checkpoints(), folder.closings()), ([], {}))
        self.assertEqual(Pull(folder, NOW).journal.held, {run[0].replica: run[:2]})

    def test_another_data_set(self) -> None:
        self.push(self.runs[0], 1, 3)
        self.write("magicdata.json", json.dumps(
            {"format": 1, "kind": "folder", "dataSet": "0" * 32}).encode())
        self.expect_unread("data set")

    def test_the_next_best_of_damaged_segments(self) -> None:
        run = self.runs[0]
        self.push(run, 1, 2)
        path = self.push(run, 1, 5)
        with open(path, "rb") as file:
            data = file.read()
        # The header is sound, so the file counts; its body is not.
        self.write(f"segments/{os.path.basename(path)}", data[:-1] + bytes([data[-1] ^ 1]))
        pulled = self.expect_unread(os.path.basename(path))  # F-10
        self.assertEqual(pulled.journal.held, {run[0].replica: run[:2]})
        self.push(run, 2, 5)
        pulled = Pull(Folder(self.path), NOW)
        self.assertEqual(pulled.journal.held, {run[0].replica: run[:5]})

    def test_a_clock_ahead_holds_its_replica_back(self) -> None:
        run = self.runs[0]
        ahead = [replace(each, stamp=each.stamp + (1 << 40)) for each in run[2:]]
        self.push(run[:2] + ahead, 1, 4)
        pulled = Pull(Folder(self.path), run[0].stamp // TICKS)
        self.assertEqual(pulled.journal.held, {run[0].replica: run[:2]})
        self.assertEqual(len(pulled.held_back), 1)

    def test_forks(self) -> None:
        run = self.runs[0]
        other = run[:2] + [replace(each, tag=b"fork") for each in run[2:]]
        self.push(run, 1, 3)
        for first, last in ((1, 3), (1, 4), (2, 4), (4, 4), (1, 5)):
            path = self.push(other, first, last)
            with self.subTest((first, last)), self.assertRaises(ForkError):
                Pull(Folder(self.path), NOW)
            os.remove(path)

    def test_a_closed_id(self) -> None:
        """J-33: what stands beyond a closing stands under other ids as well."""
        run = self.runs[0]
        other = run[:2] + [replace(each, tag=b"fork") for each in run[2:]]
        self.push(run, 1, 3)
        self.push(other, 2, 4)
        replica = run[0].replica
        said = {"format": 1, "dataSet": Folder(self.path).data_set.hex(), "replica": replica.hex(),
                "acknowledged": {}, "expired": {}, "closed": {replica.hex(): f"{2:016x}"}}
        self.write(f"acks/{replica.hex()}.json", json.dumps(said).encode())
        pulled = Pull(Folder(self.path), NOW)
        self.assertEqual(pulled.journal.held, {replica: run[:2]})
        self.assertEqual((pulled.unread, pulled.missing), ([], []))
        # K-7: what is another's, or no acknowledgement, says nothing.
        os.remove(os.path.join(self.path, "acks", f"{replica.hex()}.json"))
        for name, content in {
            f"{replica.hex()}.json": b"{}",
            f"{replica.hex()} (1).json": json.dumps(said).encode(),
            f"{bytes(16).hex()}.json": json.dumps(said).encode(),
            f"{'1' * 32}.json": b'{"closed":' + b"[" * 100_000,
            f"{'2' * 32}.json": json.dumps(said | {"replica": "2" * 32, "closed": {replica.hex(): "-1"}}).encode(),
        }.items():
            self.write(f"acks/{name}", content)
        with self.assertRaises(ForkError):
            Pull(Folder(self.path), NOW)

    def closings_of(self, **members: Any) -> Dict[bytes, int]:
        """What a file says that has other members, or lacks those that are `...`."""
        replica = "1" * 32
        said: Dict[str, Any] = {
            "format": 1, "dataSet": DATA_SET.hex(), "replica": replica, "acknowledged": {}, "expired": {},
            "closed": {"2" * 32: f"{2:016x}"}} | members
        content = json.dumps({name: member for name, member in said.items() if member is not ...})
        self.write(f"acks/{replica}.json", content.encode())
        return Folder(self.path).closings()

    def test_an_acknowledgement_counts_whole_or_not_at_all(self) -> None:  # K-6
        id, closed = "3" * 32, {b"\x22" * 16: 2}
        end = f"{1:016x}.{1:016x}" + "f" * 8
        highest = f"{(1 << 62) - 1:016x}.{LAST_MILLISECOND * TICKS + TICKS - 1:016x}" + "0" * 8

        def acknowledged(**members: Any) -> Dict[str, Any]:
            said = {"time": 0, "frontier": {id: end}} | members
            return {"acknowledged": {id: {name: member for name, member in said.items() if member is not ...}}}

        good: Tuple[Dict[str, Any], ...] = (
            {}, {"format": 1.0}, {"other": [1e300]}, {"accepted": None}, {"accepted": 0}, {"accepted": LAST_MILLISECOND},
            {"accepted": 1.0}, {"expired": {id: 0, "4" * 32: LAST_MILLISECOND}}, acknowledged(), acknowledged(frontier={}),
            acknowledged(time=LAST_MILLISECOND, frontier={id: highest}, digest="5" * 32, other=None), acknowledged(digest=None))
        for members in good:
            with self.subTest(members):
                self.assertEqual(self.closings_of(**members), closed)
        bad: Tuple[Dict[str, Any], ...] = (
            {"format": ...}, {"format": 2}, {"format": True}, {"format": "1"}, {"dataSet": ...}, {"dataSet": "0" * 32},
            {"replica": ...}, {"replica": id}, {"acknowledged": ...}, {"acknowledged": None}, {"acknowledged": []},
            {"acknowledged": {id: None}}, {"acknowledged": {id: []}}, {"acknowledged": {id: ""}},
            {"acknowledged": {id[1:]: {"time": 0, "frontier": {}}}}, {"acknowledged": {"A" * 32: {"time": 0, "frontier": {}}}},
            {"expired": ...}, {"expired": None}, {"expired": {id: None}}, {"expired": {id: "0"}}, {"expired": {id: -1}},
            {"expired": {id: LAST_MILLISECOND + 1}}, {"expired": {id: 0.5}}, {"expired": {id: True}}, {"expired": {id + "3": 0}},
            {"accepted": -1}, {"accepted": LAST_MILLISECOND + 1}, {"accepted": "0"}, {"accepted": False}, {"accepted": 1e300},
            {"other": float("nan")}, {"other": float("inf")}, {"closed": []}, {"closed": False}, {"closed": {id: 1}},
            {"closed": {id: f"{1 << 62:016x}"}}, {"closed": {id[1:]: f"{2:016x}"}}, {"closed": {id: f"{2:017x}"}},
            acknowledged(time=...), acknowledged(time=-1), acknowledged(time=LAST_MILLISECOND + 1), acknowledged(time=None),
            acknowledged(frontier=...), acknowledged(frontier=None), acknowledged(frontier={id[1:]: end}),
            acknowledged(digest=id[1:]), acknowledged(digest="A" * 32), acknowledged(digest=1),
            *(acknowledged(frontier={id: wrong}) for wrong in (
                None, "", end[1:], end + "0", end.replace(".", ""), end.replace(".", ".."), end.upper(), end + "\n",
                f"{0:016x}" + end[16:], f"{1 << 62:016x}" + end[16:], end[:17] + f"{0:024x}", end[:17] + "f" * 24)))
        for members in bad:
            with self.subTest(members):
                self.assertEqual(self.closings_of(**members), {})
        self.assertEqual(self.closings_of(closed=...), {})
        self.assertEqual(self.closings_of(closed=None), {})

    def test_of_many_closings_the_lowest_ids_are_read(self) -> None:  # K-6
        many = {f"{index:032x}": f"{index:016x}" for index in range(10_000)}
        self.assertEqual(len(self.closings_of(closed=many)), 10_000)
        self.assertEqual(len(self.closings_of(closed={"x": "none"} | many)), 10_000)
        self.assertEqual(self.closings_of(closed={" ": "none"} | many), {})

    def test_of_many_names_the_lowest_ids_are_read(self) -> None:  # K-25
        named = {"time": 1, "name": "a"}
        many: Dict[str, Any] = {f"{index:032x}": named for index in range(1, 10_002)}
        self.closings_of(names={"0" * 32: named | {"name": " "}, " ": named, "f" * 32: named | {"name": "\ud800"}} | many)
        said = Folder(self.path).acknowledgements()["1" * 32]
        self.assertEqual(said["names"], {f"{index:032x}": named for index in range(1, 10_001)})
        self.assertEqual(said["closed"], {"2" * 32: f"{2:016x}"})

    def test_segment_names(self) -> None:
        good = SegmentName(bytes(16), 1, 10, "a" * 32).file_name
        self.assertEqual(SegmentName.parse(good), SegmentName(bytes(16), 1, 10, "a" * 32))
        for bad in (good.upper(), "." + good, good + "\n", good + ".tmp", good[1:],
                    SegmentName(bytes(16), 0, 1, "a" * 32).file_name,
                    SegmentName(bytes(16), 3, 2, "a" * 32).file_name):
            self.assertIsNone(SegmentName.parse(bad))

    def test_commands(self) -> None:
        path = self.push(self.runs[0], 1, 3)
        status, output, _ = self.run_main("segment", path)
        with open(path, "rb") as file:
            self.assertEqual((status, json.loads(output)), (0, segment_json(read_segment(file.read()))))
        self.assertEqual(self.run_main("segment", os.path.join(self.path, "magicdata.json"))[0], 1)
        self.assertEqual(self.run_main("segment", os.path.join(self.path, "none"))[0], 1)
        for arguments in ((), ("state",), ("other", path), ("segment", path, path)):
            self.assertEqual(self.run_main(*arguments)[0], 64)
        done = subprocess.run([sys.executable, "-m", "magicreader", "digest", self.path],
                              cwd=READER, stdout=subprocess.PIPE, check=True)
        self.assertEqual(len(done.stdout), 33)
