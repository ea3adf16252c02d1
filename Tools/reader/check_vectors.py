#!/usr/bin/env python3
"""Checks this reader by the test vectors: check_vectors.py [FOLDER]."""
from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from typing import Any, Callable, Dict, List, Tuple

from magicreader.checkpoint import read_checkpoint
from magicreader.clock import ClockError, next_stamp
from magicreader.cursor import FormatError, UnsupportedFormat
from magicreader.encoder import encode_segment
from magicreader.folder import name_of
from magicreader.found import found_in
from magicreader.frames import check_frame
from magicreader.journal import FIRSTS, Transaction
from magicreader.merge import State, digest, fold
from magicreader.notation import (objects_json, parse_transaction, parse_value, segment_json,
                                  transaction_json, value_json)
from magicreader.segment import read_segment
from magicreader.values import read_only_value
from magicreader.wire import Replay

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Protocol/vectors")
SHUFFLES = 8
Check = Callable[[], None]
NamedChecks = List[Tuple[str, Check]]


class Mismatch(Exception):
    pass


def expect_equal(actual: Any, expected: Any, what: str) -> None:
    if actual != expected:
        raise Mismatch(f"{what} is {actual!r}, not {expected!r}")


def expect_refused(read: Callable[[bytes], Any], data: bytes, why: str, outcome: str = "") -> None:
    try:
        read(data)
    except FormatError as error:
        if outcome:  # S-2
            expect_equal("incompatible" if isinstance(error, UnsupportedFormat) else "damaged", outcome, "the outcome")
        return
    raise Mismatch(f"was not refused: {why}")


def value_checks(content: Any) -> NamedChecks:
    checks: NamedChecks = []

    def check_value(vector: Any) -> None:
        encoding = bytes.fromhex(vector["encoding"])
        decoded = read_only_value(encoding)
        expect_equal(value_json(decoded), vector["value"], "the decoded value")
        expect_equal(decoded.encoding().hex(), vector["encoding"], "the value encoded again")
        expect_equal(parse_value(vector["value"]), decoded, "the value")

    def check_order(lower: str, higher: str) -> None:
        for encoding in (lower, higher):
            expect_equal(read_only_value(bytes.fromhex(encoding)).encoding().hex(), encoding,
                         "the value encoded again")
        if not bytes.fromhex(lower) < bytes.fromhex(higher):  # V-6
            raise Mismatch(f"{lower} is not below {higher}")

    for index, vector in enumerate(content["values"]):
        checks.append((f"value {index}", lambda vector=vector: check_value(vector)))
    order = content["order"]
    for index, (lower, higher) in enumerate(zip(order, order[1:])):
        checks.append((f"order {index}", lambda lower=lower, higher=higher:
                       check_order(lower, higher)))
    for index, vector in enumerate(content["invalid"]):
        checks.append((f"invalid {index}", lambda vector=vector: expect_refused(
            read_only_value, bytes.fromhex(vector["bytes"]), vector["why"])))
    return checks


def clock_checks(content: Any) -> NamedChecks:
    def check(vector: Any) -> None:
        expected = vector["next"]
        try:
            stamp = next_stamp(int(vector["last"]), int(vector["now"]))
        except ClockError:
            expect_equal(None, expected, "the next stamp")
        else:
            expect_equal(str(stamp), None if expected is None else str(expected), "the next stamp")

    return [(f"next {index}", lambda vector=vector: check(vector))
            for index, vector in enumerate(content["next"])]


def merge_checks(content: Any) -> NamedChecks:
    def check(vector: Any) -> None:
        transactions = [parse_transaction(each) for each in vector["transactions"]]
        for transaction in transactions:
            check_births(transaction)
        check_state(fold(transactions), vector, "as given")
        generator = random.Random(vector["name"])
        for _ in range(SHUFFLES):
            generator.shuffle(transactions)
            check_state(fold(transactions), vector, "shuffled")
            check_state(fold(transactions + transactions), vector, "repeated")

    def check_births(transaction: Transaction) -> None:
        for ordinal, entry in enumerate(transaction.entries):
            if entry.operation in FIRSTS:
                identity = entry.object.identity
                actual = (identity.stamp, identity.tag, identity.ordinal)  # type: ignore
                expect_equal(actual, (transaction.stamp, transaction.tag, ordinal), "a birth")

    def check_state(state: State, vector: Any, how: str) -> None:
        expect_equal(ordered(objects_json(state)), ordered(vector["objects"]), f"state, {how},")
        expect_equal(digest(state), vector["digest"], f"digest, {how},")

    return [(vector["name"], lambda vector=vector: check(vector)) for vector in content["cases"]]


def file_checks(content: Any, check: Callable[[Any], None], read: Callable[[bytes], Any]) -> NamedChecks:
    """Files that say what a vector says, and others that are refused."""
    checks: NamedChecks = [(vector["name"], lambda vector=vector: check(vector))
                           for vector in content["valid"]]
    for vector in content["invalid"]:
        checks.append((vector["name"], lambda vector=vector: expect_refused(
            read, bytes.fromhex(vector["file"]), vector["why"], vector.get("outcome", ""))))
    return checks


def segment_checks(content: Any) -> NamedChecks:
    def check(vector: Any) -> None:
        segment = read_segment(bytes.fromhex(vector["file"]))
        expect_equal(name_of(segment).file_name, vector["fileName"], "the file's name")
        read = segment_json(segment)
        for key in ("dataSet", "writer", "previous"):
            expect_equal(read[key], vector[key], key)
        expect_equal(len(read["transactions"]), len(vector["transactions"]), "the count")
        for actual, expected in zip(read["transactions"], vector["transactions"]):
            expect_equal(actual, expected, f"transaction {expected['sequence']}")
        header = segment.header
        again = read_segment(encode_segment(segment.transactions, header.data_set, header.writer,
                                            header.previous, segment.schema))
        expect_equal([transaction_json(each) for each in again.transactions],
                     vector["transactions"], "the segment encoded again")
        expect_equal(again.schema, segment.schema, "the schema encoded again")

    return file_checks(content, check, read_segment)


def checkpoint_checks(content: Any) -> NamedChecks:
    def check(vector: Any) -> None:
        checkpoint = read_checkpoint(bytes.fromhex(vector["file"]))
        expect_equal(checkpoint.name + ".checkpoint", vector["fileName"], "the file's name")
        expect_equal(checkpoint.data_set.hex(), vector["dataSet"], "dataSet")
        expect_equal(checkpoint.writer.hex(), vector["writer"], "writer")
        expect_equal({replica.hex(): f"{sequence} {name.encoding().hex()}"
                      for replica, (sequence, name) in checkpoint.floor.items()}, vector["floor"], "the floor")
        expect_equal([transaction_json(each) for each in checkpoint.transactions()],
                     vector["transactions"], "what is kept")
        expect_equal(checkpoint.digest, vector["digest"], "the digest in the header")
        expect_equal(digest(fold(checkpoint.transactions())), vector["digest"], "the digest")  # K-14

    return file_checks(content, check, read_checkpoint)


def write_files(vector: Any, folder: str) -> None:
    """Those of a folder remote."""
    files = {path: bytes.fromhex(content) for path, content in vector["files"].items()}
    files.update((path, content.encode()) for path, content in vector["texts"].items())
    for path, content in files.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


def folder_checks(content: Any) -> NamedChecks:
    def check(vector: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_files(vector, folder)
            found = found_in(folder, int(vector["now"]))
        for key in sorted(set(vector) - {"name", "now", "texts", "files"} | set(found)):
            expect_equal(found.get(key), vector.get(key), key)

    return [(vector["name"], lambda vector=vector: check(vector)) for vector in content["cases"]]


def wire_checks(content: Any) -> NamedChecks:
    """The frames of all sessions; and those in which all was pulled: this reader, told what the server said, arrives at the same."""

    def check_frames(session: Any) -> None:
        for number, each in enumerate(session["frames"]):
            if "is refused" in session["name"] and each["from"] != "server":
                continue
            try:
                check_frame(bytes.fromhex(each["frame"]), each["from"] == "server")
            except FormatError as error:
                raise Mismatch(f"frame {number}: {error}") from error

    def check_session(session: Any) -> None:
        check_frames(session)
        if not session["name"].startswith("all is pulled"):
            return
        said = [each["frame"] for each in session["frames"] if each["from"] == "server"]
        server = Replay("recorded", bytes.fromhex("".join(said)))
        found = sorted(name.file_name for name in server.segments())
        expected = sorted(path.split("/")[1] for path in session["before"] if path.startswith("segments/"))
        expect_equal(found, expected, "the segments")
        kept = sorted(path.split("/")[1].split(".")[0] for path in session["before"] if path.startswith("checkpoints/"))
        expect_equal(sorted(server.kept), kept, "the checkpoints")

    return [(session["name"], lambda session=session: check_session(session)) for session in content["sessions"]]


def ordered(objects: List[Any]) -> List[Any]:
    """Neither objects nor their elements stand in any particular order."""
    objects = [{**each, "elements": ordered(each["elements"])} if "elements" in each else each
               for each in objects]
    return sorted(objects, key=lambda each: json.dumps(each, sort_keys=True))


CHECKS: Dict[str, Callable[[Any], NamedChecks]] = {
    "values.json": value_checks,
    "clock.json": clock_checks,
    "merge.json": merge_checks,
    "segments.json": segment_checks,
    "segment-rules.json": segment_checks,
    "checkpoints.json": checkpoint_checks,
    "checkpoint-rules.json": checkpoint_checks,
    "folders.json": folder_checks,
    "wire.json": wire_checks,
}


def check_file(path: str, make_checks: Callable[[Any], NamedChecks]) -> Tuple[int, List[str]]:
    """How many checks passed, and what was wrong with the others."""
    try:
        with open(path, encoding="utf-8") as file:
            checks = make_checks(json.load(file))
    except Exception as error:  # whatever is wrong with the file, it is a failure to report
        return 0, [f"cannot be read: {error!r}"]
    passed, failures = 0, []
    for name, check in checks:
        try:
            check()
        except Exception as error:  # an unforeseen exception is a failure of this one check
            failures.append(f"{name}: {error if isinstance(error, Mismatch) else repr(error)}")
        else:
            passed += 1
    return passed, failures


def main(arguments: List[str]) -> int:
    folder = arguments[0] if arguments else VECTORS
    total_passed = total_failed = 0
    for file_name, make_checks in CHECKS.items():
        passed, failures = check_file(os.path.join(folder, file_name), make_checks)
        for failure in failures:
            print(f"  {file_name}: {failure}")
        print(f"{file_name}: {passed} passed, {len(failures)} failed")
        total_passed += passed
        total_failed += len(failures)
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
