from __future__ import annotations

import contextlib
import io
import json
from typing import Tuple

import check_vectors
import make_vectors
from magicreader.merge import digest, fold
from magicreader.notation import objects_json, transaction_json, value_json
from magicreader.values import Kind, Value

from .fixtures import DATA_SET, segment_file
from .folder_fixture import FolderFixture


class VectorTests(FolderFixture):
    """check_vectors itself, by vectors that this package makes."""

    def vectors(self) -> None:
        run = self.runs[0]
        name, data = segment_file(run, 2, 4)
        values = [Value(Kind.NULL, None), Value(Kind.INTEGER, -5)]
        state = fold(run)
        content = {
            "values.json": {
                "values": [{"value": value_json(each), "encoding": each.encoding().hex()}
                           for each in values],
                "order": [each.encoding().hex() for each in values],
                "invalid": [{"bytes": "07", "why": "reserved"}]},
            "clock.json": {"next": [
                {"last": "0", "now": "1", "next": "65536"},
                {"last": str(2**64 - 1), "now": "1", "next": None}]},
            "merge.json": {"cases": [{
                "name": "one", "transactions": [transaction_json(each) for each in run],
                "objects": objects_json(state), "digest": digest(state)}]},
            "segments.json": {
                "valid": [{"name": "one", "fileName": name, "file": data.hex(),
                           "dataSet": DATA_SET.hex(), "writer": "00" * 16,
                           "previous": run[0].name.encoding().hex(),
                           "transactions": [transaction_json(each) for each in run[1:4]]}],
                "invalid": [{"name": "short", "file": data[:-1].hex(), "why": "cut"}]}}
        content["wire.json"] = {"sessions": []}
        for name in ("checkpoints", "segment-rules", "checkpoint-rules"):
            content[f"{name}.json"] = {"valid": [], "invalid": []}
        content["folders.json"] = {"cases": []}
        for file_name, each in content.items():
            self.write(file_name, json.dumps(each).encode())

    def check(self) -> Tuple[int, str]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check_vectors.main([self.path])
        return status, output.getvalue().splitlines()[-1]

    def test_vectors(self) -> None:
        self.assertEqual(self.check(), (1, "0 passed, 9 failed"))
        self.vectors()
        self.assertEqual(self.check(), (0, "9 passed, 0 failed"))
        self.write("clock.json", b'{"next":[{"last":"0","now":"1","next":null}]}')
        self.assertEqual(self.check(), (1, "7 passed, 1 failed"))

    def test_what_is_expected_by_hand(self) -> None:
        """Of the vectors that are made here; folders are read for that."""
        for make in make_vectors.MADE.values():
            self.assertTrue(all(make().values()))
