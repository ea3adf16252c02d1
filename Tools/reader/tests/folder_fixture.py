"""A folder remote of two replicas, in a temporary folder."""
from __future__ import annotations

import json
import os
import tempfile
import unittest
from typing import List

from magicreader.journal import Transaction

from .fixtures import DATA_SET, History, segment_file


class FolderFixture(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.path = temporary.name
        self.write("magicdata.json", json.dumps(
            {"format": 1, "kind": "folder", "dataSet": DATA_SET.hex()}).encode())
        self.history = History(7, replicas=2)
        self.history.write(30)
        self.runs = list(self.history.written.values())

    def write(self, name: str, content: bytes) -> str:
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def push(self, run: List[Transaction], first: int, last: int) -> str:
        name, data = segment_file(run, first, last)
        return self.write(f"segments/{name}", data)
